"""A normalised number rounded to nearest even and packed."""

from collections.abc import Sequence
from types import SimpleNamespace

from amaranth import *

from .format import Format
from .steps import Steps
from .unpack import selected

__all__ = ["round_to_nearest"]


def round_to_nearest(form: Format, formats: Sequence[Format], steps: Steps, s: SimpleNamespace) -> SimpleNamespace:
    """Step ``round``: the packed result, a number of ``form`` that is one of the format in ``which``; where that one's
    fraction ends earlier, the bits below have no meaning.

    ``total`` has its leading one at the top (or none: a subnormal or zero, then the exponent field is 0), and below the
    significand the round bit and what decides a tie. ``exponent`` is the field less one. ``clear`` makes the fraction 0
    (an overflow: the exponent is at the top), with ``nan`` the quiet bit stays. A carry out of the fraction raises the
    exponent by itself.
    """
    below = len(s.total) - form.significand
    hidden = s.total[-1]
    ups, fractions = [], []
    for each in formats:
        unused = form.fraction - each.fraction
        lowest = below + unused
        decides = s.total[lowest] | s.total[unused : lowest - 1].any()
        ups.append(s.total[lowest - 1] & decides)
        # ones let the carry through to where the fraction ends
        fractions.append(Cat(C((1 << unused) - 1, unused), s.total[lowest:-1]))
    up = selected(s.which, ups) & ~s.clear
    cleared = Cat(C(0, form.fraction - 1), s.nan)
    fraction = Mux(s.clear, cleared, selected(s.which, fractions))
    exponent = Mux(hidden, s.exponent, 0)
    # one carry chain: the lowest bit of both operands is the carry in
    packed = Cat(up, fraction, exponent) + Cat(up, C(0, form.fraction), hidden)
    return steps.end("round", bits=Cat(packed[1 : form.width], s.sign), which=s.which, rides=s.rides)
