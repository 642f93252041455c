"""A normalised number rounded to nearest even and packed."""

from types import SimpleNamespace

from amaranth import *

from .format import Format
from .steps import Steps

__all__ = ["round_to_nearest"]


def round_to_nearest(form: Format, steps: Steps, s: SimpleNamespace) -> Value:
    """Step ``round``: the packed result.

    ``total`` has its leading one at the top (or none: a subnormal or zero, then the exponent field is 0), and below the
    significand the round bit and what decides a tie. ``exponent`` is the field less one. ``clear`` makes the fraction 0
    (an overflow: the exponent is at the top), with ``nan`` the quiet bit stays. A carry out of the fraction raises the
    exponent by itself.
    """
    below = len(s.total) - form.significand
    hidden = s.total[-1]
    fraction = Mux(s.clear, Cat(C(0, form.fraction - 1), s.nan), s.total[below:-1])
    up = s.total[below - 1] & (s.total[below] | s.total[: below - 1].any()) & ~s.clear
    exponent = Mux(hidden, s.exponent, 0)
    # one carry chain: the lowest bit of both operands is the carry in
    packed = Cat(up, fraction, exponent) + Cat(up, C(0, form.fraction), hidden)
    return steps.end("round", sum=Cat(packed[1 : form.width], s.sign)).sum
