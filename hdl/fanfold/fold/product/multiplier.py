"""The multipliers of a lane: 16 by 16 bits each, shared by the elements of all types.

Each part of an operand stays where it is for all types, so nothing is selected before a multiplier.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...codes import DataType
from ...config import Config
from ..float.format import FORMATS
from ..registers import delayed
from ..units import LANE_BITS
from .choice import choice_layout, integer_bits, multiplied
from .parts import PART, PARTS, borrowed, needed

__all__ = ["Multiplier", "multiplier_latency"]

#: bits of the product of two significands of float64
_DOUBLE = 2 * FORMATS[DataType.FLOAT64].significand


def multiplier_latency(config: Config) -> int:
    """Cycles from the operands to the products: 64-bit elements take one more."""
    return 3 if any(each.element_bytes == 8 for each in multiplied(config)) else 2


class Multiplier(wiring.Component):
    """Products of the parts of ``a`` and ``b`` (on the diagonal) or ``cross_a`` and ``cross_b`` (off it), summed up to
    those of the elements: ``halves`` of 16-bit elements, ``words`` of 32-bit ones, ``double`` of the 64-bit one, of
    unsigned numbers, as far as they are needed. The ``choice`` of bytes puts their products in the ``halves``.

    Latency: ``latency``. Throughput: 1. Ready path: none, it never stalls. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {name: In(LANE_BITS) for name in ("a", "b", "cross_a", "cross_b")}
            | {
                "choice": In(choice_layout(config)),
                "halves": Out(data.ArrayLayout(2 * PART, PARTS)),
                "words": Out(data.ArrayLayout(4 * PART, PARTS // 2)),
                "double": Out(_DOUBLE),
            }
        )
        self._config = config
        self._bits = {8 * each.element_bytes for each in multiplied(config)}
        #: cycles from the operands to the products
        self.latency = multiplier_latency(config)

    def elaborate(self, platform):
        m = Module()
        products = {pair: self._multiply(m, *pair) for pair in sorted(needed(self._config))}
        late = self.latency - 2
        choice = delayed(m, self.choice, 1, "choice")
        for index in range(PARTS):
            if (index, index) in products:
                half = Signal(2 * PART, name=f"half_{index}", reset_less=True)
                m.d.sync += half.eq(self._half(m, choice, products, index))
                m.d.comb += self.halves[index].eq(delayed(m, half, late, f"half_{index}"))
        if self._bits & {32, 64}:
            low, high = (self._sum(m, products, first, first) for first in (0, 2))
            m.d.comb += [
                self.words[0].eq(delayed(m, low, late, "low")),
                self.words[1].eq(delayed(m, high, late, "high")),
            ]
        if 64 in self._bits:
            # two words of each operand: what begins at bit 32 is the sum of both cross products
            crossed = self._sum(m, products, 0, 2), self._sum(m, products, 2, 0)
            upper = Signal(_DOUBLE - 32, name="upper", reset_less=True)
            m.d.sync += upper.eq(Cat(low[32:], high) + crossed[0] + crossed[1])
            m.d.comb += self.double.eq(Cat(delayed(m, low[:32], 1, "lowest"), upper))
        return m

    def _multiply(self, m, i, j) -> Value:
        a, b = (self.a, self.b) if i == j else (self.cross_a, self.cross_b)
        return _product(m, a.word_select(i, PART), b.word_select(j, PART), f"product_{i}_{j}")

    def _half(self, m, choice, products, index) -> Value:
        """An element of 16 bits, or two bytes: the lower one's product is in the lowest bits of the whole anyway."""
        whole = products[index, index]
        if 8 not in integer_bits(self._config):
            return whole
        if index in borrowed(self._config):
            odd = products[index, index ^ 1]
        else:
            high = slice(PART * index + 8, PART * index + 16)
            odd = _product(m, self.a[high], self.b[high], f"odd_{index}")
        return Cat(whole[:8], Mux(choice.integer8, odd[:8], whole[8:16]), whole[16:])

    def _sum(self, m, products, i, j) -> Value:
        """The product of two words: those that begin with part ``i`` of one operand, part ``j`` of the other."""
        nothing = C(0, 2 * PART)
        outer = Cat(products.get((i, j), nothing), products.get((i + 1, j + 1), nothing))
        inner = products.get((i, j + 1), nothing) + products.get((i + 1, j), nothing)
        word = Signal(4 * PART, name=f"word_{i}_{j}", reset_less=True)
        m.d.sync += word.eq(outer + Cat(C(0, PART), inner))
        return word


def _product(m: Module, a: Value, b: Value, name: str) -> Value:
    product = Signal(len(a) + len(b), name=name, reset_less=True)
    m.d.sync += product.eq(a * b)
    return product
