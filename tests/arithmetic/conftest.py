"""Without a C++ compiler there is no Verilated lane: these tests are skipped, and the end of the run says so."""

from pathlib import Path

import pytest

from fanfold_sim.toolchain import has_compiler

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    if not has_compiler():
        for item in items:
            if item.path.is_relative_to(_HERE):
                item.add_marker(pytest.mark.skip(reason="a Verilated lane needs a C++ compiler"))


def pytest_terminal_summary(terminalreporter):
    if not has_compiler():
        terminalreporter.write_line("The tests of arithmetic were skipped: a Verilated lane needs a C++ compiler.")
