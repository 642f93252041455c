"""The floating-point adder: its sums are exact and rounded once, for all operands of a format.

That proof has a case for each exponent and sign, of the larger operand first and positive. It is whole with three
others: the order of operands does not matter, nor do their signs but for zeros, and what cancels is +0.
"""

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from exact_sums import ExactSum, Number
from prover import Proof

from fanfold.fold.float.adder import Adder
from fanfold.fold.float.format import Format
from fanfold.fold.float.steps import ADDER_REGISTERS

FLOAT16 = Format(exponent=5, fraction=10)
#: as small as the adder goes: groups of leading zeros, coarse shifts and subnormals are all there
SMALL = Format(exponent=4, fraction=4)
STAGES = 8


class Adders(wiring.Component):
    """Two adders side by side, of as many ``stages`` each as is said; the second may have its operands ``swapped`` or
    ``negated``."""

    def __init__(
        self,
        form: Format,
        stages: tuple[int, int] = (STAGES, STAGES),
        *,
        swapped: bool = False,
        negated: bool = False,
        adder: type = Adder,
    ):
        self._adders = [adder(form, each) for each in stages]
        self._swapped = swapped
        self._flip = negated << (form.width - 1)
        super().__init__({"a": In(form.width), "b": In(form.width), "o": Out(form.width).array(2)})
        self.latency = tuple(each.latency for each in self._adders)

    def elaborate(self, platform):
        m = Module()
        m.submodules.first, m.submodules.second = first, second = self._adders
        left, right = (self.b, self.a) if self._swapped else (self.a, self.b)
        m.d.comb += [first.a.eq(self.a), first.b.eq(self.b), second.a.eq(left ^ self._flip)]
        m.d.comb += second.b.eq(right ^ self._flip)
        m.d.comb += [output.eq(each.o) for output, each in zip(self.o, self._adders, strict=True)]
        return m


def operands(proof: Proof, form: Format) -> tuple[Number, Number, Number]:
    """Those that came in a latency ago, and the sum that stands now."""
    dut = proof.dut
    a, b = (proof.earlier(getattr(dut, name), dut.latency, name) for name in "ab")
    return tuple(
        Number(proof.m, form.exponent, form.fraction, bits, name) for bits, name in ((a, "a"), (b, "b"), (dut.o, "o"))
    )


def special_values_hold(proof: Proof, form: Format):
    a, b, o = operands(proof, form)
    opposite = a.negative != b.negative
    proof.require(~(a.nan | b.nan) | (o.bits == form.quiet_nan), "a NaN makes the canonical NaN")
    undefined = a.infinite & b.infinite & opposite
    proof.require(~undefined | (o.bits == form.quiet_nan), "opposite infinities make the canonical NaN")
    proof.require(~o.nan | a.nan | b.nan | undefined, "nothing else makes a NaN")
    proof.require(~(a.infinite & ~b.nan & ~undefined) | (o.bits == a.bits), "an infinity stays")
    proof.require(~(b.infinite & ~a.nan & ~undefined) | (o.bits == b.bits), "an infinity stays, in second place")
    proof.require(~(a.zero & b.finite & ~b.zero) | (o.bits == b.bits), "zero adds nothing")
    proof.require(~(b.zero & a.finite & ~a.zero) | (o.bits == a.bits), "zero adds nothing, in second place")
    proof.require(~(a.zero & b.zero) | (o.bits == (a.bits & b.bits)), "zeros are -0 only where both are")
    cancels = a.finite & ~a.zero & (a.bits[:-1] == b.bits[:-1]) & opposite
    proof.require(~cancels | (o.bits == 0), "what cancels is +0")
    proof.cover(undefined, "opposite infinities")
    proof.cover(cancels & ~a.bits[form.fraction : -1].any(), "subnormals cancel")
    proof.cover(a.finite & b.finite & o.infinite, "an overflow")


def signs_hold(proof: Proof, form: Format):
    a, b, o = operands(proof, form)
    exact = Signal(signed(len(a.multiple) + 1))
    proof.m.d.comb += exact.eq(a.multiple + b.multiple)
    some = a.finite & b.finite & (exact != 0)
    proof.require(~some | ((o.negative == (exact < 0)) & ~o.zero & ~o.nan), "the sign is that of the exact sum")
    proof.cover(some & (a.negative != b.negative) & (o.negative == a.negative), "the first decides")
    proof.cover(some & (a.negative != b.negative) & (o.negative == b.negative), "the second decides")


def order_does_not_matter(proof: Proof, form: Format):
    first, second = proof.dut.o
    proof.require(first == second, "both orders give the same bits")
    a, b = (proof.earlier(getattr(proof.dut, name), STAGES, name) for name in "ab")
    proof.cover((a != b) & (first != a) & (first != b), "something is added")


def signs_do_not_matter(proof: Proof, form: Format):
    first, second = proof.dut.o
    a, b = (proof.earlier(getattr(proof.dut, name), STAGES, name) for name in "ab")
    nan = first[:-1] == form.quiet_nan
    cancels = (a[:-1] == b[:-1]) & (a[-1] != b[-1])
    opposite = second == (first ^ 1 << (form.width - 1))
    proof.require(nan | cancels | opposite, "opposite operands give the opposite sum")
    proof.require(~nan | (second == first), "but for NaN")
    proof.cover(~nan & ~cancels & (a[-1] != b[-1]) & first[-1], "a negative difference")


def first_positive_and_larger(proof: Proof, form: Format, a: Number, b: Number) -> Value:
    """Whether the operands are those of the case: the exponent of the larger one and the sign of the other."""
    case = proof.case(form.exponent + 1)
    exponent, sign = case[:-1], case[-1]
    larger = ~a.negative & (a.bits[:-1] >= b.bits[:-1])
    return larger & (a.bits[form.fraction : -1] == exponent) & (b.negative == sign)


def sums_are_exact(proof: Proof, form: Format):
    adds_exactly(proof, form, *operands(proof, form))


def adds_exactly(proof: Proof, form: Format, a: Number, b: Number, o: Number, asked: Value | int = 1):
    """Where ``asked`` for a sum."""
    proof.m.submodules.exact = exact = ExactSum(form.exponent, form.fraction)
    proof.m.d.comb += [exact.a.eq(a.bits), exact.b.eq(b.bits)]
    asked &= first_positive_and_larger(proof, form, a, b)
    proof.require(~asked | (o.bits == exact.o), "the sum is the exact one, rounded once")
    total = a.multiple + b.multiple
    for what, here in (("a sum", ~b.negative), ("a difference", b.negative)):
        proof.cover(asked & here & o.finite & (o.multiple > total), f"{what} rounded up")
        proof.cover(asked & here & o.finite & (o.multiple < total), f"{what} rounded down")
        proof.cover(asked & here & o.finite & (o.multiple == total) & ~b.zero, f"{what} not rounded")


def near_differences_are_exact(proof: Proof, form: Format):
    """Sterbenz's lemma: numbers within a factor of two of each other have an exact difference."""
    a, b, o = operands(proof, form)
    near = first_positive_and_larger(proof, form, a, b) & a.finite & b.negative & (a.magnitude <= 2 * b.magnitude)
    proof.require(~near | (o.finite & (o.multiple == a.multiple + b.multiple)), "the difference is exact")
    proof.cover(near & (o.magnitude == 1) & (a.magnitude != b.magnitude), "all but the last bit cancels")
    proof.cover(near & (a.magnitude == 2 * b.magnitude) & ~b.zero, "one is twice the other")


@pytest.mark.parametrize("holds", [special_values_hold, signs_hold], ids=lambda each: each.__name__)
def test_adder(tmp_path, holds):
    holds(proof := Proof(Adder(FLOAT16, STAGES)), FLOAT16)
    proof.check_pipeline(tmp_path, latency=STAGES)


def test_order(tmp_path):
    order_does_not_matter(proof := Proof(Adders(FLOAT16, swapped=True)), FLOAT16)
    proof.check_pipeline(tmp_path, latency=STAGES)


def test_signs(tmp_path):
    signs_do_not_matter(proof := Proof(Adders(FLOAT16, negated=True)), FLOAT16)
    proof.check_pipeline(tmp_path, latency=STAGES)


@pytest.mark.parametrize(
    "stages",
    [
        each if each == min(ADDER_REGISTERS) else pytest.param(each, marks=pytest.mark.long)
        for each in ADDER_REGISTERS
        if each != STAGES
    ],
)
def test_registers_change_nothing(tmp_path, stages):
    """All numbers of stages give the same bits: what is proven of one is proven of all."""
    proof = Proof(dut := Adders(FLOAT16, (STAGES, stages)))
    longest = max(dut.latency)
    first, second = (
        proof.earlier(output, longest - latency, f"o_{index}")
        for index, (output, latency) in enumerate(zip(dut.o, dut.latency, strict=True))
    )
    proof.require(first == second, "both give the same bits")
    proof.check_pipeline(tmp_path, latency=longest)


@pytest.mark.parametrize(
    "holds, form",
    [
        pytest.param(near_differences_are_exact, SMALL, id="near-small", marks=pytest.mark.long),
        pytest.param(sums_are_exact, SMALL, id="sums-small", marks=pytest.mark.long),
        pytest.param(near_differences_are_exact, FLOAT16, id="near-float16", marks=pytest.mark.long),
        pytest.param(sums_are_exact, FLOAT16, id="sums-float16", marks=pytest.mark.long),
    ],
)
def test_rounding(tmp_path, holds, form):
    holds(proof := Proof(Adder(form, STAGES)), form)
    proof.check_pipeline(tmp_path, latency=STAGES)
