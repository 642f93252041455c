"""The leading one back to the top, no further than the exponent allows."""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth import *

from .format import Format
from .steps import Steps
from .unpack import selected

__all__ = ["normalise", "reach"]

#: bits that the coarse shift moves by
_GROUP = 8


def reach(form: Format, exponent: Value) -> Value:
    """How many groups the exponent lets a significand move up: bit k when it is more than k. For the step before."""
    return Cat(exponent >= at for at in range(_GROUP, form.significand + 4, _GROUP))


def normalise(form: Format, formats: Sequence[Format], steps: Steps, s: SimpleNamespace) -> SimpleNamespace:
    """Steps ``count``, ``normalise_coarse`` and ``normalise_fine``.

    ``total`` is the sum, with one bit for its carry above the hidden bit and three below the fraction; ``reach`` is
    that of its exponent, and with ``brim`` a carry is an overflow. It moves up until its leading one is at the top or,
    for a subnormal, the exponent is used up; ``exponent`` becomes the exponent field less one where there is a
    leading one. Leading zeros are counted in groups of 8, each by itself: the count of a group needs no shift before.
    Beside the count, what a narrow format cannot see is gathered in its sticky bit.
    """
    width = len(s.total)
    groups = [_group(s.total, at) for at in range(width, 0, -_GROUP)]
    moves = [~Cat(groups[:index]).any() & s.reach[index - 1] for index in range(1, len(groups))]
    coarse_bits = (len(groups) - 1).bit_length()
    exactly = [up & ~further for up, further in zip(moves, [*moves[1:], C(0, 1)], strict=True)]
    s = steps.end(
        "count",
        sign=s.sign & ~(s.subtract & ~s.total.any()),
        exponent=s.exponent,
        total=_gathered(form, formats, s.which, s.total),
        coarse=reduce(or_, [Mux(here, C(index, coarse_bits), 0) for index, here in enumerate(exactly, 1)]),
        zeros=Cat(_leading_zeros(group) for group in groups),
        clear=(s.total[-1] & s.brim) | s.nan,
        nan=s.nan,
        which=s.which,
        rides=s.rides,
    )

    zeros = s.zeros.word_select(s.coarse, 3)
    left = s.exponent[3:] - s.coarse
    # a leading one in place or above is there whatever the exponent: it is the mark of what must stay exact, too
    in_place = s.total[-1] | s.total[-2]
    limited = (s.exponent[3:] == s.coarse) & ~in_place & (s.exponent[:3] < zeros)
    s = steps.end(
        "normalise_coarse",
        sign=s.sign,
        exponent=Cat(s.exponent[:3], left[: form.exponent - 3]),
        total=(s.total << Cat(C(0, 3), s.coarse))[:width],
        fine=Mux(limited, s.exponent[:3], zeros),
        clear=s.clear,
        nan=s.nan,
        which=s.which,
        rides=s.rides,
    )
    return steps.end(
        "normalise_fine",
        sign=s.sign,
        exponent=(s.exponent - s.fine)[: form.exponent],
        total=(s.total << s.fine)[:width],
        clear=s.clear,
        nan=s.nan,
        which=s.which,
        rides=s.rides,
    )


def _gathered(form: Format, formats: Sequence[Format], which: Value, total: Value) -> Value:
    """``total`` with all bits from the sticky bit down in that bit, where this is above the lowest.

    Nothing is lost: the bits below are 0 whenever the sum moves up by more than one place, for then the exponents of
    its operands differed by one at most.
    """
    gathered = []
    for each in formats:
        sticky = form.fraction - each.fraction
        gathered.append(Cat(C(0, sticky), total[: sticky + 1].any(), total[sticky + 1 :]))
    return selected(which, gathered)


def _group(total: Value, end: int) -> Value:
    """Eight bits from ``end`` down, with zeros below the lowest."""
    start = end - _GROUP
    return total[start:end] if start >= 0 else Cat(C(0, -start), total[:end])


def _leading_zeros(group: Value) -> Value:
    """Zeros above the leading one of eight bits; 7 when there is none."""
    high, low = group[4:], group[:4]
    nibble = Mux(high.any(), high, low)
    pair = Mux(nibble[2:].any(), nibble[2:], nibble[:2])
    return Cat(~pair[1], ~nibble[2:].any(), ~high.any())
