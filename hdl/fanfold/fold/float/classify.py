"""What kind of number a bit pattern is."""

from amaranth import *
from amaranth.lib import data

from .format import Format

__all__ = ["classify", "kind_layout"]


def kind_layout() -> data.StructLayout:
    """``normal``: the hidden bit is 1 (infinities and NaNs count as normal). ``infinite`` and ``nan`` exclude each
    other; a number with none of the three bits is a subnormal or zero."""
    return data.StructLayout({"normal": 1, "infinite": 1, "nan": 1})


def classify(m: Module, form: Format, bits: Value, name: str) -> data.View:
    """The kind of ``bits`` in ``form``, as a signal called ``name``; combinational."""
    number = data.View(form.layout(), bits)
    kind = Signal(kind_layout(), name=name)
    special = number.exponent.all()
    m.d.comb += [
        kind.normal.eq(number.exponent.any()),
        kind.infinite.eq(special & ~number.fraction.any()),
        kind.nan.eq(special & number.fraction.any()),
    ]
    return kind
