"""The trade-off of the fold: cycles against size and clock, of the adder alone, of a lane, and of the whole spine.

A ``Point`` is one of them in one configuration; ``TABLE`` has those that the pages show. ECP5 figures are of the routed
design, UltraScale+ figures of the synthesised one; the harness is in both.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median

from amaranth.lib import wiring

from fanfold.codes import DataType, Operator
from fanfold.config import DEFAULT_OPERATORS, DEFAULT_TYPES, PRESETS, Config
from fanfold.fold.float.adder import Adder
from fanfold.fold.float.format import FORMATS
from fanfold.fold.float.steps import ADDER_REGISTERS
from fanfold.fold.lane import Lane
from fanfold.fold.spine import Spine

from ..fpga import Usage, ecp5, netlist, ultrascale
from ..toolchain import build_directory
from .figure import Figure
from .fpga import configuration

__all__ = ["BRIEF", "INSTANCES", "PARTS", "TABLE", "Measured", "Point", "brief", "chosen", "figures", "measure"]

PARTS = ("adder", "lane", "spine")

#: placements that are tried; the clock is the median
_SEEDS = {"adder": (1, 2, 3), "lane": (1,), "spine": (1,)}

#: stages of the adder unless the point is about them
STAGES = Config().adder_stages

_INTEGERS = tuple(each for each in DataType if not each.floating and not each.pair)
_BUT_PRODUCTS = tuple(each for each in Operator if each is not Operator.PROD)
_COMMON = PRESETS["tiny"].operators

#: operators and types of the lanes and spines that are measured, by name
INSTANCES: dict[str, tuple[tuple[Operator, ...], tuple[DataType, ...]]] = {
    "common": (_COMMON, PRESETS["tiny"].types),
    "default": (DEFAULT_OPERATORS, DEFAULT_TYPES),
    "integers": (_BUT_PRODUCTS[:-2], _INTEGERS),
    "16-bit-floats": (_COMMON, (DataType.FLOAT16, DataType.BFLOAT16)),
    "no-products": (_BUT_PRODUCTS, tuple(DataType)),
    "everything": (tuple(Operator), tuple(DataType)),
}

#: stages at which a lane is measured, where they are others than ``STAGES`` alone
_LANE_STAGES = {"default": (5, 8, 10)}

#: what is to be reached, by part, name and stages: (MHz, LUTs)
_GOALS = {("adder", "float32", 8): (280.0, 720.0), ("adder", "float32", 5): (210.0, None)}


@dataclass(frozen=True)
class Point:
    """``part`` (one of ``PARTS``) called ``name``, with so many stages of the adder.

    An adder's name is its type, a lane's or spine's one of ``INSTANCES`` or ``<operators>:<types>``, with commas.
    """

    part: str
    name: str
    stages: int = STAGES

    def __str__(self) -> str:
        return f"{self.part} {self.name}, {self.stages} stages"

    @property
    def config(self) -> Config:
        """The configuration of a lane or a spine. Raises ``ValueError`` when it cannot be built."""
        operators, types = _instance(self.name)
        return replace(configuration(8), operators=operators, types=types, adder_stages=self.stages)

    def component(self) -> wiring.Component:
        """What is measured. Raises ``ValueError`` when it cannot be built."""
        if self.part == "adder":
            return Adder(FORMATS[DataType[self.name.upper()]], self.stages)
        return (Lane if self.part == "lane" else Spine)(self.config)

    def check(self) -> None:
        """Raises ``ValueError`` when it cannot be built."""
        if self.part != "adder":
            _ = self.config
        elif self.stages not in ADDER_REGISTERS:
            allowed = f"{min(ADDER_REGISTERS)} to {max(ADDER_REGISTERS)}"
            raise ValueError(f"--stages {self.stages}: it must be from {allowed}")


@dataclass(frozen=True)
class Measured:
    """A ``point``: ``cycles`` through it, what it takes on an ECP5 and on an UltraScale+ (``harness_luts`` and
    ``harness_ffs`` of both are the harness), and its clock on the ECP5 from each placement, in MHz."""

    point: Point
    cycles: int
    ecp5: Usage
    ultrascale: Usage
    harness_luts: int
    harness_ffs: int
    clocks: tuple[float, ...]

    @property
    def clock(self) -> float:
        """MHz, the median."""
        return median(self.clocks)


def _instance(name: str) -> tuple[tuple[Operator, ...], tuple[DataType, ...]]:
    """Operators and types of the instance called ``name``. Raises ``ValueError``."""
    if name in INSTANCES:
        return INSTANCES[name]
    try:
        operators, types = (part.upper().split(",") for part in name.split(":"))
        return tuple(Operator[each] for each in operators), tuple(DataType[each] for each in types)
    except (KeyError, ValueError):
        raise ValueError(f"--name {name}: it must be one of {', '.join(INSTANCES)}, or OPERATORS:TYPES") from None


#: the points of the table: small before large
TABLE = (
    *(Point("adder", "float32", stages) for stages in sorted(ADDER_REGISTERS)),
    *(Point("adder", name) for name in ("float16", "bfloat16", "float64")),
    *(Point("lane", name, stages) for name in INSTANCES for stages in _LANE_STAGES.get(name, (STAGES,))),
    Point("spine", "common"),
    Point("spine", "default"),
)


def chosen(parts: Sequence[str], names: Sequence[str] | None, stages: Sequence[int] | None) -> list[Point]:
    """The points of the table with one of ``parts``; with ``names`` these instead of the table's, with ``stages`` so
    many of them. Raises ``ValueError`` for what cannot be built."""
    points = [point for point in TABLE if point.part in parts]
    if names:
        adders = {each.name.lower() for each in FORMATS}
        points = [Point(part, name) for part in parts for name in names if (name in adders) == (part == "adder")]
        if not points:
            raise ValueError(f"--name {' '.join(names)}: {' and '.join(parts)} have none of these")
    if stages:
        apart = dict.fromkeys((point.part, point.name) for point in points)
        points = [Point(part, name, number) for (part, name), number in product(apart, stages)]
    for point in points:
        point.check()
    return points


#: the points of ``fanfold bench``
BRIEF = (Point("adder", "float32", 5), Point("adder", "float32"), Point("lane", "default"))


def measure(point: Point, folder: Path, tell: Callable[[str], None] = lambda text: None) -> Measured:
    """Synthesises and routes ``point``; the tools' files stay in ``folder``, and what they have of the same netlist is
    not made again. ``tell`` hears what is done next.

    Raises ``ToolMissing``, ``FpgaError``, and ``ValueError`` when the point cannot be built.
    """
    name = f"{point.part}_{point.name.replace(':', '_').replace(',', '_')}_{point.stages}"
    component = point.component()
    harness = netlist(component, name, folder)
    tell("synthesis for the UltraScale+")
    synthesised = ultrascale.synthesise(name, folder)
    tell("synthesis for the ECP5")
    ecp5.synthesise(name, folder)
    routed = []
    for seed in _SEEDS[point.part]:
        tell(f"routing, seed {seed}")
        routed.append(ecp5.place_and_route(name, folder, seed=seed))
    routed.sort(key=lambda usage: usage.fmax_mhz or 0)
    return Measured(
        point=point,
        cycles=component.latency,
        ecp5=routed[len(routed) // 2],
        ultrascale=synthesised,
        harness_luts=harness.luts,
        harness_ffs=harness.ffs,
        clocks=tuple(usage.fmax_mhz or 0 for usage in routed),
    )


def figures(found: Measured) -> list[Figure]:
    """``fold.<part>.<what>.<name>.<stages>``; what the project is to reach stands beside it."""
    point = found.point

    def figure(what: str, value: float, unit: str, limit: float | None = None) -> Figure:
        return Figure(f"fold.{point.part}.{what}.{point.name}.{point.stages}", value, unit, limit)

    mhz, luts = _GOALS.get((point.part, point.name, point.stages), (None, None))
    return [
        figure("cycles", found.cycles, "cycles"),
        figure("luts", found.ecp5.luts, "LUTs", luts),
        figure("ffs", found.ecp5.ffs, "flip-flops"),
        figure("brams", found.ecp5.brams, "block RAMs"),
        figure("dsps", found.ecp5.dsps, "DSPs"),
        figure("fmax_mhz", found.clock, "MHz", mhz),
        figure("ultrascale_luts", found.ultrascale.luts, "LUTs"),
    ]


def brief() -> Iterator[Figure]:
    """The figures of ``BRIEF``; what is done is told on stderr."""
    for number, point in enumerate(BRIEF, 1):
        title = f"{number} of {len(BRIEF)}: {point}"
        yield from figures(measure(point, build_directory() / "fpga", partial(_tell, title)))


def _tell(title: str, text: str) -> None:
    print(f"{title}: {text} ...", file=sys.stderr, flush=True)
