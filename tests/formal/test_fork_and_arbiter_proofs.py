"""Fork and arbiter: every receiver takes every item once; packets stay whole, and nobody waits for long."""

import pytest
from amaranth import *
from amaranth.lib import data
from prover import Proof

from fanfold.streams import Fork, PacketArbiter, assume_or_assert

ITEM = data.StructLayout({"value": 2})
BEAT = data.StructLayout({"value": 1, "last": 1})


def fork_holds(proof):
    """``got`` is the proof's own account of who has the item that stands."""
    m, dut = proof.m, proof.dut
    assume_or_assert(m, dut.i, name="i", assume=True)
    moves = Signal()
    m.d.comb += moves.eq(dut.i.valid & dut.i.ready)
    for index, output in enumerate(dut.o):
        name = f"o{index}"
        assume_or_assert(m, output, name=name)
        got, takes = Signal(name=f"got_{index}"), Signal(name=f"takes_{index}")
        m.d.comb += takes.eq(output.valid & output.ready)
        m.d.sync += got.eq(~moves & (got | takes))
        same = Value.cast(output.payload) == Value.cast(dut.i.payload)
        proof.require(~output.valid | (dut.i.valid & same), f"{name}: what is offered stands at the input")
        proof.require(~takes | ~got, f"{name}: no item is taken twice")
        proof.require(~moves | got | takes, f"{name}: no item passes by")
        proof.require(~dut.i.valid | got | output.valid, f"{name}: an item not taken yet is offered")
        proof.lemma(got == proof.inside("taken")[index], f"{name}: the component's account is right")
        proof.lemma(~got | dut.i.valid, f"{name}: a taken item stands until all have it")
        proof.cover(got & moves, f"{name}: takes an item before the others")


def arbiter_holds(proof):
    """The law; no beat lost, changed or doubled; no packet broken into; and a bound on everybody's waiting.

    Whatever the hints say: only that no cycle is lost depends on them.
    """
    m, dut = proof.m, proof.dut
    count = len(dut.i)
    assume_or_assert(m, dut.o, name="o")
    moves, begun, owner = Signal(), Signal(), Signal(range(count))
    m.d.comb += moves.eq(dut.o.valid & dut.o.ready)
    with m.If(moves):
        m.d.sync += [begun.eq(~dut.o.p.last), owner.eq(dut.source)]
    proof.require(~(begun & dut.o.valid) | (dut.source == owner), "no packet is broken into")
    proof.require(dut.source < count, "the source is an input")
    proof.cover(begun & moves & dut.o.p.last, "a packet of several beats ends")
    proof.lemma(proof.inside("begun") == begun, "the component's account is right")
    proof.lemma(~begun | (dut.source == owner), "the choice is locked inside a packet")
    taken = []
    for index, port in enumerate(dut.i):
        name = f"i{index}"
        assume_or_assert(m, port, name=name, assume=True)
        chosen, takes = Signal(name=f"chosen_{index}"), Signal(name=f"takes_{index}")
        m.d.comb += [chosen.eq(dut.source == index), takes.eq(port.valid & port.ready)]
        same = Value.cast(port.payload) == Value.cast(dut.o.payload)
        proof.require(~chosen | ((dut.o.valid == port.valid) & (same | ~port.valid)), f"{name}: is what goes out")
        proof.require(takes == (moves & chosen), f"{name}: moves in when and only when it moves out")
        waits, ends = port.valid & ~takes & (~begun | (owner != index)), moves & dut.o.p.last
        waits_its_turn(proof, index, waits, ends)
        goes_first(proof, index, waits, ends)
        taken.append(takes)
    proof.require(moves == Cat(*taken).any(), "what goes out came in")

    waits, between = Signal(), Signal()
    m.d.comb += between.eq(Mux(dut.o.valid, moves & dut.o.p.last, ~begun))
    told = dut.coming.any() | dut.first.any()
    m.d.sync += waits.eq((Cat(port.valid for port in dut.i) & ~Cat(*taken)).any() & between & ~told)
    proof.require(~waits | dut.o.valid, "a packet that waits goes out in the next cycle")
    proof.cover(waits & (dut.source == 0), "a packet goes out at once after another one")


def waits_its_turn(proof, index, waits, ends):
    """Counts the packets of others that end (``ends``) while input ``index`` offers one, is not let in, and no input
    goes before the others."""
    m, count = proof.m, len(proof.dut.i)
    passed = Signal(range(2 * count), name=f"passed_{index}")
    m.d.sync += passed.eq(Mux(waits & ~proof.dut.first.any(), passed + ends, 0))
    proof.require(passed < count, f"i{index}: is let in after at most {count - 1} packets of others")
    turns = Signal(range(count + 1), name=f"turns_{index}")  # inputs that come before this one, with the chosen one
    with m.Switch(proof.dut.source):
        for chosen in range(count):
            with m.Case(chosen):
                m.d.comb += turns.eq((index - chosen) % count)
    proof.lemma(passed + turns < count, f"i{index}: the packets that may still pass become fewer")
    proof.cover((passed == count - 1) & ~waits, f"i{index}: is let in after {count - 1} packets of others")


def goes_first(proof, index, waits, ends):
    """Counts the packets of others that end while input ``index`` waits and is the lowest that goes first."""
    m, first = proof.m, proof.dut.first
    passed = Signal(range(4), name=f"passed_first_{index}")
    m.d.sync += passed.eq(Mux(waits & first[index] & ~first[:index].any(), passed + ends, 0))
    proof.require(passed < 2, f"i{index}: goes first after at most one packet of others")
    proof.lemma((passed == 0) | (proof.dut.source == index), f"i{index}: goes first after the packet at hand")
    proof.cover((passed == 1) & ~waits, f"i{index}: goes first after a packet of others")


@pytest.mark.parametrize("count", [2, 3])
def test_fork(tmp_path, count):
    fork_holds(proof := Proof(Fork(ITEM, count)))
    proof.check(tmp_path, depth=12, induction=2)


@pytest.mark.parametrize("count", [2, 3, pytest.param(5, marks=pytest.mark.long)])
def test_arbiter(tmp_path, count):
    arbiter_holds(proof := Proof(PacketArbiter(BEAT, count)))
    proof.check(tmp_path, depth=12, induction=2)
