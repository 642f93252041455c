"""Runs the cocotb testbenches of ``tb/`` on generated Verilog: on Verilator, and on Icarus where it is installed."""

import json
import os
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from cocotb_tools import runner

from fanfold import export
from fanfold.config import PRESETS
from fanfold_sim import toolchain

TB = Path(__file__).resolve().parents[2] / "tb"
#: what must have run, so that a bench that finds no tests does not look like a good one
TESTS = {
    "regular_traffic_passes_both_ways": 2,
    "segments_are_folded_among_regular_traffic": 2,
    "what_may_not_be_is_refused_and_counted": 1,
    "registers_answer": 1,
}
SIMULATORS = ["verilator", *(["icarus"] if toolchain.icarus() else [])]

#: only the top's ports are public: cocotb's runner makes everything so, which costs most of the speed
PORTS_ONLY = '`verilator_config\npublic_flat_rw -module "fanfold" -var "*_axi*"\n' + "".join(
    f'public_flat_rw -module "fanfold" -var "{name}"\n' for name in ("clk", "rst")
)


class PortsOnlyVerilator(runner.Verilator):
    def _simulator_in_path_build_only(self):
        self.executable = toolchain.verilator()

    def _build_command(self):
        return [[word for word in command if word != "--public-flat-rw"] for command in super()._build_command()]


def check(results: Path, expected: dict[str, int]) -> None:
    """All tests passed, and exactly the expected ones have run."""
    cases = list(xml.parse(results).getroot().iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    assert not failed, f"failed: {failed}"
    names = [case.get("name").split("/")[0] for case in cases if case.find("skipped") is None]
    assert {name: names.count(name) for name in set(names)} == expected


def run(simulator: str, module: str, directory: Path, monkeypatch) -> Path:
    """Builds and runs a bench; the path of its results."""
    config = PRESETS["tiny"]
    source, _ = export.generate(config, directory, simulation=True)
    monkeypatch.syspath_prepend(str(TB))
    seed = os.environ.get("FANFOLD_SEED", "1")
    environment = {"FANFOLD_CONFIG": json.dumps(config.as_dict()), "FANFOLD_SEED": seed}
    print(f"seed {seed}: run again with FANFOLD_SEED={seed}")
    if simulator == "verilator":
        for name, value in toolchain.verilator_environment().items():
            monkeypatch.setenv(name, value)
        (directory / "ports.vlt").write_text(PORTS_ONLY)
        sources = [directory / "ports.vlt", source]
        arguments = ["-O3", "--x-assign", "fast", "--x-initial", "fast", "--timing", "--assert", "-Wno-fatal"]
        arguments += ["--output-groups", "2", *(f"-Wno-{name}" for name in toolchain.VERILATOR_ALLOWED)]
        bench = PortsOnlyVerilator()
    else:
        sources, arguments, bench = [source], [], runner.get_runner("icarus")
    bench.build(
        sources=sources,
        hdl_toplevel="fanfold",
        build_args=arguments,
        build_dir=directory / "build",
        timescale=("1ns", "1ps"),
        log_file=directory / "build.log",
    )
    log = directory / "test.log"
    try:
        return bench.test(
            test_module=module,
            hdl_toplevel="fanfold",
            hdl_toplevel_lang="verilog",
            extra_env=environment,
            build_dir=directory / "build",
            test_dir=directory,
            log_file=log,
        )
    finally:
        if log.exists():
            print("".join(log.read_text().splitlines(keepends=True)[-80:]))


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_the_nic_against_the_reference(simulator, tmp_path, monkeypatch):
    check(run(simulator, "nic_tests", tmp_path, monkeypatch), TESTS)


def test_a_bench_that_ran_nothing_is_red(tmp_path):
    results = tmp_path / "results.xml"
    results.write_text("<testsuites><testsuite name='all'/></testsuites>")
    with pytest.raises(AssertionError):
        check(results, TESTS)
    results.write_text("<testsuites><testsuite><testcase name='a'><failure/></testcase></testsuite></testsuites>")
    with pytest.raises(AssertionError, match="failed"):
        check(results, {"a": 1})
