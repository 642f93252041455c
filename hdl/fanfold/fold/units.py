"""Which floating-point adders a lane has, and which elements each of them serves."""

from dataclasses import dataclass

from ..codes import DataType, Operator
from ..config import Config
from .float.format import FORMATS, Format, joined

__all__ = ["LANE_BITS", "Unit", "float_units"]

#: bits of a lane
LANE_BITS = 64


@dataclass(frozen=True)
class Unit:
    """An adder of a lane: it serves, of each of its ``types``, the one element that begins at bit ``start``."""

    #: lowest bit of its elements
    start: int
    #: the types it serves, the narrowest element first
    types: tuple[DataType, ...]
    #: bits of a lane that ride through it when it has nothing to add: from ``start`` on; 0 when others have them all
    rides: int

    @property
    def form(self) -> Format:
        """The format it calculates in: that of its types, joined."""
        return joined(FORMATS[each] for each in self.types)


def float_units(config: Config) -> tuple[Unit, ...]:
    """The adders of each lane, lowest element first: none where no floating-point numbers are summed or multiplied.

    A wider element has an adder with one of the narrower elements in it, so that only the others need one of their own.
    Every bit of a lane rides through exactly one adder.
    """
    adding = any(each in config.operators for each in (Operator.SUM, Operator.PROD))
    types = sorted((each for each in config.types if each.floating), key=lambda each: each.element_bytes)
    if not adding or not types:
        return ()
    units, taken = [], 0
    for start in range(0, LANE_BITS, 8 * types[0].element_bytes):
        served = tuple(each for each in types if start % (8 * each.element_bytes) == 0)
        width = 8 * served[-1].element_bytes
        rides = width if start >= taken else 0
        taken = max(taken, start + width)
        units.append(Unit(start=start, types=served, rides=rides))
    return tuple(units)
