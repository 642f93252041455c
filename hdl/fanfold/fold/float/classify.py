"""What kind of number a bit pattern is."""

from amaranth import *
from amaranth.lib import data

from .format import Format

__all__ = ["classify", "kind_layout"]


def kind_layout() -> data.StructLayout:
    """``normal``: the hidden bit is 1 (infinities and NaNs count as normal). ``special``: an infinity or a NaN.

    A number that is not normal is a subnormal or zero.
    """
    return data.StructLayout({"normal": 1, "special": 1, "nan": 1})


def classify(m: Module, form: Format, bits: Value, name: str) -> data.View:
    """The kind of ``bits`` in ``form``, as a signal called ``name``; combinational."""
    number = data.View(form.layout(), bits)
    kind = Signal(kind_layout(), name=name)
    m.d.comb += [
        kind.normal.eq(number.exponent.any()),
        kind.special.eq(number.exponent.all()),
        kind.nan.eq(kind.special & number.fraction.any()),
    ]
    return kind
