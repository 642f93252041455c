"""The sum of two floating-point numbers: align, add, normalise, round.

One path for all numbers. What is no true sum (infinities, NaNs) is *exact*: the larger operand goes through the same
path bit for bit, which is also how other results of the same width travel among the sums (``fanfold.fold.lane``).
"""

from collections.abc import Sequence
from types import SimpleNamespace

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .align import align, compare, swap
from .classify import classify
from .format import Format
from .normalise import limits, normalise
from .round import round_to_nearest
from .steps import ADDER_REGISTERS, Steps
from .unpack import top_exponent

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
        u = steps.end("unpack", a=self.a, b=self.b)
        kinds = [classify(m, form, operand, f"kind_{name}") for operand, name in ((u.a, "a"), (u.b, "b"))]
        c = steps.end("compare", **compare(form, u.a, u.b, *kinds), b_larger=u.a[:-1] < u.b[:-1])
        s = steps.end("swap", **swap(form, c, b_larger=c.b_larger), which=C(1, 1), rides=C(0, 1))
        m.d.comb += self.o.eq(finish(form, (form,), steps, s, C(0, form.width)).bits)
        return m


def finish(form: Format, formats: Sequence[Format], steps: Steps, s: SimpleNamespace, rider: Value) -> SimpleNamespace:
    """All steps after ``swap``: ``bits`` is the sum of what it left, in ``form``, rounded to the one of ``formats`` of
    which the bit in ``which`` is set; ``which`` comes out beside it. ``rider`` comes in at ``align_fine``."""
    s = align(form, steps, s, rider)
    sticky = s.lost.any()
    # one carry chain: the lowest bit of both operands is the carry in, which what was shifted out of a subtrahend takes
    carry = s.subtract & ~sticky
    larger = Cat(carry, C(0, 2), s.significand, C(0, 1))
    smaller = Cat(carry, s.smaller, s.subtract)[: len(larger)]
    s = steps.end(
        "add",
        sign=s.sign,
        exponent=s.exponent,
        total=Cat(sticky, (larger + smaller)[1 : len(larger)]),
        subtract=s.subtract,
        nan=s.nan,
        limits=limits(form, s.exponent),
        brim=s.exponent == top_exponent(form, formats, s.which) - 1,
        which=s.which,
    )
    return round_to_nearest(form, formats, steps, normalise(form, formats, steps, s))
