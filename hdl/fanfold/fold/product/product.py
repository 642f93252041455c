"""The products of a lane, of all built types, in one number of cycles."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...codes import DataType
from ...config import Config
from ..float.format import FORMATS
from ..registers import delayed
from ..units import LANE_BITS, float_units
from .choice import integer_bits
from .layouts import product_layout
from .multiplier import Multiplier, multiplier_latency
from .operands import Operands
from .parts import PART
from .scale import Scale

__all__ = ["Product", "product_latency"]

#: cycles in which the operands are made ready
_READY = 1


def product_latency(config: Config) -> int:
    """Cycles from the operands of a lane to their products."""
    return _READY + multiplier_latency(config) + _after(config)


def _after(config: Config) -> int:
    """Cycles behind the multipliers: floating-point products move, or one of several widths of integers is chosen."""
    if float_units(config):
        return 2
    return int(len({max(bits, PART) for bits in integer_bits(config)}) > 1)


class Product(wiring.Component):
    """The products of the elements of ``a`` and ``b``: ``integer`` in the lane's layout (low halves, it wraps), and for
    each adder of the lane ``unit_<start>``, exact but for a sticky bit, not yet rounded.

    Only what the built types need is there: ``integer`` with integers, units with floating-point numbers. What belongs
    to another type than ``type`` has no meaning.

    With floating-point numbers the cycles are: hidden bits, multiply, add, move by groups, move within a group; 64-bit
    elements add once more. A multiplier has registers before and behind it, which an FPGA's multipliers may take in as
    their own; between registers that are not theirs, it alone limits the clock.

    Latency: ``latency``, the same for all types. Throughput: 1. Ready path: none, it never stalls. Order: kept. On
    error: none.
    """

    def __init__(self, config: Config):
        units = {f"unit_{unit.start}": Out(product_layout(unit.form)) for unit in float_units(config)}
        whole = {"integer": Out(LANE_BITS)} if integer_bits(config) else {}
        super().__init__({"a": In(LANE_BITS), "b": In(LANE_BITS), "type": In(DataType)} | whole | units)
        self._config = config
        self._units = float_units(config)
        #: cycles from the operands to the products
        self.latency = product_latency(config)

    def elaborate(self, platform):
        m = Module()
        m.submodules.operands = operands = Operands(self._config)
        m.submodules.multiplier = multiplier = Multiplier(self._config)
        m.d.comb += [operands.a.eq(self.a), operands.b.eq(self.b), operands.type.eq(self.type)]
        m.d.comb += [
            multiplier.a.eq(operands.o_a),
            multiplier.b.eq(operands.o_b),
            multiplier.cross_a.eq(operands.cross_a),
            multiplier.cross_b.eq(operands.cross_b),
            multiplier.choice.eq(operands.choice),
        ]
        for unit in self._units:
            scale = Scale(self._config, unit, multiplier.latency)
            m.submodules[f"scale_{unit.start}"] = scale
            m.d.comb += [
                scale.choice.eq(operands.choice),
                scale.kinds.eq(getattr(operands, f"unit_{unit.start}")),
                scale.a.eq(operands.o_a[unit.start :]),
                scale.b.eq(operands.o_b[unit.start :]),
                getattr(self, f"unit_{unit.start}").eq(scale.o),
            ]
            for each in unit.types:
                whole = _element(multiplier, 8 * each.element_bytes, unit.start)
                m.d.comb += getattr(scale, each.name.lower()).eq(whole[: 2 * FORMATS[each].significand])
        if integer_bits(self._config):
            m.d.comb += self.integer.eq(self._integers(m, operands.choice, multiplier))
        return m

    def _integers(self, m, choice, multiplier) -> Value:
        """Bytes are in the products of 16-bit elements."""
        widths = sorted({max(bits, PART) for bits in integer_bits(self._config)})
        choice = delayed(m, choice, multiplier.latency, "choice")
        lanes = [Cat(_element(multiplier, bits, at)[:bits] for at in range(0, LANE_BITS, bits)) for bits in widths]
        chosen = lanes[0]
        for bits, lane in zip(widths[1:], lanes[1:], strict=True):
            chosen = Mux(choice[f"integer{bits}"], lane, chosen)
        return delayed(m, chosen, _after(self._config), "integer")


def _element(multiplier: Multiplier, bits: int, start: int) -> Value:
    """The product of the elements of so many bits that begin at bit ``start``."""
    if bits == 64:
        return multiplier.double
    return multiplier.words[start // 32] if bits == 32 else multiplier.halves[start // PART]
