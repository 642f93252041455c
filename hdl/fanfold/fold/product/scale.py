"""A product of significands brought to its place, with its exponent, for the rounder of one adder.

A subnormal operand has leading zeros, and so has the product. They are counted while the multipliers work, and the
product moves up by them. One operand's are enough: the product of two subnormals is below half of the smallest number
wherever it lies. So no operand is normalised before it is multiplied, and the multipliers wait for nothing.
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...config import Config
from ..float.format import FORMATS
from ..registers import delayed
from ..units import LANE_BITS, Unit
from .choice import choice_layout, choose
from .layouts import COUNT_GROUP, kinds_layout, product_layout

__all__ = ["Scale"]

#: bits that say where in a group a leading one is
_FINE = COUNT_GROUP.bit_length() - 1


class Scale(wiring.Component):
    """``o`` is the product that ``kinds``, ``choice`` and the significands ``a`` and ``b`` (from the unit's lowest bit
    up) make; the product of the significands follows at the member of its type ``wait`` cycles later.

    Latency: ``wait`` + 2. Throughput: 1. Ready path: none, it never stalls. Order: kept. On error: none.
    """

    def __init__(self, config: Config, unit: Unit, wait: int):
        if wait < 2:
            raise ValueError(f"wait is {wait}: the leading zeros take 2 cycles to count")
        products = {each.name.lower(): In(2 * FORMATS[each].significand) for each in unit.types}
        super().__init__(
            {
                "choice": In(choice_layout(config)),
                "kinds": In(kinds_layout(unit.form)),
                "a": In(LANE_BITS - unit.start),
                "b": In(LANE_BITS - unit.start),
                "o": Out(product_layout(unit.form)),
            }
            | products
        )
        self._unit = unit
        self._wait = wait
        #: cycles from the operands to the product
        self.latency = wait + 2

    def elaborate(self, platform):
        m = Module()
        form, width = self._unit.form, self._unit.form.significand
        s = self._select(m)
        s = self._count(m, s)
        s = SimpleNamespace(
            **{name: delayed(m, value, self._wait - 2, f"count_{name}") for name, value in vars(s).items()}
        )

        # the coarse move: what the fine one can still bring up stays
        top = Signal(2 * width, name="top")
        m.d.comb += top.eq(choose(s.choice, {each: self._at_top(each) for each in self._unit.types}))
        moved = Signal(max(2 * width, width + 3 + COUNT_GROUP - 1), name="moved")
        m.d.comb += moved.eq(Cat(C(0, len(moved) - 2 * width), top) << (s.coarse << _FINE))
        rest = len(moved) - (width + 3 + COUNT_GROUP - 1)
        zeros = Cat(s.fine, s.coarse)
        moving = _registers(
            m,
            "coarse",
            window=moved[rest:],
            sticky=moved[:rest].any(),
            ahead=(s.ahead - zeros)[: form.exponent + 2],
            fine=s.fine,
            choice=s.choice,
            sign=s.sign,
            zero=s.zero,
            infinite=s.infinite,
            nan=s.nan,
        )
        self._finish(m, moving)
        return m

    def _select(self, m) -> SimpleNamespace:
        """Which significand may have leading zeros, and what the operands are together."""
        form, kinds = self._unit.form, self.kinds
        loose = Mux(kinds.a.subnormal, self.a, self.b)
        counted = [Cat(side.exponent[0] | side.subnormal, side.exponent[1:]) for side in (kinds.a, kinds.b)]
        zero = [side.subnormal & ~side.filled for side in (kinds.a, kinds.b)]
        nan = [side.special & side.filled for side in (kinds.a, kinds.b)]
        special = kinds.a.special | kinds.b.special
        undefined = nan[0] | nan[1] | (special & (zero[0] | zero[1]))
        tops = {
            each: Cat(C(0, form.fraction - FORMATS[each].fraction), loose[: FORMATS[each].significand])
            for each in self._unit.types
        }
        return _registers(
            m,
            "select",
            loose=choose(self.choice, tops),
            exponent=counted[0] + counted[1],
            choice=self.choice,
            sign=kinds.sign,
            zero=zero[0] | zero[1],
            infinite=special,
            nan=undefined,
        )

    def _count(self, m, s) -> SimpleNamespace:
        """Leading zeros, as whole groups and within the first group that has a one; and how far the exponent is ahead
        of 1, the smallest there is."""
        width = len(s.loose)
        groups = [s.loose[max(end - COUNT_GROUP, 0) : end] for end in range(width, 0, -COUNT_GROUP)]
        groups[-1] = Cat(C(0, COUNT_GROUP - len(groups[-1])), groups[-1])
        found = Signal(len(groups), name="found")
        m.d.comb += found.eq(Cat(group.any() & ~Cat(groups[:at]).any() for at, group in enumerate(groups)))
        bits = (len(groups) - 1).bit_length()
        fine = [Mux(found[at], _leading_zeros(group), 0) for at, group in enumerate(groups)]
        coarse = [Mux(found[at], C(at, bits), 0) for at in range(len(groups))]
        form = self._unit.form
        bias = choose(
            s.choice, {each: C((FORMATS[each].top_exponent >> 1) + 1, form.exponent) for each in self._unit.types}
        )
        carried = {name: getattr(s, name) for name in ("choice", "sign", "zero", "infinite", "nan")}
        return _registers(
            m, "count", coarse=reduce(or_, coarse), fine=reduce(or_, fine), ahead=s.exponent - bias, **carried
        )

    def _at_top(self, each) -> Value:
        """A product of narrow significands, moved up to where the widest ones' product is."""
        narrow, width = FORMATS[each].significand, self._unit.form.significand
        return Cat(C(0, 2 * (width - narrow)), getattr(self, each.name.lower()))

    def _finish(self, m, s):
        """The fine move, and what the exponent says."""
        form = self._unit.form
        lost = Cat(s.window[at] & (s.fine < COUNT_GROUP - 1 - at) for at in range(COUNT_GROUP - 1)).any()
        # one carry chain: how far the exponent is above 0, or below 1
        below = s.ahead[-1]
        size = ((s.ahead[: form.exponent] ^ below.replicate(form.exponent)) + 1)[: form.exponent]
        beyond = {}
        for each in self._unit.types:
            own = FORMATS[each].exponent
            beyond[each] = s.ahead[own:-1].any() | s.ahead[1:own].all()
        m.d.sync += [
            self.o.sign.eq(s.sign),
            self.o.exponent.eq(Mux(below | s.zero, 1, size)),
            self.o.magnitude.eq((s.window << s.fine)[COUNT_GROUP - 1 : len(s.window)]),
            self.o.sticky.eq(s.sticky | lost),
            self.o.distance.eq(Mux(below, size, 0)),
            self.o.infinite.eq(s.infinite | (~below & choose(s.choice, beyond))),
            self.o.nan.eq(s.nan),
        ]


def _registers(m: Module, step: str, **values) -> SimpleNamespace:
    """The ``values`` a cycle later."""
    return SimpleNamespace(
        **{
            name: delayed(m, value if isinstance(value, data.View) else Value.cast(value), 1, f"{step}_{name}")
            for name, value in values.items()
        }
    )


def _leading_zeros(group: Value) -> Value:
    """Zeros above the leading one of a group's eight bits, which has one."""
    high, low = group[4:], group[:4]
    nibble = Mux(high.any(), high, low)
    pair = Mux(nibble[2:].any(), nibble[2:], nibble[:2])
    return Cat(~pair[1], ~nibble[2:].any(), ~high.any())
