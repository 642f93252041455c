"""What an adder must give, written down with one wide whole number: exact, then rounded once.

Every finite number is a whole multiple of the smallest subnormal, so that adding is adding. Shares nothing with
``fanfold.fold``: no larger operand, no alignment, no guard bits, no normalisation.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ExactSum", "Number"]


class Number:
    """``bits`` as a number with so many bits of exponent and fraction; combinational, in ``m``."""

    def __init__(self, m: Module, exponent: int, fraction: int, bits: Value, name: str):
        top = (1 << exponent) - 1
        field, low = bits[fraction : fraction + exponent], bits[:fraction]
        self.bits = bits
        self.negative = bits[-1]
        self.zero = bits[:-1] == 0
        self.nan = (field == top) & (low != 0)
        self.infinite = (field == top) & (low == 0)
        self.finite = field != top
        self.magnitude = Signal(fraction + (1 << exponent), name=f"{name}_magnitude")
        #: how many of the smallest subnormals it is
        self.multiple = Signal(signed(len(self.magnitude) + 1), name=f"{name}_multiple")
        with m.If(field == 0):
            m.d.comb += self.magnitude.eq(low)
        with m.Else():
            m.d.comb += self.magnitude.eq(Cat(low, C(1, 1)) << (field - 1)[:exponent])
        m.d.comb += self.multiple.eq(Mux(self.negative, -self.magnitude, self.magnitude))


class ExactSum(wiring.Component):
    """``o`` is ``a`` + ``b``, rounded to nearest even; combinational."""

    def __init__(self, exponent: int, fraction: int):
        width = 1 + exponent + fraction
        super().__init__({"a": In(width), "b": In(width), "o": Out(width)})
        self._exponent, self._fraction = exponent, fraction

    def elaborate(self, platform):
        m = Module()
        exponent, fraction = self._exponent, self._fraction
        top = ((1 << exponent) - 1) << fraction
        a, b = (Number(m, exponent, fraction, bits, name) for bits, name in ((self.a, "a"), (self.b, "b")))
        total = Signal.like(a.multiple)
        m.d.comb += total.eq(a.multiple + b.multiple)
        magnitude = Signal.like(a.magnitude)
        m.d.comb += magnitude.eq(Mux(total < 0, -total, total))
        with m.If(a.nan | b.nan | (a.infinite & b.infinite & (a.negative != b.negative))):
            m.d.comb += self.o.eq(top | 1 << (fraction - 1))
        with m.Elif(a.infinite | b.infinite):
            m.d.comb += self.o.eq(Mux(a.infinite, self.a, self.b))
        with m.Elif(a.zero & b.zero):
            m.d.comb += self.o.eq(self.a & self.b)
        with m.Else():
            m.d.comb += self.o.eq(Cat(self._rounded(m, magnitude), total < 0))
        return m

    def _rounded(self, m, magnitude):
        """The nearest number: its fraction and exponent field."""
        fraction, infinity = self._fraction, ((1 << self._exponent) - 1) << self._fraction
        rounded = Signal(self._exponent + fraction)
        with m.If(magnitude[fraction + 1 :] == 0):
            # subnormals, and those of exponent 1: all multiples are numbers, and the bits just say which
            m.d.comb += rounded.eq(magnitude)
        for lead in range(fraction + 1, len(magnitude)):
            with m.Elif(magnitude[lead + 1 :] == 0):
                dropped = lead - fraction
                kept, rest, half = magnitude[dropped : lead + 1], magnitude[:dropped], 1 << (dropped - 1)
                up = (rest > half) | ((rest == half) & kept[0])
                # the leading one counts as one more in the exponent field, and so does a carry
                nearest = (dropped << fraction) + kept + up
                m.d.comb += rounded.eq(Mux(nearest < infinity, nearest, infinity))
        return rounded
