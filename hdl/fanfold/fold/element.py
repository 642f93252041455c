"""One element of a lane: sum, minimum, maximum, or the first operand as it is, all in the same number of cycles.

Results of all kinds travel through the one floating-point adder: what is not a floating-point sum is chosen before the
alignment, and rides along in the significand as a number that is exact already.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..codes import Operator
from ..config import Config
from .float.adder import finish
from .float.align import compare, swap
from .float.format import FLOAT32
from .float.steps import ADDER_REGISTERS, Steps
from .integer import FLOATS, INTEGERS, choose, selection_layout

__all__ = ["ELEMENT_BITS", "Element", "element_latency"]

ELEMENT_BITS = FLOAT32.width


def element_latency(config: Config) -> int:
    """Cycles through an element: those of the floating-point adder where there is one."""
    return config.adder_stages if _adds_floats(config) else 2


def _adds_floats(config: Config) -> bool:
    return Operator.SUM in config.operators and any(each in FLOATS for each in config.types)


class Element(wiring.Component):
    """One element of 32 bits: ``o`` is what ``selection`` makes of ``a`` and ``b``.

    Latency: ``latency``. Throughput: 1. Ready path: none, it never stalls. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {"a": In(ELEMENT_BITS), "b": In(ELEMENT_BITS), "selection": In(selection_layout()), "o": Out(ELEMENT_BITS)}
        )
        self._adds_floats = _adds_floats(config)
        self._adds_integers = Operator.SUM in config.operators and any(each in INTEGERS for each in config.types)
        #: cycles from the operands to the result
        self.latency = element_latency(config)

    def elaborate(self, platform):
        m = Module()
        steps = Steps(m, ADDER_REGISTERS[self.latency] if self._adds_floats else {"compare", "swap"})
        selection, a, b = self.selection, self.a, self.b
        compared = compare(m, FLOAT32, a, b)
        compared["nan"] &= selection.floating & (selection.extreme | selection.float_sum)
        compared["undefined"] &= selection.float_sum
        c = steps.end(
            "compare",
            **compared,
            second_if_larger=choose(selection, a[-1], b[-1], 1),
            second_if_not=choose(selection, a[-1], b[-1], 0),
            exact=compared["special"] | ~selection.float_sum,
            adds_integers=selection.integer_sum,
            integer_sum=(a + b)[:ELEMENT_BITS],
        )
        # where there is a NaN, it is the larger magnitude
        second = Mux(c.nan, c.b_larger, Mux(c.b_larger, c.second_if_larger, c.second_if_not))
        result = Mux(second, c.b, c.a)
        if self._adds_integers:
            result = Mux(c.adds_integers, c.integer_sum, result)
        if self._adds_floats:
            nan = c.nan | c.undefined
            s = steps.end("swap", **swap(FLOAT32, c, larger=result, exact=c.exact, nan=nan))
            m.d.comb += self.o.eq(finish(FLOAT32, steps, s))
        else:
            s = steps.end("swap", result=Mux(c.nan, C(FLOAT32.quiet_nan, ELEMENT_BITS), result))
            m.d.comb += self.o.eq(s.result)
        return m
