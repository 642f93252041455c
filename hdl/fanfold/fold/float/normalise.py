"""The leading one back to the top, no further than the exponent allows."""

from collections.abc import Sequence
from types import SimpleNamespace

from amaranth import *

from .format import Format
from .steps import Steps
from .unpack import selected

__all__ = ["limits", "normalise"]

#: bits in a group: the coarse shift moves by whole groups, the fine one within a group
_GROUP = 4
_FINE = 2


def limits(form: Format, exponent: Value) -> Value:
    """In which group of the sum the exponent is used up: one bit each from the top down. For the step before."""
    return Cat(exponent[_FINE:] == index for index in range(-(-(form.significand + 4) // _GROUP)))


def normalise(form: Format, formats: Sequence[Format], steps: Steps, s: SimpleNamespace) -> SimpleNamespace:
    """Steps ``scan``, ``count``, ``normalise_coarse`` and ``normalise_fine``.

    ``total`` is the sum, with one bit for its carry above the hidden bit and three below the fraction; ``limits`` is
    that of its exponent, and with ``brim`` a carry is an overflow. It moves up until its leading one is at the top or,
    for a subnormal, the exponent is used up; ``exponent`` becomes the exponent field less one where there is a
    leading one.

    The place where the exponent is used up counts as a one: the leading one of both is how far to move. Beside the
    search, what a narrow format cannot see is gathered in its sticky bit.
    """
    width = len(s.total)
    padded = Cat(C(0, -width % _GROUP), s.total)
    groups = [padded[end - _GROUP : end][::-1] for end in range(len(padded), 0, -_GROUP)]
    used = [s.exponent[:_FINE] == place for place in range(_GROUP)]
    # an exponent of 0 is that of an exact number, which has its leading one in place
    first = [C(0, 1), used[0] | used[1], *used[2:]]
    marked = [
        group | (Cat(used if index else first) & limit.replicate(_GROUP))
        for index, (group, limit) in enumerate(zip(groups, s.limits, strict=True))
    ]
    s = steps.end(
        "scan",
        sign=s.sign,
        exponent=s.exponent,
        total=_gathered(form, formats, s.which, s.total),
        some=Cat(group.any() for group in groups),
        found=Cat(group.any() for group in marked),
        zeros=Cat(Cat(~(group[0] | ~group[1] & group[2]), ~group[:2].any()) for group in marked),
        subtract=s.subtract,
        clear=(s.total[-1] & s.brim) | s.nan,
        nan=s.nan,
        which=s.which,
    )
    none = ~s.some.any()  # a true zero: nothing cut its exponent to size
    s = steps.end(
        "count",
        sign=s.sign & ~(s.subtract & none),
        exponent=s.exponent,
        none=none,
        total=s.total,
        coarse=_first(list(s.found)),
        zeros=s.zeros,
        clear=s.clear,
        nan=s.nan,
        which=s.which,
    )
    s = steps.end(
        "normalise_coarse",
        sign=s.sign,
        exponent=Mux(s.none, 0, Cat(s.exponent[:_FINE], (s.exponent[_FINE:] - s.coarse)[: form.exponent - _FINE])),
        total=_up(s.total, Cat(C(0, _FINE), s.coarse)),
        fine=Mux(s.none, 0, _pick([s.zeros.word_select(index, _FINE) for index in range(len(groups))], s.coarse)),
        clear=s.clear,
        nan=s.nan,
        which=s.which,
    )
    total = _up(s.total, s.fine)
    return steps.end(
        "normalise_fine",
        sign=s.sign,
        which=s.which,
        exponent=(s.exponent - s.fine)[: form.exponent],
        hidden=total[-1],
        total=Mux(s.clear, Cat(C(0, width - 2), s.nan), total[:-1]),
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


def _first(found: list[Value]) -> Value:
    """The index of the first bit that is set; any index when there is none."""
    if len(found) == 1:
        return C(0, 0)
    half = 1 << (len(found) - 1).bit_length() - 1
    here = Cat(found[:half]).any()
    if half == 1:
        return ~here
    return Cat(Mux(here, _first(found[:half]), _first(found[half:])), ~here)


def _pick(values: list[Value], index: Value) -> Value:
    """The value at ``index``, its highest bit first: the leading-zero count has that one first, too."""
    for place in reversed(range(len(index))):
        by = 1 << place
        values = [
            Mux(index[place], values[at + by], values[at]) if at + by < len(values) else values[at]
            for at in range(min(by, len(values)))
        ]
    return values[0]


def _up(value: Value, by: Value) -> Value:
    """``value`` shifted up, the long way first."""
    for place in reversed(range(len(by))):
        value = Mux(by[place], (value << (1 << place))[: len(value)], value)
    return value
