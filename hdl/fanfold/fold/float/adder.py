"""The sum of two floating-point numbers: align, add, normalise, round.

One path for all numbers. What is no true sum (infinities, NaNs) is *exact*: the larger operand goes through the same
path bit for bit, which is also how other results of the same width travel beside the sums (``fanfold.fold.element``).
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .align import align, compare, swap
from .format import Format
from .normalise import normalise, reach
from .round import round_to_nearest
from .steps import ADDER_REGISTERS, Steps

__all__ = ["Adder", "finish"]


class Adder(wiring.Component):
    """``o`` is ``a`` + ``b``: IEEE 754 addition, round to nearest even, subnormals, any NaN the canonical quiet one.

    Latency: ``latency``. Throughput: 1. Ready path: none, it never stalls. Order: kept. On error: none.
    """

    def __init__(self, form: Format, stages: int):
        if stages not in ADDER_REGISTERS:
            raise ValueError(f"stages is {stages!r}: it must be from {min(ADDER_REGISTERS)} to {max(ADDER_REGISTERS)}")
        super().__init__({"a": In(form.width), "b": In(form.width), "o": Out(form.width)})
        self._form = form
        #: cycles from the operands to the sum
        self.latency = stages

    def elaborate(self, platform):
        m = Module()
        form = self._form
        steps = Steps(m, ADDER_REGISTERS[self.latency])
        c = steps.end("compare", **compare(m, form, self.a, self.b))
        larger = Mux(c.b_larger, c.b, c.a)
        s = steps.end("swap", **swap(form, c, larger=larger, exact=c.special, nan=c.nan | c.undefined))
        m.d.comb += self.o.eq(finish(form, steps, s))
        return m


def finish(form: Format, steps: Steps, s: SimpleNamespace) -> Value:
    """All steps after ``swap``: the packed sum of what it left."""
    s = align(form, steps, s)
    # one carry chain: the lowest bit of both operands is the carry in of a subtraction
    larger = Cat(s.subtract, C(0, 3), s.significand, C(0, 1))
    smaller = Cat(s.subtract, Cat(s.smaller, C(0, 1)) ^ s.subtract.replicate(form.significand + 4))
    total = (larger + smaller)[1 : form.significand + 5]
    s = steps.end(
        "add",
        sign=s.sign,
        exponent=s.exponent,
        total=total,
        subtract=s.subtract,
        nan=s.nan,
        reach=reach(form, s.exponent),
        brim=s.exponent == form.top_exponent - 1,
    )
    return round_to_nearest(form, steps, normalise(form, steps, s))
