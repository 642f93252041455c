"""Which multipliers a lane has: part i of one operand times part j of the other, each part 16 bits.

Elements of 16 bits take the diagonal, two parts make an element of 32 bits, four one of 64. Integers need the lower
half of their products only. Of the bytes the even ones take the diagonal, too; the odd ones take what wider elements
have beside it, which has nothing else to do then, or else multipliers of their own.
"""

from ...config import Config
from ..units import LANE_BITS
from .choice import integer_bits, multiplied

__all__ = ["PART", "PARTS", "borrowed", "multipliers", "needed"]

#: bits that a multiplier takes of each operand
PART = 16

#: parts of an operand
PARTS = LANE_BITS // PART


def needed(config: Config) -> set[tuple[int, int]]:
    """The pairs of parts that are multiplied."""
    pairs = set()
    for each in multiplied(config):
        parts = max(8 * each.element_bytes // PART, 1)
        inner = [(i, j) for i in range(parts) for j in range(parts) if each.floating or i + j < parts]
        pairs |= {(first + i, first + j) for first in range(0, PARTS, parts) for i, j in inner}
    return pairs


def borrowed(config: Config) -> set[int]:
    """The parts whose odd byte is multiplied beside the diagonal: part ``i`` of one operand by part ``i ^ 1`` of the
    other."""
    pairs = needed(config)
    return {i for i in range(PARTS) if (i, i ^ 1) in pairs} if 8 in integer_bits(config) else set()


def multipliers(config: Config) -> int:
    """How many multipliers a lane has, each a DSP block of an FPGA."""
    own = PARTS - len(borrowed(config)) if 8 in integer_bits(config) else 0
    return len(needed(config)) + own
