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
    field_a, field_b = _field(form, a), _field(form, b)
    return {
        "a": a,
        "b": b,
        "a_ahead": (field_a - field_b)[: form.exponent],
        "b_ahead": (field_b - field_a)[: form.exponent],
        "a_normal": kind_a.normal,
        "b_normal": kind_b.normal,
        # a subnormal beside a normal number is one place nearer than its field says
        "nearer": kind_a.normal ^ kind_b.normal,
        "special": kind_a.special | kind_b.special,
        "nan": kind_a.nan | kind_b.nan,
        # infinities that cancel; where one of them is a NaN, the sum is one as well
        "undefined": kind_a.special & kind_b.special & (a[-1] ^ b[-1]),
    }


def _field(form: Format, bits: Value) -> Value:
    return data.View(form.layout(), bits).exponent


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
    # one place nearer: x - y - 1 is ~(y - x)
    ahead = Mux(b_larger ^ compared.nearer, compared.b_ahead, compared.a_ahead)
    nan = compared.nan | compared.undefined
    return {
        "sign": number.sign & ~nan,
        # subnormals have the place value of exponent 1
        "exponent": Cat(number.exponent[0] | ~hidden, number.exponent[1:]),
        "significand": Cat(number.fraction, hidden),
        "smaller": Cat(C(0, 2), smaller, smaller_hidden),
        "sticky": C(0, 1),
        "distance": ahead ^ compared.nearer.replicate(form.exponent),
        "subtract": (compared.a[-1] ^ compared.b[-1]) & ~compared.special,
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


def align(form: Format, steps: Steps, s: SimpleNamespace, rider: Value) -> SimpleNamespace:
    """Steps ``align_coarse`` and ``align_fine``: ``smaller`` becomes the smaller significand in the larger one's place,
    with guard and round bit below, inverted for a subtraction; ``lost`` has what was shifted out.

    A number that ``rides`` takes the larger one's place in ``align_fine``, exact and with a hidden bit: ``rider``, as
    it is then, bit for bit. What is lost has no meaning beside exact numbers: it decides only with a guard bit of 1.
    """
    width = len(s.smaller)
    top = width.bit_length()  # more than the width is all sticky
    coarse = s.distance[_FINE:top]
    beyond = s.distance[top:].any()
    s = steps.end(
        "align_coarse",
        sign=s.sign,
        exponent=s.exponent,
        significand=s.significand,
        smaller=s.smaller >> Cat(C(0, _FINE), coarse),
        fine=s.distance[:_FINE],
        gone=beyond | s.exact,
        groups=Cat(s.smaller[at : at + 8].any() for at in range(0, width, 8)),
        beyond=beyond,
        coarse=coarse,
        sticky=s.sticky,
        subtract=s.subtract,
        nan=s.nan,
        which=s.which,
        rides=s.rides,
    )
    gone_groups = Cat(group & (s.beyond | (s.coarse > index)) for index, group in enumerate(s.groups))
    shifted, lost = s.smaller, []
    for place in reversed(range(_FINE)):
        by = 1 << place
        if place == _FINE - 2:  # late, for it has many loads: bits of what is gone may get lost before, that is as well
            shifted &= ~s.gone.replicate(width)
        lost.append(s.fine[place] & shifted[:by].any())
        shifted = Mux(s.fine[place], shifted[by:], shifted)
    riding = data.View(form.layout(), rider)
    return steps.end(
        "align_fine",
        sign=Mux(s.rides, riding.sign, s.sign),
        exponent=Mux(s.rides, riding.exponent, s.exponent),
        significand=Mux(s.rides, Cat(riding.fraction, C(1, 1)), s.significand),
        smaller=shifted ^ s.subtract.replicate(width),
        lost=Cat(gone_groups.any() | s.sticky | lost[0], lost[1:]),
        subtract=s.subtract,
        nan=s.nan,
        which=s.which,
    )
