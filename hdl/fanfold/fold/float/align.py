"""Two numbers side by side: by how much one is larger, and the smaller one shifted to the larger one's place."""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data

from .format import Format
from .steps import Steps

__all__ = ["align", "compare", "multiplied", "swap"]

#: bits of the fine shift; the coarse shift moves by multiples of 8
_FINE = 3


def compare(form: Format, a: Value, b: Value, kind_a: data.View, kind_b: data.View) -> dict:
    """Both operands and how they relate: values for the end of the step ``compare``.

    Both differences of the exponents are formed, so that nothing waits for which operand is the larger one.
    """
    exponent_a, exponent_b = _exponent(form, a, kind_a.normal), _exponent(form, b, kind_b.normal)
    return {
        "a": a,
        "b": b,
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


def swap(form: Format, compared: SimpleNamespace, *, b_larger: Value) -> dict:
    """The operand that is larger in magnitude and the other one: values for the end of the step ``swap``.

    What is no true sum (infinities, NaNs) is ``exact``: the result is the larger operand bit for bit, so it gets a
    hidden bit, that it is in place already, and the smaller one will be shifted out without trace. With ``nan`` the
    result is the canonical NaN.
    """
    number = data.View(form.layout(), Mux(b_larger, compared.b, compared.a))
    hidden = Mux(b_larger, compared.b_normal, compared.a_normal) | compared.special
    smaller = Mux(b_larger, compared.a[: form.fraction], compared.b[: form.fraction])
    smaller_hidden = Mux(b_larger, compared.a_normal, compared.b_normal)
    nan = compared.nan | compared.undefined
    return {
        "sign": number.sign & ~nan,
        "exponent": _exponent(form, number.as_value(), hidden),
        "significand": Cat(number.fraction, hidden),
        "smaller": Cat(C(0, 2), smaller, smaller_hidden),
        "sticky": C(0, 1),
        "distance": Mux(b_larger, compared.b_ahead, compared.a_ahead),
        "subtract": compared.a[-1] ^ compared.b[-1],
        "exact": compared.special,
        "nan": nan,
    }


def multiplied(form: Format, swapped: dict, product: data.View, top: Value, *, multiplies: Value) -> dict:
    """What ``swap`` gave, or, when it ``multiplies``, the same of a product: a ``product_layout`` of
    ``fanfold.fold.product``. It becomes the smaller operand of a sum with zero: that moves it down to where its
    exponent begins to count, and rounds it. ``top`` is the exponent field of infinities."""
    exact = product.infinite | product.nan
    values = {
        "sign": product.sign & ~product.nan,
        "exponent": Mux(exact, top, product.exponent),
        "significand": Cat(C(0, form.fraction), exact),
        "smaller": product.magnitude,
        "sticky": product.sticky,
        "distance": product.distance,
        "subtract": C(0, 1),
        "exact": exact,
        "nan": product.nan,
    }
    # a product has a bit above the hidden one
    return {name: Mux(multiplies, value, swapped[name]) for name, value in values.items()}


def align(form: Format, steps: Steps, s: SimpleNamespace) -> SimpleNamespace:
    """Steps ``align_coarse`` and ``align_fine``: ``smaller`` becomes the smaller significand in the larger one's place,
    with guard, round and sticky bit below.

    A number that ``rides`` takes the larger one's place here, exact and with a hidden bit: ``rider`` bit for bit.
    """
    smaller = s.smaller
    width = len(smaller)
    top = width.bit_length()  # more than the width is all sticky
    coarse = s.distance[_FINE:top]
    beyond = s.distance[top:].any()
    groups = [smaller[at : at + 8].any() for at in range(0, width, 8)]
    lost = Cat(group & (beyond | (coarse > index)) for index, group in enumerate(groups)).any()
    s = steps.end(
        "align_coarse",
        sign=s.sign,
        exponent=s.exponent,
        significand=s.significand,
        smaller=smaller >> Cat(C(0, _FINE), coarse),
        fine=s.distance[:_FINE],
        gone=beyond | s.exact | s.rides,
        sticky=(lost | s.sticky) & ~s.exact & ~s.rides,
        subtract=s.subtract,
        nan=s.nan,
        which=s.which,
        rides=s.rides,
        rider=s.rider,
    )
    shifted = Mux(s.gone, 0, s.smaller)
    lost = Cat(shifted[index] & (s.fine > index) for index in range(min((1 << _FINE) - 1, width))).any()
    rider = data.View(form.layout(), s.rider)
    return steps.end(
        "align_fine",
        sign=Mux(s.rides, rider.sign, s.sign),
        exponent=Mux(s.rides, rider.exponent, s.exponent),
        significand=Mux(s.rides, Cat(rider.fraction, C(1, 1)), s.significand),
        smaller=Cat(s.sticky | lost, shifted >> s.fine),
        subtract=s.subtract & ~s.rides,
        nan=s.nan & ~s.rides,
        which=s.which,
        rides=s.rides,
    )
