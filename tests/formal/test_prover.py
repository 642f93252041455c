"""The prover tells apart what fails, what it cannot prove, and what was proven of nothing."""

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from prover import Proof, Refuted, Unproven


class Counter(wiring.Component):
    """Counts to 9 and begins again; from above 9 it would count to 15 first."""

    enable: In(1)
    count: Out(4)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.count.eq(Mux(self.count == 9, 0, self.count + 1))
        return m


@pytest.fixture
def proof():
    return Proof(Counter())


def test_what_holds_is_proven(proof, tmp_path):
    proof.require(proof.dut.count <= 9, "never above 9")
    proof.cover(proof.dut.count == 9, "it counts to 9")
    proof.check(tmp_path, depth=2, induction=1, cover=11)


def test_what_fails_is_refuted_by_name_and_with_a_waveform(proof, tmp_path):
    proof.require(proof.dut.count != 7, "never at 7")
    proof.require(proof.dut.count != 12, "never at 12")
    with pytest.raises(Refuted, match=r"^never at 7;"):
        proof.check(tmp_path, depth=10)
    assert (tmp_path / "failure.vcd").is_file()


def test_what_is_true_but_not_inductive_is_unproven(proof, tmp_path):
    proof.require(proof.dut.count != 13, "never at 13")
    with pytest.raises(Unproven, match="not inductive: never at 13"):
        proof.check(tmp_path, depth=12, induction=2)


def test_a_lemma_makes_it_inductive(proof, tmp_path):
    proof.require(proof.dut.count != 13, "never at 13")
    proof.lemma(proof.dut.count <= 9, "never above 9")
    proof.check(tmp_path, depth=2, induction=1)


def test_assumptions_that_exclude_everything_do_not_pass(proof, tmp_path):
    proof.assume(proof.dut.count == 3, "it begins where it cannot")
    proof.require(proof.dut.count != 0, "nonsense")
    proof.cover(proof.dut.enable, "anything")
    with pytest.raises(Unproven, match="covers not reached are"):
        proof.check(tmp_path, depth=4)


def test_an_assumption_of_the_last_cycle_counts(proof, tmp_path):
    proof.assume(~proof.dut.enable, "it stands still")
    proof.require(proof.dut.count == 0, "still at 0")
    proof.check(tmp_path, depth=4, induction=1)


def test_constants_stay_and_free_values_do_not(proof, tmp_path):
    fixed, loose = proof.constant(2, "fixed"), proof.free(2, "loose")
    fixed_before, loose_before, begun = Signal(2), Signal(2), Signal()
    proof.m.d.sync += [fixed_before.eq(fixed), loose_before.eq(loose), begun.eq(1)]
    proof.require(~begun | (fixed == fixed_before), "the constant stays")
    proof.cover(begun & (loose != loose_before), "the free value changes")
    proof.cover(fixed == 3, "the constant may be 3")
    proof.check(tmp_path, depth=4, induction=1)


def test_rows_of_memories_can_be_seen(tmp_path):
    class Stored(wiring.Component):
        address: In(2)
        enable: In(1)

        def elaborate(self, platform):
            m = Module()
            m.submodules.rows = rows = Memory(shape=4, depth=4, init=[])
            port = rows.write_port()
            m.d.comb += [port.addr.eq(self.address), port.data.eq(5), port.en.eq(self.enable)]
            return m

    proof = Proof(Stored())
    row = proof.row("rows", proof.constant(2, "where"), "row")
    proof.require((row == 0) | (row == 5), "a row is as it began or as it was written")
    proof.cover(row == 5, "a row is written")
    proof.check(tmp_path, depth=4, induction=1)


def test_what_is_not_there_is_named(proof, tmp_path):
    proof.require(1, "always")
    with pytest.raises(KeyError, match="no signal nothing"):
        proof.inside("nothing")
    with pytest.raises(ValueError, match="depth is 1"):
        proof.check(tmp_path, depth=1, induction=2)
    proof.check(tmp_path, depth=1)


class Doubled(wiring.Component):
    """Twice what came in two cycles ago."""

    i: In(4)
    o: Out(5)

    def elaborate(self, platform):
        m = Module()
        early, late = Signal(4, reset_less=True), Signal(5)
        m.d.sync += [early.eq(self.i), late.eq(early << 1)]
        m.d.comb += self.o.eq(late)
        return m


def test_a_pipeline_is_proven_whatever_it_held_before(tmp_path):
    proof = Proof(dut := Doubled())
    operand = proof.earlier(dut.i, 2, "operand")
    proof.require(dut.o == 2 * operand, "twice the operand")
    proof.cover(dut.o == 30, "the largest")
    proof.check_pipeline(tmp_path, latency=2)


@pytest.mark.parametrize("ago, latency", [(1, 2), (3, 3)])
def test_a_pipeline_of_another_length_is_refuted(tmp_path, ago, latency):
    proof = Proof(dut := Doubled())
    proof.require(dut.o == 2 * proof.earlier(dut.i, ago, "operand"), "twice the operand")
    with pytest.raises(Refuted, match="twice the operand"):
        proof.check_pipeline(tmp_path, latency=latency)


def test_what_keeps_something_is_no_pipeline(proof, tmp_path):
    proof.require(proof.dut.count <= 9, "never above 9")
    with pytest.raises(Refuted, match="never above 9"):
        proof.check_pipeline(tmp_path, latency=3)


def test_every_case_is_asked_for(tmp_path):
    proof = Proof(dut := Doubled())
    operand = proof.earlier(dut.i, 2, "operand")
    asked = operand == proof.case(4)
    proof.require(~asked | (dut.o == 2 * operand), "twice the operand")
    proof.require(~asked | (dut.o != 30), "never 30")
    with pytest.raises(Refuted, match=r"^never 30;"):
        proof.check_pipeline(tmp_path, latency=2)
    assert (tmp_path / "case.smtc").read_text().endswith("#b1111)\n")


def test_what_no_pipeline_reaches_is_unproven(tmp_path):
    proof = Proof(dut := Doubled())
    proof.cover(dut.o[0] & proof.earlier(dut.i, 2, "operand").any(), "an odd result")
    with pytest.raises(Unproven, match="an odd result"):
        proof.check_pipeline(tmp_path, latency=2)
