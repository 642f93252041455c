"""A lane: eight bytes of a beat, combined element by element with what the sibling subtree stored."""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..codes import DataType, Operator
from ..config import Config
from . import exact
from .exact import LANE_BYTES
from .float.adder import finish
from .float.align import compare, multiplied, swap
from .float.classify import kind_layout
from .float.format import FORMATS
from .float.steps import ADDER_REGISTERS, Steps
from .float.unpack import pack, selected, top_exponent, unpack
from .product.layouts import product_layout
from .product.product import Product, product_latency
from .registers import delayed
from .selection import decode, selection_layout
from .units import Unit, float_units

__all__ = ["LANE_BYTES", "Lane", "lane_latency", "splits_pairs"]


def lane_latency(config: Config) -> int:
    """Cycles through a lane: those of the floating-point adders where there are any, behind those of the multipliers
    where it multiplies."""
    return _multiplying(config) + (config.adder_stages if float_units(config) else 2)


def _multiplying(config: Config) -> int:
    return product_latency(config) if Operator.PROD in config.operators else 0


def splits_pairs(config: Config) -> bool:
    """Whether there are pairs of 16 bytes, of which a lane has one half."""
    return DataType.FLOAT64_INT32 in config.types


class Lane(wiring.Component):
    """``o`` is ``a`` combined with ``b`` by ``operator`` for elements of ``type``; without ``combine`` it is ``a`` bit
    for bit.

    Results of all kinds travel through the floating-point adders: what is no floating-point sum is chosen beside their
    alignment, and rides along in a significand as a number that is exact already. A floating-point product is rounded
    there: it is the smaller operand of a sum with zero. Multipliers stand in front of all.

    Every operator gives the same bits for both orders of its operands, so it does not matter which of them is the
    subtree of the lower indices. An operator or a type that is not configured, or a pair that is not defined, gives no
    meaningful result.

    ``operator``, ``type`` and ``combine`` come one cycle before the operands that they are for.

    Where ``splits_pairs``, ``half`` comes with them and says which half of a 16-byte pair the operands are: the value
    (0) or, behind it, its index (1). ``decided`` is how values compare, ``decided_after`` cycles after they came in;
    ``before`` must be that of the value when its index is in the same place.

    Latency: ``latency``, the same for all operators and types. Throughput: 1. Ready path: none, it never stalls.
    Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        bits = 8 * LANE_BYTES
        ports = {
            "a": In(bits),
            "b": In(bits),
            "operator": In(Operator),
            "type": In(DataType),
            "combine": In(1),
            "o": Out(bits),
        }
        if splits_pairs(config):
            ports |= {"half": In(1), "before": In(2), "decided": Out(2)}
        super().__init__(ports)
        self._config = config
        #: cycles from the operands to the result
        self.latency = lane_latency(config)
        self._registered = ADDER_REGISTERS[config.adder_stages] if float_units(config) else {"compare", "swap"}
        #: cycles from the operands to ``decided``
        self.decided_after = _multiplying(config) + sum(step in self._registered for step in ("unpack", "compare"))

    def elaborate(self, platform):
        m = Module()
        config = self._config
        units = float_units(config)
        steps = Steps(m, self._registered)
        of_unit = {unit: Steps(m, self._registered, f"unit_{unit.start}_") for unit in units}

        # what is to be done, and the operands beside their products
        half = self.half if splits_pairs(config) else C(0, 1)
        selection = Signal(selection_layout(), reset_less=True)
        for name, value in decode(config, self.operator, self.type, self.combine, half).items():
            m.d.sync += Value.cast(selection[name]).eq(value)
        a, b, product = self.a, self.b, None
        if Operator.PROD in config.operators:
            m.submodules.product = product = Product(config)
            m.d.comb += [product.a.eq(a), product.b.eq(b)]
            m.d.sync += product.type.eq(self.type)
            a, b, selection = (
                delayed(m, value, product.latency, name)
                for name, value in (("operand_a", a), ("operand_b", b), ("selection", selection))
            )

        # the step unpack: the operands of each adder in its format
        u = steps.end("unpack", a=a, b=b, selection=selection, product=getattr(product, "integer", C(0, 0)))
        s = data.View(selection_layout(), u.selection)
        numbers = {
            unit: _unpacked(unit, of_unit[unit], selection, a, b, getattr(product, f"unit_{unit.start}", C(0, 0)))
            for unit in units
        }

        # the step compare
        kinds = tuple(exact.kinds_at(m, config, operand, f"kind_{name}") for operand, name in ((u.a, "a"), (u.b, "b")))
        c = steps.end("compare", **exact.compare(m, config, s, u.a, u.b, kinds), product=u.product)
        compared = {}
        for unit, number in numbers.items():
            kind_a, kind_b = (_kind(m, unit, number.which, at) for at in kinds)
            values = compare(unit.form, number.a, number.b, kind_a, kind_b)
            compared[unit] = of_unit[unit].end("compare", **values, which=number.which, product=number.product)

        # the step swap: where the bytes of what is exact come from; and align_coarse, in which they only wait
        before = self.before if splits_pairs(config) else C(0, 2)
        values, decided = exact.decide(m, config, c, before)
        if splits_pairs(config):
            m.d.comb += self.decided.eq(decided)
        found = steps.end("swap", **values)
        if not units:
            m.d.comb += self.o.eq(exact.choose(found))
            return m
        riders = Signal(8 * LANE_BYTES)
        m.d.comb += riders.eq(exact.choose(steps.end("align_coarse", **vars(found))))

        # all further steps
        done = {unit: _summed(unit, of_unit[unit], c, compared[unit], riders) for unit in units}
        m.d.comb += self.o.eq(Cat(_taken_out(unit, done) for unit in units if unit.rides))
        return m


def _unpacked(unit: Unit, steps: Steps, selection: Value, a: Value, b: Value, product: Value) -> SimpleNamespace:
    """The operands of an adder as it takes them, which of its types they have, and their product."""
    selection = data.View(selection_layout(), selection)
    formats = [FORMATS[each] for each in unit.types]
    which = Cat(selection.format[list(FORMATS).index(each)] for each in unit.types)
    a, b = (unpack(unit.form, formats, which, operand[unit.start :]) for operand in (a, b))
    return steps.end("unpack", a=a, b=b, which=which, product=product)


def _kind(m: Module, unit: Unit, which: Value, kinds: dict) -> data.View:
    """What kind of number an adder's operand is."""
    values = [kinds[unit.start, each].as_value() for each in unit.types]
    return data.View(kind_layout(), selected(which, values))


def _summed(unit: Unit, steps: Steps, c: SimpleNamespace, compared: SimpleNamespace, riders: Value) -> SimpleNamespace:
    """The result of an adder: the sum, or what rides through it."""
    formats = [FORMATS[each] for each in unit.types]
    s = data.View(selection_layout(), c.selection)
    larger = [exact.b_larger_at(c, (unit.start + each.width) // 8 - 1, each.width // 8) for each in formats]
    values = swap(unit.form, compared, b_larger=selected(compared.which, larger))
    if len(compared.product):
        product = data.View(product_layout(unit.form), compared.product)
        top = top_exponent(unit.form, formats, compared.which)
        values = multiplied(unit.form, values, product, top, multiplies=s.float_product)
    rounds = s.float_sum | s.float_product
    values["exact"] |= ~rounds
    for name in ("subtract", "nan"):
        values[name] &= rounds
    values |= {"which": compared.which, "rides": ~rounds}
    rider = C(0, unit.form.width)
    if unit.rides:
        carrier = formats.index(_carrier(unit))
        values["which"] = Mux(rounds, compared.which, C(1 << carrier, len(formats)))
        rider = unpack(unit.form, [formats[carrier]], C(1, 1), riders[unit.start : unit.start + unit.rides])
    return finish(unit.form, formats, steps, steps.end("swap", **values), rider)


def _carrier(unit: Unit):
    """The format as which bits ride through an adder: the longest, below which nothing is rounded."""
    return max((FORMATS[each] for each in unit.types), key=lambda form: (form.fraction, form.width))


def _taken_out(unit: Unit, done: dict[Unit, SimpleNamespace]) -> Value:
    """The bits that ride through ``unit``, or the sums of all adders within them."""
    choices = []
    for each in unit.types:
        form = FORMATS[each]
        within = [
            other for other in done if each in other.types and unit.start <= other.start < unit.start + unit.rides
        ]
        choices.append(Cat(pack(other.form, form, done[other].bits) for other in within))
    return selected(done[unit].which, choices)
