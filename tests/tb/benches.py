"""Builds a testbench of ``tb/`` with a simulator, runs it, and judges what it says of its tests."""

import ast
import json
import re
import xml.etree.ElementTree as xml
from pathlib import Path

from cocotb_tools import runner

from fanfold.config import Config
from fanfold_sim import toolchain

__all__ = ["SIMULATORS", "TB", "Built", "check", "names_of_tests", "uninitialised"]

TB = Path(__file__).resolve().parents[2] / "tb"
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


class Built:
    """The Verilog ``source`` of ``config``, built by ``simulator`` in ``directory``.

    A Verilated one can be told when it is run to give registers without an initial value a random one.
    """

    def __init__(self, simulator: str, source: Path, config: Config, directory: Path, monkeypatch):
        self.verilated = simulator == "verilator"
        self.directory = directory
        self._config = config
        monkeypatch.syspath_prepend(str(TB))
        if self.verilated:
            for name, value in toolchain.verilator_environment().items():
                monkeypatch.setenv(name, value)
            (directory / "ports.vlt").write_text(PORTS_ONLY)
            sources = [directory / "ports.vlt", source]
            arguments = ["-O3", "--x-assign", "fast", "--x-initial", "unique", "--timing", "-Wno-fatal"]
            arguments += ["--output-groups", "2", *(f"-Wno-{name}" for name in toolchain.VERILATOR_ALLOWED)]
            self._bench = PortsOnlyVerilator()
        else:
            sources, arguments, self._bench = [source], [], runner.get_runner("icarus")
        self._bench.build(
            sources=sources,
            hdl_toplevel="fanfold",
            build_args=arguments,
            build_dir=directory / "build",
            timescale=("1ns", "1ps"),
            log_file=directory / "build.log",
        )

    def run(self, module: str, seed: int = 1, **more) -> Path:
        """Runs the tests of ``tb/module.py``; the path of their results. ``more`` goes to cocotb's runner."""
        print(f"seed {seed}: run again with FANFOLD_SEED={seed}")
        environment = {"FANFOLD_CONFIG": json.dumps(self._config.as_dict()), "FANFOLD_SEED": str(seed)}
        log = self.directory / "test.log"
        try:
            return self._bench.test(
                test_module=module,
                hdl_toplevel="fanfold",
                hdl_toplevel_lang="verilog",
                extra_env=environment | more.pop("environment", {}),
                build_dir=self.directory / "build",
                test_dir=self.directory,
                log_file=log,
                **more,
            )
        finally:
            if log.exists():
                print("".join(log.read_text().splitlines(keepends=True)[-80:]))


def check(results: Path, expected: dict[str, int]) -> None:
    """All tests passed, and exactly the expected ones have run."""
    cases = list(xml.parse(results).getroot().iter("testcase"))
    failed = [case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None]
    assert not failed, f"failed: {failed}"
    names = [case.get("name").split("/")[0] for case in cases if case.find("skipped") is None]
    assert {name: names.count(name) for name in set(names)} == expected
    assert names, "no test has run"


def names_of_tests(bench: Path) -> set[str]:
    """The names of the cocotb tests that a file defines."""
    functions = [each for each in ast.parse(bench.read_text()).body if isinstance(each, ast.AsyncFunctionDef)]
    return {each.name for each in functions if any("cocotb.test" in ast.unparse(one) for one in each.decorator_list)}


#: what follows a source through resets (``fanfold.edge.axi_stream``): no reset reaches it, so it must have a beginning
_BEYOND_RESET = ("was_reset", "offered", "under_way", "rest")
_REGISTER = re.compile(r"^(\s+reg\b[^=;]* (\S+)) = [^;]+;$", re.M)
_ONE_INITIAL = re.compile(r"^\s+initial \S+ = [^;]+;\n", re.M)
_INITIAL_BLOCK = re.compile(r"^  initial begin\n(?:    .*\n)*?  end\n", re.M)


def uninitialised(verilog: str) -> str:
    """The same Verilog without initial values: registers and memories begin with whatever the simulator gives them."""
    verilog = _REGISTER.sub(lambda found: found[0] if found[2] in _BEYOND_RESET else found[1] + ";", verilog)
    for pattern in (_ONE_INITIAL, _INITIAL_BLOCK):
        verilog = pattern.sub("", verilog)
    assert not re.search(r"\binitial\b", verilog), "an initial value is left"
    return verilog
