"""Size and clock of the rooms and of the whole engine on an ECP5, by open tools (``fanfold_sim.fpga``)."""

from pathlib import Path

from amaranth.lib import wiring

from fanfold.codes import Port
from fanfold.config import Config
from fanfold.egress import Egress
from fanfold.engine import Engine
from fanfold.fold.spine import Spine
from fanfold.ingress import Ingress

from ..fpga import Usage, netlist
from ..fpga.ecp5 import place_and_route, synthesise
from .figure import Figure

__all__ = ["CLOCK_GOAL", "PARTS", "configuration", "figures", "routed", "synthesised"]

#: MHz at which 64-byte beats are 100 Gb/s
CLOCK_GOAL = 195.3

#: what the router aims at with the engine: it never ends when it must hurry everywhere
_ENGINE_MHZ = 130

#: what is measured, small before large
PARTS = {
    "spine": Spine,
    "ingress": lambda config: Ingress(config, Port.HOST),
    "egress": lambda config: Egress(config, Port.HOST),
    "engine": Engine,
}


def configuration(beat_bytes: int) -> Config:
    """What the parts are measured with: 4 contributors, and 16 slots of 1 KiB to fold in."""
    return Config(beat_bytes=beat_bytes, contributors=4, contexts=4, window=4)


def synthesised(part: str, beat_bytes: int, folder: Path) -> Usage:
    """What ``part`` takes; the tool's files stay in ``folder``."""
    component: wiring.Component = PARTS[part](configuration(beat_bytes))
    netlist(component, _name(part, beat_bytes), folder)
    return synthesise(_name(part, beat_bytes), folder)


def routed(part: str, beat_bytes: int, folder: Path, *, seed: int) -> Usage:
    """What ``part`` takes and how fast it is, after ``synthesised`` with the same ``folder``."""
    if part == "engine":
        return place_and_route(_name(part, beat_bytes), folder, seed=seed, mhz=_ENGINE_MHZ, quick=True)
    return place_and_route(_name(part, beat_bytes), folder, seed=seed)


def _name(part: str, beat_bytes: int) -> str:
    return f"{part}_{beat_bytes}"


def figures(part: str, beat_bytes: int, usage: Usage) -> list[Figure]:
    """``fpga.<what>.<beat bytes>`` of the engine, ``fpga.<part>.<what>.<beat bytes>`` of a part."""
    prefix = "fpga" if part == "engine" else f"fpga.{part}"
    found = [
        Figure(f"{prefix}.luts.{beat_bytes}", usage.luts, "LUTs"),
        Figure(f"{prefix}.ffs.{beat_bytes}", usage.ffs, "flip-flops"),
        Figure(f"{prefix}.brams.{beat_bytes}", usage.brams, "block RAMs"),
        Figure(f"{prefix}.dsps.{beat_bytes}", usage.dsps, "DSPs"),
    ]
    if usage.fmax_mhz is not None:
        found.append(Figure(f"{prefix}.fmax_mhz.{beat_bytes}", usage.fmax_mhz, "MHz", limit=CLOCK_GOAL))
    if usage.worst is not None:
        found.append(Figure(f"{prefix}.depth.{beat_bytes}", usage.worst.levels, "levels"))
    return found
