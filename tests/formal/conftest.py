"""Without the tools the proofs are skipped, and the end of the run says so."""

from pathlib import Path

import pytest
from prover import missing_tools

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    missing = missing_tools()
    if missing:
        for item in items:
            if item.path.is_relative_to(_HERE):
                item.add_marker(pytest.mark.skip(reason=f"not installed: {missing}"))


def pytest_terminal_summary(terminalreporter):
    missing = missing_tools()
    if missing:
        terminalreporter.write_line(f"The proofs were skipped: not installed is {missing} (extra 'formal').")
