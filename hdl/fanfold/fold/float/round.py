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

    ``hidden`` and ``total`` are the sum with its leading one at the top (or none: a subnormal or zero, then the
    exponent field is 0), and below the fraction the round bit and what decides a tie. ``exponent`` is the field less
    one. A carry out of the fraction raises the exponent by itself.
    """
    below = len(s.total) - form.fraction
    ups, fractions = [], []
    for each in formats:
        unused = form.fraction - each.fraction
        lowest = below + unused
        decides = s.total[lowest] | s.total[unused : lowest - 1].any()
        ups.append(s.total[lowest - 1] & decides)
        # ones let the carry through to where the fraction ends
        fractions.append(Cat(C((1 << unused) - 1, unused), s.total[lowest:]))
    up = selected(s.which, ups)
    # one carry chain: the lowest bit of both operands is the carry in
    packed = Cat(up, selected(s.which, fractions), s.exponent) + Cat(up, C(0, form.fraction), s.hidden)
    return steps.end("round", bits=Cat(packed[1 : form.width], s.sign), which=s.which)
