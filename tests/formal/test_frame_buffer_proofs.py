"""The network port's buffer: frames leave whole or not at all, in order, and what is not there is counted once."""

from types import SimpleNamespace

import pytest
from amaranth import *
from passage import Passage
from prover import Proof

from fanfold.edge import FrameBuffer
from fanfold.streams import assume_or_assert

#: beats outside of the memory: the one that it has given out, and two registers
OUTSIDE = 3
#: cycles in a row in which nothing is offered while something is inside
PATIENCE = 2


def small(frame_beats):
    """What a buffer knows of a configuration: with this few beats in the longest frame, none has so few bytes."""
    return SimpleNamespace(beat_bytes=8, queue_bits=1, frame_beats=frame_beats)


class Incoming:
    """The frame that is coming in, and what becomes of it: told by the events, and by where the frame ends."""

    def __init__(self, proof, frame_beats):
        m, dut = proof.m, proof.dut
        beat = dut.i.valid
        self.position = position = Signal(range(frame_beats + 1), name="position")  # stops counting at the longest
        self.lost = lost = Signal(name="lost")  # the rest of the frame is not expected
        self.begins, self.enters = Signal(name="begins"), Signal(name="enters")
        self.withdrawn = Signal(name="withdrawn_now")
        m.d.comb += [
            self.begins.eq(beat & (position == 0)),
            self.enters.eq(beat & ~lost & ~dut.dropped),
            self.withdrawn.eq(dut.dropped & (position != 0)),
        ]
        with m.If(beat):
            m.d.sync += [
                position.eq(Mux(dut.i.p.last, 0, position + (position < frame_beats))),
                lost.eq(~dut.i.p.last & (lost | dut.dropped | dut.cut)),
            ]
        event = dut.dropped | dut.cut
        proof.require(~event | (beat & ~lost), "a frame is dropped or cut once, at one of its beats")
        proof.require(~(dut.dropped & dut.cut), "a frame is dropped or cut, not both")
        proof.require(~dut.cut | (position != 0), "a frame that is cut has begun")
        too_long = (position >= frame_beats - 1) & ~dut.i.p.last
        proof.require(
            ~(dut.cut | self.withdrawn) | too_long, "a frame that has begun is dropped or cut only if it is too long"
        )
        proof.cover(dut.cut, "a frame is cut")
        proof.cover(self.withdrawn, "a frame is withdrawn")


def frames_are_whole(proof, frame_beats):
    m, dut = proof.m, proof.dut
    depth = dut.depth
    assume_or_assert(m, dut.o, name="o")
    incoming = Incoming(proof, frame_beats)
    owed = Signal.like(dut.i.p, name="owed")
    m.d.comb += [
        owed.eq(dut.i.p),
        owed.last.eq(dut.i.p.last | dut.cut),
        owed.bad.eq(dut.i.p.bad | dut.cut),
    ]
    part = Signal(range(depth + OUTSIDE + 2), name="part")  # beats inside of the frame that is coming in
    passage = Passage(
        proof, incoming.enters, owed, dut.o.payload,
        capacity=depth + OUTSIDE, patience=PATIENCE, recalled=incoming.withdrawn, part=part,
    )  # fmt: skip
    has_left = Signal(name="has_left")  # one of its beats
    leaves = passage.left & (part == passage.inside)
    with m.If(dut.i.valid & (dut.i.p.last | dut.dropped | dut.cut)):
        m.d.sync += [part.eq(0), has_left.eq(0)]
    with m.Else():
        m.d.sync += [
            part.eq(part + incoming.enters - (leaves & (part != 0))),
            has_left.eq(has_left | (leaves & (part != 0))),
        ]
    proof.require(~incoming.withdrawn | ~(has_left | (leaves & (part != 0))), "what is dropped has not begun to leave")
    before = Signal.like(passage.inside, name="inside_before")
    m.d.sync += before.eq(passage.inside)
    crowded = before >= depth - frame_beats - 1
    proof.require(~(incoming.begins & dut.dropped) | crowded, "a frame is dropped only where there is no room")
    in_time(proof, passage, depth)
    beats_are_somewhere(proof, incoming, passage, part, has_left, frame_beats)

    whole = incoming.enters & dut.i.p.last & (incoming.position == frame_beats - 1)
    lost_one = Signal(name="lost_one")
    m.d.sync += lost_one.eq(lost_one | dut.dropped)
    proof.cover(whole & lost_one, "the longest frame enters after one was dropped")
    proof.cover(passage.left & passage.next & lost_one & dut.o.p.last, "a followed beat leaves after one was dropped")


def in_time(proof, passage, depth):
    """The followed beat is offered in bounded time, cycles not counted in which the output is stalled."""
    m, dut = proof.m, proof.dut
    limit = depth + OUTSIDE + PATIENCE
    slow = Signal(range(2 * limit), name="slow")
    with m.If(passage.waiting & ~(passage.next & passage.left)):
        m.d.sync += slow.eq(slow + ~(dut.o.valid & ~dut.o.ready))
    with m.Else():
        m.d.sync += slow.eq(0)
    proof.require(~passage.waiting | (slow < limit) | dut.o.valid, "a beat is offered in time")
    gap = Mux(dut.o.valid, 0, Mux(proof.inside("fetched"), 1, PATIENCE))
    proof.lemma(~passage.waiting | (slow + passage.ahead + gap <= limit), "the steps that are left become fewer")


def beats_are_somewhere(proof, incoming, passage, part, has_left, frame_beats):
    """In memory, at its output, or in the registers behind it."""
    m, dut = proof.m, proof.dut
    depth = dut.depth
    head, tail, used = proof.inside("head"), proof.inside("tail"), Signal(range(2 * depth), name="stored")
    fetched, gone, start = proof.inside("fetched"), proof.inside("gone"), proof.inside("start")
    spare, spare_empty = proof.inside("departures.spare"), proof.inside("departures.spare_empty")
    held = Signal(range(4), name="held")
    m.d.comb += [used.eq(head - tail), held.eq(dut.o.valid + ~spare_empty)]
    proof.lemma(spare_empty | dut.o.valid, "the spare register is the second to fill")
    proof.lemma(used <= depth, "the memory holds no more than its rows")
    proof.lemma(passage.inside == used + fetched + held, "memory and registers hold those inside")

    ahead, value = passage.ahead, passage.value
    second = passage.waiting & (ahead == 1) & ~spare_empty
    proof.lemma(~second | (Value.cast(spare) == value), "the second beat is in the spare register")
    given = passage.waiting & fetched & (ahead == held)
    proof.lemma(~given | (Value.cast(proof.inside("i__payload")) == value), "the followed beat is given out")
    row = proof.row("beats", (tail + ahead - held - fetched)[: range(depth).stop.bit_length() - 1], "beat_row")
    stored = passage.waiting & (ahead >= held + fetched)
    proof.lemma(~stored | (row == value), "the followed beat is in its row")

    # the frame that is coming in
    inside, position = proof.inside("inside"), incoming.position
    begun = position != 0
    proof.lemma(begun | ~incoming.lost, "what is lost has begun")
    proof.lemma(inside == (begun & ~incoming.lost), "it knows whether a frame is coming in")
    proof.lemma(proof.inside("skipping") == (begun & incoming.lost), "it knows what it skips")
    proof.lemma(part <= passage.inside, "a frame's beats are among those inside")
    proof.lemma(inside | ((part == 0) & ~has_left), "nothing of a frame is inside that is not coming in")
    here = inside & ~gone
    proof.lemma(~here | ((part == (head - start)[: len(head)]) & (part <= used)), "a frame is where it began")
    proof.lemma(~here | ((part != 0) & ~has_left), "what has begun is there")
    room = used + frame_beats - position
    proof.lemma(~inside | (position == frame_beats) | (room < depth), "there is room for the rest of a frame")
    proof.lemma(~inside | (used < depth), "there is room for one beat more")
    before = Signal.like(used, name="stored_before")
    m.d.sync += before.eq(used)
    proof.lemma(proof.inside("tight") == (before >= depth - 2), "it knows where there is room for one beat only")
    proof.lemma(proof.inside("roomy") == (before < depth - frame_beats - 1), "it knows where there is room for a frame")
    proof.lemma(used <= before + 1, "one beat comes in a cycle")


@pytest.mark.parametrize("frame_beats", [2, pytest.param(6, marks=pytest.mark.long)])
def test_frame_buffer(tmp_path, frame_beats):
    frames_are_whole(proof := Proof(FrameBuffer(small(frame_beats))), frame_beats)
    proof.check(tmp_path, depth=6, induction=2, cover=proof.dut.depth + 8)
