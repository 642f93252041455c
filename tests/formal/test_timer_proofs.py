"""The timers: no packet for a slot that waits for nothing, packets that stand, and stillness when nothing is timed."""

from dataclasses import replace

import pytest
from amaranth import *
from prover import Proof, Refuted, Unproven

from fanfold.admission.timed_slots import Kind
from fanfold.admission.timers import Timers
from fanfold.config import PRESETS
from fanfold.streams import assume_or_assert
from fanfold_sim.planting import planted

CONFIG = replace(PRESETS["tiny"], beat_bytes=16)
BEATS = 2
SWEEP, CHECK, FIND, OFFER, NOTE = range(5)
#: cycles without a commit of a context before and after it is described
BEFORE, AFTER = 3, 4


class Followed:
    """One slot, any of them, and what its ``kind`` must be: by the commits that are three cycles old."""

    def __init__(self, proof):
        m, timers = proof.m, proof.dut
        self.slot = proof.constant(range(CONFIG.fold_slots), "slot")
        self.index, self.context = self.slot[:1], self.slot[1:]
        commit, describe = timers.commit, timers.describe
        proof.assume(commit.p.record.turn[:1] == commit.p.slot[:1], "a turn is in its slot")
        commits = commit.valid & (commit.p.slot[1:] == self.context)
        describes = describe.valid & (describe.p.context == self.context)
        #: commits of the context in the cycles before, the last one's first; and its descriptions
        self.commits, self.describes = _history(m, commits, BEFORE, "commits"), _history(m, describes, AFTER, "told")
        proof.assume(~(describes & (commits | self.commits.any())), "a context is described when nothing comes of it")
        proof.assume(~(commits & self.describes.any()), "a context that was described is quiet")

        forget = timers.forget.bit_select(self.context, 1)
        self.forgotten = _history(m, forget, 1, "forget")
        self.open, self.patient = Signal(name="model_open"), Signal(name="model_patient")
        told = proof.earlier(describe.p.abort_ticks, 1, "abort_ticks")
        m.d.sync += self.open.eq((self.open & ~forget) | self.describes[0])
        with m.If(self.describes[0]):
            m.d.sync += self.patient.eq((told != 0) | (timers.timing.abort_ticks != 0))

        record = commit.p.record
        hit = _history(m, commit.valid & (commit.p.slot == self.slot), 1, "hit")
        waiting, begun = proof.earlier(record.waiting, 1, "waiting"), proof.earlier(record.begun, 1, "begun")
        repeating = proof.inside("repeating")
        #: a commit of the slot one cycle ago, and two cycles ago, and what that makes of it
        self.came = hit
        self.hit, self.new = Signal(name="model_hit"), Signal(Kind, name="model_new")
        m.d.sync += [self.hit.eq(hit), self.new.eq(Kind.IDLE)]
        with m.If(waiting & (repeating | self.patient)):
            m.d.sync += self.new.eq(Kind.WAITING)
        with m.Elif(begun & self.patient):
            m.d.sync += self.new.eq(Kind.FOLDING)
        #: the slot was committed at all
        self.written = Signal(name="model_written")
        with m.If(hit):
            m.d.sync += self.written.eq(1)
        self.kind = Signal(Kind, name="model_kind")
        with m.If(forget | self.describes[0]):
            m.d.sync += self.kind.eq(Kind.IDLE)
        with m.Elif(self.hit & self.open):
            m.d.sync += self.kind.eq(self.new)


def _history(m, condition, cycles, name):
    past = Signal(cycles, name=f"{name}_past")
    m.d.sync += past.eq(Cat(condition, past))
    return past


def _memory_agrees(proof, followed):
    """Lemmas: what the pipeline of commits, the flip-flops and the followed context's row say of the followed slot."""
    inside = proof.inside
    context, index = followed.context, followed.index
    bit = lambda name: inside(f"slots.{name}").bit_select(context, 1)  # noqa: E731
    row = proof.row("slots.kinds", context, "row")
    recent, active = inside("slots.recent"), inside("slots.active").bit_select(context, 1)
    first = inside("slots.committed") & (Value.cast(inside("slots.commit"))[1:2] == context)
    second = inside("slots.moved") & (inside("slots.place")[1:] == context)
    third = inside("slots.recent_valid") & (inside("slots.recent_context") == context)
    proof.lemma(Cat(first, second, third) == followed.commits, "the ranks hold the last commits")
    telling = inside("slots.telling") & (Value.cast(inside("slots.told"))[0:1] == context)
    proof.lemma(telling == followed.describes[0], "a description is told")
    proof.lemma(bit("opened") == followed.open, "contexts are open as described")
    proof.lemma(~followed.open | (bit("patient") == followed.patient), "contexts are as patient as described")
    proof.lemma(~active | followed.open, "what is active is open")
    came = inside("slots.committed") & (Value.cast(inside("slots.commit"))[:2] == followed.slot)
    proof.lemma(came == followed.came, "a commit of the slot has come")
    moved = second & (inside("slots.place")[:1] == index)
    proof.lemma(moved == followed.hit, "a commit of the slot is one")
    proof.lemma(
        ~moved | ~followed.open | (inside("slots.becomes") == followed.new.as_value()), "it makes the same of it"
    )
    proof.lemma(~third | (row == recent), "what was written last is in the row")
    proof.lemma(~second | third | ~followed.open | (inside("slots.live") == active), "a row means something if active")
    known = Mux(third, recent, Mux(active, row, 0))
    kind = known.word_select(index, 2)
    proof.lemma(~followed.open | (kind == followed.kind.as_value()), "the slot's kind is known")
    proof.lemma(followed.open | (followed.kind.as_value() == 0), "nothing of a closed context is timed")
    turn = proof.row("slots.records", followed.slot, "record")[:1]
    proof.lemma(~followed.written | (turn == index), "the slot's turn is in it")
    proof.lemma(followed.written | ~followed.hit & (followed.kind.as_value() == 0), "what is timed was committed")
    return row.word_select(index, 2)


def timers_hold(proof):
    """An idle slot's packet is never offered, and what is offered stands."""
    m, timers, inside = proof.m, proof.dut, proof.inside
    output = timers.o
    assume_or_assert(m, output, name="o")
    before = Signal(range(BEATS + 1), name="beats_before")
    with m.If(output.valid & output.ready):
        m.d.sync += before.eq(Mux(output.p.last, 0, before + 1))
    proof.require(~output.valid | (output.p.first == (before == 0)), "a packet's first beat says so")
    proof.require(~output.valid | output.p.last | (before < BEATS - 1), "a packet ends in time")
    offering = inside("timers_state") == OFFER
    proof.lemma(before == Mux(offering, inside("beat"), 0), "beats are counted")
    proof.lemma((inside("timers_state") != FIND) | (inside("beat") == 0), "a packet begins with its first beat")
    followed = Followed(proof)
    row = _memory_agrees(proof, followed)
    state, step, changed = inside("timers_state"), inside("step"), inside("changed")
    here = Cat(inside("sweep.index"), inside("sweep.context")) == followed.slot
    seen, kind = Value.cast(inside("slots.kind")), Value.cast(inside("sweep.kind"))

    # what a packet is made of is the row as it is, or the slot was changed since
    checks, finds = state == CHECK, state == FIND
    over = changed | ~inside("slots.active").bit_select(followed.context, 1)
    looked = (checks & (step >= 2)) | finds
    proof.lemma(~looked | (inside("slots.looked") == inside("sweep.index")), "the slot at hand was looked up")
    fresh = here & ~over
    proof.lemma(~(looked & fresh) | (seen == row), "what was looked up is so")
    proof.lemma(~(fresh & ((checks & (step >= 3)) | finds)) | (kind == seen), "the kind at hand is what was looked up")
    proof.lemma(
        ~(fresh & ((checks & (step == 4) & inside("sweep.due")) | finds)) | (kind != 0), "what is due is not idle"
    )
    noticed = changed | (checks & (step == 0)) | ~(checks | finds)
    proof.lemma(~(here & followed.hit) | noticed, "a commit of the slot at hand is noticed")
    turn_found = Value.cast(inside("slots.record"))[:1]
    proof.lemma(~(looked & fresh & (seen != 0)) | (turn_found == followed.index), "the turn that was looked up is so")
    proof.lemma(~(here & (state >= FIND)) | (inside("turn")[:1] == followed.index), "the turn at hand is the slot's")
    proof.lemma((state <= NOTE) & (~checks | (step <= 4)), "steps are those of their states")
    proof.lemma(inside("sweeps") | (state != SWEEP), "the sweep is a state")
    offers = output.valid & output.p.first & ~_history(m, output.valid, 1, "offered")
    said = Cat(output.p.head.header.coll_tag[:1], output.p.head.header.comm_id)
    idle = followed.kind.as_value() == 0
    proof.require(~(output.valid & here) | (said == followed.slot), "a packet names the slot it is made for")
    ended = followed.forgotten | followed.describes[1]  # in the last cycle: that is not known yet
    proof.require(~(offers & here) | ~idle | ended, "a packet is of a slot that is timed")
    proof.require(~(offers & here) | ~followed.hit, "a packet is of a slot that stayed as it was")
    proof.require(~output.valid | (timers.busy == (1 << output.p.head.header.comm_id[:1])[:2]), "its context is busy")
    for name in ("overdue", "given up", "repeated"):
        origin = ("overdue", "given up", "repeated").index(name) + 2
        proof.cover(offers & here & (Value.cast(output.p.origin) == origin), f"{name} is offered")


def timers_stand_still(proof):
    """What is not timed moves nothing: five cycles after the last commit or context, no register and no row changes."""
    m, timers, inside = proof.m, proof.dut, proof.inside
    comes = timers.commit.valid | timers.describe.valid | timers.forget.any()
    came = _history(m, comes, 5, "came")
    timing = Value.cast(timers.timing)
    proof.assume(timing == proof.earlier(timing, 1, "timing"), "the host changes nothing")
    proof.assume(~ResetSignal(), "no reset")
    still = ~timers.timed & ~comes & ~came.any()
    was_still = _history(m, still, 1, "still")
    for path, register in proof.registers():
        same = register == proof.earlier(register, 1, f"before_{path.replace('.', '_')}")
        proof.require(~was_still | same, f"{path} stands still")
    writes = [inside(f"slots.{name}") for name in ("committed", "telling", "moved", "recent_valid", "starts")]
    proof.require(~still | ~Cat(*writes, inside("look"), timers.o.valid, timers.busy).any(), "nothing is written")
    proof.lemma(timers.timed | (inside("sweeps") & (inside("step") == 0) & ~inside("changed")), "the sweep rests")
    active, recent = inside("slots.active"), inside("slots.recent_valid")
    proof.lemma(timers.timed | came[1:].any() | (active == 0), "nothing is active")
    proof.lemma(came[0] | ~(inside("slots.committed") | inside("slots.telling")), "nothing has come")
    proof.lemma(came[1] | ~inside("slots.moved"), "nothing moves")
    proof.lemma(came[2] | ~recent, "nothing is written back")
    proof.cover(was_still & _history(m, timers.timed, 8, "timed")[7], "it stands still after something was timed")


def test_packets_are_of_timed_slots(tmp_path):
    timers_hold(proof := Proof(Timers(CONFIG)))
    proof.check(tmp_path, depth=8, induction=3, cover=21)


def test_stands_still(tmp_path):
    timers_stand_still(proof := Proof(Timers(CONFIG)))
    proof.check(tmp_path, depth=8, induction=3, cover=16)


SLOTS, SWEEPS, OWN = "fanfold.admission.timed_slots", "fanfold.admission.sweep", None
#: faults with which a proof must fail, by a run from reset or by induction (most packets come too late for a search of
#: all such runs): the properties, the module, what stands in the source, what is planted, what it breaks
FAULTS = {
    "a commit under a packet is overlooked": (
        *(timers_hold, OWN, "over.eq(changed | slots.touched |", "over.eq(changed |"),
        "a commit of the slot at hand is noticed|a packet is of a slot that stayed as it was",
    ),
    "a context that ended is overlooked": (
        *(timers_hold, OWN, "slots.touched | ~slots.active.bit_select(context, 1)", "slots.touched"),
        "a packet is of a slot that is timed",
    ),
    "what was written last is read as it was": (
        *(timers_hold, SLOTS, "before.eq(recent)", "before.eq(known.data)"),
        "the slot's kind is known",
    ),
    "a packet of one beat more": (
        *(timers_hold, OWN, "(beat == beats - 1)", "(beat == beats)"),
        "a packet ends in time|beats are counted",
    ),
    "elapsed time is counted for nobody": (
        *(timers_stand_still, SWEEPS, "m.If(self.timed | ~self.sweeps)", "m.If(1)"),
        "(interval|back|spent|elapsed) stands still",
    ),
    "the clock stops while a packet is begun": (
        *(timers_stand_still, OWN, "~sweeps | sweep.stops)", "~sweeps)"),
        "the sweep rests|stands still",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault(fault, tmp_path):
    properties, module, right, wrong, breaks = FAULTS[fault]
    properties(proof := Proof(planted(Timers, right, wrong, module)(CONFIG)))
    with pytest.raises((Refuted, Unproven), match=breaks):
        proof.check(tmp_path, depth=8, induction=3)
