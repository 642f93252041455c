"""A lane: eight bytes of a beat, combined element by element with what the sibling subtree stored."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..codes import DataType, Operator
from ..config import Config
from .float.adder import finish
from .float.align import compare, swap
from .float.format import FLOAT32
from .float.steps import ADDER_REGISTERS, Steps
from .integer import FLOATS, INTEGERS, choose, decode, selection_layout

__all__ = ["LANE_BYTES", "Lane", "lane_latency"]

LANE_BYTES = 8


def lane_latency(config: Config) -> int:
    """Cycles through a lane: those of the floating-point adder where there is one."""
    return config.adder_stages if _adds_floats(config) else 2


def _adds_floats(config: Config) -> bool:
    return Operator.SUM in config.operators and any(each in FLOATS for each in config.types)


class Lane(wiring.Component):
    """``o`` is ``a`` combined with ``b`` by ``operator`` for elements of ``type``; without ``combine`` it is ``a`` bit
    for bit.

    Every operator gives the same bits for both orders of its operands, so it does not matter which of them is the
    subtree of the lower indices. An operator or a type that is not configured gives no meaningful result. Results of
    all kinds travel through the one floating-point adder of an element.

    Latency: ``latency``, the same for all operators and types. Throughput: 1. Ready path: none, it never stalls.
    Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "a": In(8 * LANE_BYTES),
                "b": In(8 * LANE_BYTES),
                "operator": In(Operator),
                "type": In(DataType),
                "combine": In(1),
                "o": Out(8 * LANE_BYTES),
            }
        )
        self._config = config
        #: cycles from the operands to the result
        self.latency = lane_latency(config)

    def elaborate(self, platform):
        m = Module()
        operators, types = self._config.operators, self._config.types
        selection = Signal(selection_layout())
        chosen = decode(operators, types, self.operator, self.type, self.combine)
        m.d.comb += [selection[name].eq(value) for name, value in chosen.items()]
        width = FLOAT32.width
        for index in range(8 * LANE_BYTES // width):
            element = Element(self._config)
            m.submodules[f"element_{index}"] = element
            m.d.comb += [
                element.a.eq(self.a.word_select(index, width)),
                element.b.eq(self.b.word_select(index, width)),
                element.selection.eq(selection),
                self.o.word_select(index, width).eq(element.o),
            ]
        return m


class Element(wiring.Component):
    """One element of 32 bits: ``o`` is what ``selection`` makes of ``a`` and ``b``.

    Latency: ``latency``. Throughput: 1. Ready path: none, it never stalls. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        width = FLOAT32.width
        super().__init__({"a": In(width), "b": In(width), "selection": In(selection_layout()), "o": Out(width)})
        self._adds_floats = _adds_floats(config)
        self._adds_integers = Operator.SUM in config.operators and any(each in INTEGERS for each in config.types)
        #: cycles from the operands to the result
        self.latency = lane_latency(config)

    def elaborate(self, platform):
        m = Module()
        steps = Steps(m, ADDER_REGISTERS[self.latency] if self._adds_floats else {"compare", "swap"})
        c = steps.end(
            "compare",
            **compare(m, FLOAT32, self.a, self.b),
            selection=self.selection,
            integer_sum=(self.a + self.b)[: FLOAT32.width],
        )
        selection = data.View(selection_layout(), c.selection)
        second = choose(selection, c.a[-1], c.b[-1], c.b_larger)
        nan = selection.floating & Mux(selection.extreme, c.nan, selection.float_sum & (c.nan | c.undefined))
        # of a floating-point sum the larger magnitude; it is also the NaN, where there is one
        second = Mux(selection.float_sum | nan, c.b_larger, selection.extreme & second)
        result = Mux(second, c.b, c.a)
        if self._adds_integers:
            result = Mux(selection.integer_sum, c.integer_sum, result)
        if self._adds_floats:
            exact = c.special | ~selection.float_sum
            s = steps.end("swap", **swap(FLOAT32, c, larger=result, exact=exact, nan=nan))
            m.d.comb += self.o.eq(finish(FLOAT32, steps, s))
        else:
            s = steps.end("swap", result=Mux(nan, C(FLOAT32.quiet_nan, FLOAT32.width), result))
            m.d.comb += self.o.eq(s.result)
        return m
