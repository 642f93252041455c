"""The operands of a lane made ready for the multipliers: every number is a plain binary one, in its own place."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...codes import DataType
from ...config import Config
from ..float.format import FORMATS, Format
from ..units import LANE_BITS, Unit, float_units
from .choice import choice_layout, choose, decode, integer_bits, multiplied
from .layouts import kinds_layout
from .parts import PART, PARTS, borrowed

__all__ = ["Operands"]


class Operands(wiring.Component):
    """``o_a`` and ``o_b`` are ``a`` and ``b`` with each floating-point number replaced by its significand, which ends
    at the number's lowest bit, with its hidden bit and zeros above; integers are as they were.

    ``cross_a`` and ``cross_b`` are the same for the multipliers off the diagonal, except that where these are borrowed
    for bytes the low halves of each 16 bits hold the odd bytes. ``unit_<start>`` are the kinds of the numbers that an
    adder of the lane serves, ``choice`` is the type.

    Latency: 1. Throughput: 1. Ready path: none, it never stalls. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        lane = {name: Out(LANE_BITS) for name in ("o_a", "o_b", "cross_a", "cross_b")}
        units = {f"unit_{unit.start}": Out(kinds_layout(unit.form)) for unit in float_units(config)}
        inputs = {"a": In(LANE_BITS), "b": In(LANE_BITS), "type": In(DataType)}
        super().__init__(inputs | lane | units | {"choice": Out(choice_layout(config))})
        self._config = config

    def elaborate(self, platform):
        m = Module()
        choice = Signal.like(self.choice, name="chosen")
        m.d.comb += [choice[name].eq(value) for name, value in decode(self._config, self.type).items()]
        m.d.sync += self.choice.eq(choice)
        significands = {}
        for name in ("a", "b"):
            significands[name] = self._significands(m, choice, getattr(self, name), name)
            m.d.sync += getattr(self, f"o_{name}").eq(significands[name])
        # the odd byte of part i is multiplied by the part i of ``cross_a`` and the part i ^ 1 of ``cross_b``
        m.d.sync += [
            self.cross_a.eq(self._with_odd_bytes(choice, significands["a"], self.a, 0)),
            self.cross_b.eq(self._with_odd_bytes(choice, significands["b"], self.b, 1)),
        ]
        for unit in float_units(self._config):
            kinds = getattr(self, f"unit_{unit.start}")
            a, b = (self._kind(unit, choice, bits) for bits in (self.a, self.b))
            m.d.sync += kinds.sign.eq(a.pop("sign") ^ b.pop("sign"))
            m.d.sync += [kinds.a[name].eq(value) for name, value in a.items()]
            m.d.sync += [kinds.b[name].eq(value) for name, value in b.items()]
        return m

    def _significands(self, m, choice, bits, name) -> Value:
        """Bit by bit: as it is for the types that have a fraction or an integer there, a hidden bit, or 0."""
        floats = [each for each in multiplied(self._config) if each.floating]
        wholes = {f"integer{width}" for width in integer_bits(self._config)}
        plain: dict[frozenset, Value] = {}
        result = []
        for at in range(LANE_BITS):
            kept, hidden = set(wholes), C(0, 1)
            for each in floats:
                form, place = FORMATS[each], at % (8 * each.element_bytes)
                selected = choice[each.name.lower()]
                if place < form.fraction:
                    kept.add(each.name.lower())
                elif place == form.fraction:
                    number = _number(form, bits, at - place)
                    hidden = hidden | (selected & number.exponent.any())
            keeps = frozenset(kept)
            if keeps not in plain:
                plain[keeps] = Signal(name=f"{name}_plain_{len(plain)}")
                everything = len(keeps) == len(choice_layout(self._config).members)
                m.d.comb += plain[keeps].eq(everything | Cat(choice[each] for each in sorted(keeps)).any())
            result.append((bits[at] & plain[keeps]) | hidden)
        return Cat(result)

    def _with_odd_bytes(self, choice, significands, bits, flip) -> Value:
        """The operand beside the diagonal: the low byte of part ``i`` is the odd byte of part ``i ^ flip``, if bytes
        are chosen."""
        parts = []
        for index in range(PARTS):
            part = significands.word_select(index, PART)
            if index ^ flip in borrowed(self._config):
                byte = bits.word_select(2 * (index ^ flip) + 1, 8)
                part = Cat(Mux(choice.integer8, byte, part[:8]), part[8:])
            parts.append(part)
        return Cat(parts)

    def _kind(self, unit: Unit, choice, bits: Value) -> dict[str, Value]:
        """One operand's fields of the kinds of ``unit``, and its sign."""
        numbers = {each: _number(FORMATS[each], bits, unit.start) for each in unit.types}
        return {
            "exponent": choose(choice, {each: number.exponent for each, number in numbers.items()}),
            "subnormal": choose(choice, {each: ~number.exponent.any() for each, number in numbers.items()}),
            "special": choose(choice, {each: number.exponent.all() for each, number in numbers.items()}),
            "filled": choose(choice, {each: number.fraction.any() for each, number in numbers.items()}),
            "sign": choose(choice, {each: number.sign for each, number in numbers.items()}),
        }


def _number(form: Format, bits: Value, start: int) -> data.View:
    return data.View(form.layout(), bits[start : start + form.width])
