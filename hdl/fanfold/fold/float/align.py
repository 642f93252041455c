"""Two numbers side by side: which is larger, by how much, and the smaller one shifted to the larger one's place."""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data

from .classify import classify
from .format import Format
from .steps import Steps

__all__ = ["align", "compare", "swap"]

#: bits of the fine shift; the coarse shift moves by multiples of 8
_FINE = 3


def compare(m: Module, form: Format, a: Value, b: Value) -> dict:
    """Both operands and how they relate: the values at the end of the step ``compare``.

    Both differences of the exponents are formed beside the comparison, so that nothing waits for its outcome.
    """
    kind_a, kind_b = classify(m, form, a, "kind_a"), classify(m, form, b, "kind_b")
    exponent_a, exponent_b = _exponent(form, a, kind_a.normal), _exponent(form, b, kind_b.normal)
    return {
        "a": a,
        "b": b,
        "b_larger": a[:-1] < b[:-1],
        "a_ahead": (exponent_a - exponent_b)[: form.exponent],
        "b_ahead": (exponent_b - exponent_a)[: form.exponent],
        "a_normal": kind_a.normal,
        "b_normal": kind_b.normal,
        "special": kind_a.special | kind_b.special,
        "nan": kind_a.nan | kind_b.nan,
        # infinities that cancel; where one of them is a NaN, the sum is one as well
        "undefined": kind_a.special & kind_b.special & (a[-1] ^ b[-1]),
    }


def _exponent(form: Format, bits: Value, normal: Value) -> Value:
    """The exponent that counts: subnormals have the place value of exponent 1."""
    field = data.View(form.layout(), bits).exponent
    return Cat(field[0] | ~normal, field[1:])


def swap(form: Format, compared: SimpleNamespace, *, larger: Value, exact: Value, nan: Value) -> dict:
    """The larger operand and the smaller one: the values at the end of the step ``swap``.

    When ``exact``, the result is ``larger`` bit for bit, whatever it is: it gets a hidden bit, so that it is in place
    already, and the smaller one will be shifted out without trace. ``nan`` makes the result the canonical NaN; then
    it must be exact and ``larger`` a NaN or an infinity.
    """
    number = data.View(form.layout(), larger)
    hidden = Mux(compared.b_larger, compared.b_normal, compared.a_normal) | exact
    smaller = Mux(compared.b_larger, compared.a[: form.fraction], compared.b[: form.fraction])
    smaller_hidden = Mux(compared.b_larger, compared.a_normal, compared.b_normal)
    return {
        "sign": number.sign & ~nan,
        "exponent": _exponent(form, larger, hidden),
        "significand": Cat(number.fraction, hidden),
        "smaller": Cat(smaller, smaller_hidden),
        "distance": Mux(compared.b_larger, compared.b_ahead, compared.a_ahead),
        "subtract": compared.a[-1] ^ compared.b[-1],
        "exact": exact,
        "nan": nan,
    }


def align(form: Format, steps: Steps, s: SimpleNamespace) -> SimpleNamespace:
    """Steps ``align_coarse`` and ``align_fine``: ``smaller`` becomes the smaller significand in the larger one's place,
    with guard, round and sticky bit below."""
    width = form.significand + 2
    top = width.bit_length()  # more than the width is all sticky
    coarse = s.distance[_FINE:top]
    beyond = s.distance[top:].any()
    groups = [Cat(C(0, 2), s.smaller)[at : at + 8].any() for at in range(0, width, 8)]
    lost = Cat(group & (beyond | (coarse > index)) for index, group in enumerate(groups)).any()
    s = steps.end(
        "align_coarse",
        sign=s.sign,
        exponent=s.exponent,
        significand=s.significand,
        smaller=Cat(C(0, 2), s.smaller) >> Cat(C(0, _FINE), coarse),
        fine=s.distance[:_FINE],
        gone=beyond | s.exact,
        sticky=lost & ~s.exact,
        subtract=s.subtract,
        nan=s.nan,
    )
    shifted = Mux(s.gone, 0, s.smaller)
    lost = Cat(shifted[index] & (s.fine > index) for index in range(min((1 << _FINE) - 1, width))).any()
    return steps.end(
        "align_fine",
        sign=s.sign,
        exponent=s.exponent,
        significand=s.significand,
        smaller=Cat(s.sticky | lost, shifted >> s.fine),
        subtract=s.subtract,
        nan=s.nan,
    )
