"""What this instance folds, as a test of the codes in a header: few inputs a table, for the clock's sake.

Codes are numbers below 16, so a test reads four bits of each; whoever uses one says whether the others are 0.
"""

from amaranth import *

from ..codes import known
from ..config import Config

__all__ = ["CODE_BITS", "foldable", "part_of_element", "small"]

#: bits of a code that tell operators, and types, apart
CODE_BITS = 4


def small(code: Value) -> Value:
    """Whether ``code`` has no bits above those that tell operators and types apart."""
    return ~code[CODE_BITS:].any()


def foldable(config: Config, operator: Value, data_type: Value) -> Value:
    """Whether this instance folds ``operator`` of ``data_type``, both ``small``.

    Operators that go with the same types are one case: as MPI has it, there are three of them at most.
    """
    cases: dict[tuple, list] = {}
    for each in config.operators:
        types = tuple(kind for one, kind in config.pairs if one is each)
        cases.setdefault(types, []).append(each)
    found = Const(0)
    for types, operators in cases.items():
        found |= known(operator[:CODE_BITS], operators) & known(data_type[:CODE_BITS], types)
    return found


def part_of_element(config: Config, data_type: Value, length: Value) -> Value:
    """Whether ``length`` bytes are no whole number of elements; means nothing for a type that is not ``foldable``.

    Elements have a power of two bytes: a low bit of the length must be 0 for all that are larger than it counts.
    """
    largest = max(kind.element_bytes for kind in config.types)
    broken = Const(0)
    for bit in range(largest.bit_length() - 1):
        larger = [kind for kind in config.types if kind.element_bytes > 1 << bit]
        broken |= length[bit] & known(data_type[:CODE_BITS], larger)
    return broken
