"""Synthesis and routing for an ECP5."""

import json
import re
from pathlib import Path

from .tools import ROUTING, SYNTHESIS, cells, run
from .usage import Usage, WorstPath

__all__ = ["DEVICE", "place_and_route", "synthesise"]

#: the device and package: LFE5UM5G-85F, speed grade 8
DEVICE = ("--um5g-85k", "--speed", "8", "--package", "CABGA756")

#: LUTs in a cell of the synthesised netlist
_LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}


def synthesise(name: str, folder: Path) -> Usage:
    """Synthesises what ``netlist`` wrote; leaves ``<name>.json`` for ``place_and_route``, and a log, in ``folder``.

    Raises ``ToolMissing`` and ``FpgaError``.
    """
    stat = f"{name}.stat"
    script = f"read_rtlil {name}.il; synth_ecp5 -top top -json {name}.json; tee -o {stat} stat -json"
    used = cells(run([SYNTHESIS, "-q", "-l", f"{name}.yosys.log", "-p", script], folder,
                     source=f"{name}.il", result=stat))  # fmt: skip
    return Usage(
        luts=sum(luts * used.get(cell, 0) for cell, luts in _LUTS.items()),
        ffs=used.get("TRELLIS_FF", 0),
        brams=used.get("DP16KD", 0),
        dsps=used.get("MULT18X18D", 0),
    )


def place_and_route(name: str, folder: Path, *, mhz: float = 300, seed: int = 1, quick: bool = False) -> Usage:
    """Routes what ``synthesise`` left, aiming at a clock of ``mhz``; ``quick`` uses nextpnr's other router,
    which is many times faster on large designs, and loses up to a fifth of the clock.

    Raises ``ToolMissing`` and ``FpgaError``.
    """
    report = f"{name}.{seed}.report.json"
    command = [ROUTING, *DEVICE, "--json", f"{name}.json", "--freq", str(mhz), "--seed", str(seed)]
    command += ["--report", report, "--log", f"{name}.{seed}.nextpnr.log", "--quiet"]
    command += ["--lpf-allow-unconstrained", "--timing-allow-fail", "--router", "router2" if quick else "router1"]
    result = json.loads(run(command, folder, source=f"{name}.json", result=report).read_text())
    used = {cell: counts["used"] for cell, counts in result["utilization"].items()}
    return Usage(
        luts=used["TRELLIS_COMB"],
        ffs=used["TRELLIS_FF"],
        brams=used["DP16KD"],
        dsps=used["MULT18X18D"],
        fmax_mhz=round(min(clock["achieved"] for clock in result["fmax"].values()), 1),
        worst=_worst_path(result),
    )


def _worst_path(result: dict) -> WorstPath:
    """The slowest path between registers in nextpnr's report."""
    (steps,) = (path["path"] for path in result["critical_paths"] if "<async>" not in (path["from"], path["to"]))
    path = [_register(steps[0]["from"]["cell"]), *(_register(step["to"]["cell"]) for step in steps)]
    rooms = [cell.split(".")[0] for cell in path if "." in cell]
    return WorstPath(
        start=path[0],
        end=path[-1],
        ns=sum(step["delay"] for step in steps),
        wires_ns=sum(step["delay"] for step in steps if step["type"] == "routing"),
        # from carry to carry is no further level
        levels=sum(step["type"] == "logic" and step["from"].get("port") != "FCI" for step in steps),
        rooms=tuple(room for at, room in enumerate(rooms) if room not in rooms[:at]),
    )


def _register(cell: str) -> str:
    """The component's name for what a cell of the netlist belongs to: without what the tools append to it."""
    return re.split(r"_(?:TRELLIS_FF|LUT4|CCU2C|PFUMX|L6MUX21)_|\$", cell.removeprefix("component."))[0]
