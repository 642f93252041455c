"""A lane: eight bytes of a beat, combined element by element with what the sibling subtree stored."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..codes import DataType, Operator
from ..config import Config
from .element import ELEMENT_BITS, Element, element_latency
from .integer import decode, selection_layout

__all__ = ["LANE_BYTES", "Lane"]

LANE_BYTES = 8


class Lane(wiring.Component):
    """``o`` is ``a`` combined with ``b`` by ``operator`` for elements of ``type``; without ``combine`` it is ``a`` bit
    for bit.

    Every operator gives the same bits for both orders of its operands, so it does not matter which of them is the
    subtree of the lower indices. An operator or a type that is not configured gives no meaningful result.

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
        self.latency = element_latency(config)

    def elaborate(self, platform):
        m = Module()
        operators, types = self._config.operators, self._config.types
        selection = Signal(selection_layout())
        chosen = decode(operators, types, self.operator, self.type, self.combine)
        m.d.comb += [selection[name].eq(value) for name, value in chosen.items()]
        for index in range(8 * LANE_BYTES // ELEMENT_BITS):
            element = Element(self._config)
            m.submodules[f"element_{index}"] = element
            m.d.comb += [
                element.a.eq(self.a.word_select(index, ELEMENT_BITS)),
                element.b.eq(self.b.word_select(index, ELEMENT_BITS)),
                element.selection.eq(selection),
                self.o.word_select(index, ELEMENT_BITS).eq(element.o),
            ]
        return m
