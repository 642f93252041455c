"""Numbers of several formats in the one format that has room for all of them, and out of it again.

The exponent field lies as it is at the bottom of the joined one, the fraction at the top of the joined one, so that
leading ones and the places of exponents are where they are for every format; only where a number ends differs.
"""

from collections.abc import Sequence

from amaranth import *

from .format import Format

__all__ = ["pack", "selected", "top_exponent", "unpack"]


def unpack(form: Format, formats: Sequence[Format], which: Value, bits: Value) -> Value:
    """``bits``, a number of the one of ``formats`` of which the bit in ``which`` is set, as one of ``form``."""
    return selected(which, [_widened(form, each, bits[: each.width]) for each in formats])


def _widened(form: Format, narrow: Format, bits: Value) -> Value:
    return Cat(
        C(0, form.fraction - narrow.fraction),
        bits[: narrow.fraction],
        bits[narrow.fraction : -1],
        C(0, form.exponent - narrow.exponent),
        bits[-1],
    )


def pack(form: Format, narrow: Format, bits: Value) -> Value:
    """``bits``, a number of ``form``, as one of ``narrow``: it must be one already, nothing is rounded."""
    exponent = bits[form.fraction : form.fraction + narrow.exponent]
    return Cat(bits[form.fraction - narrow.fraction : form.fraction], exponent, bits[-1])


def top_exponent(form: Format, formats: Sequence[Format], which: Value) -> Value:
    """The exponent field of infinities and NaNs."""
    return selected(which, [C(each.top_exponent, form.exponent) for each in formats])


def selected(which: Value, values: Sequence[Value]) -> Value:
    """The one of ``values`` of which the bit in ``which`` is set; the last if it is none of the others."""
    *others, chosen = values
    for index, value in enumerate(others):
        chosen = Mux(which[index], value, chosen)
    return chosen
