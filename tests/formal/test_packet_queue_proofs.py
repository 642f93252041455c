"""The packet queue: only whole packets leave, in order, and one is dropped only for want of room."""

import pytest
from amaranth import *
from amaranth.lib import data
from places import fifo_holds
from prover import Proof

from fanfold.streams import PacketQueue, assume_or_assert

BEAT = data.StructLayout({"value": 1, "last": 1})
#: beats that may be read ahead of the output
AHEAD = 3
#: cycles after a packet is whole until it is offered
PATIENCE = 3


class FollowedBeat:
    """Follows any one beat, as ``Followed`` does, unless its packet is dropped.

    ``whole`` beats inside belong to packets whose last beat is in, ``part`` beats to the packet that is coming in;
    ``certain`` says which of them the followed beat is one of.
    """

    def __init__(self, proof, depth):
        room = depth + AHEAD
        m, source, sink = proof.m, proof.dut.i, proof.dut.o
        chosen_now = proof.free(1, "chosen_now")
        self.whole = whole = Signal(range(2 * room))
        self.part = part = Signal(range(depth + 2))  # stops counting where the packet is too long
        self.waiting = waiting = Signal()
        self.certain = certain = Signal()
        self.ahead = ahead = Signal(range(2 * room))
        self.value = value = Signal(BEAT)
        dry = Signal(range(PATIENCE + 2))
        self.crowded = crowded = Signal()  # the packet that is coming in has met a full memory
        short = Signal()
        entered, left, dropped = Signal(), Signal(), proof.dut.dropped
        ends, begins = Signal(), Signal()
        m.d.comb += [
            entered.eq(source.valid & source.ready),
            left.eq(sink.valid & sink.ready),
            ends.eq(entered & source.p.last),
            begins.eq(entered & chosen_now & ~waiting & ~dropped),
            short.eq(crowded | (whole + part >= depth)),
        ]
        m.d.sync += [
            whole.eq(whole + Mux(ends & ~dropped, part + 1, 0) - left),
            dry.eq(Mux((whole != 0) & ~sink.valid, dry + 1, 0)),
        ]
        with m.If(entered):
            m.d.sync += [
                part.eq(Mux(ends, 0, part + (part <= depth))),
                crowded.eq(short & ~ends),
            ]
        with m.If(begins):
            m.d.sync += [waiting.eq(1), value.eq(source.payload), ahead.eq(whole + part - left), certain.eq(ends)]
        with m.Elif(waiting):
            m.d.sync += [
                ahead.eq(ahead - left),
                certain.eq(certain | ends),
                waiting.eq(~(left & (ahead == 0)) & ~(dropped & ~certain)),
            ]
        proof.require((whole != 0) | ~sink.valid, "nothing is offered that is not of a whole packet")
        proof.require(whole <= room, "no more inside than there is room")
        same = Value.cast(sink.payload) == Value.cast(value)
        proof.require(~(waiting & (ahead == 0) & sink.valid) | (certain & same), "the followed beat is next")
        proof.require((whole == 0) | sink.valid | (dry < PATIENCE), "what is whole is offered")
        proof.require((whole != 0) | source.ready, "what has nothing to offer takes a beat")
        proof.require(~dropped | ends, "packets are dropped with their last beat")
        proof.require(~ends | dropped | (part < depth), "packets longer than the queue are dropped")
        proof.require(~dropped | short, "packets are dropped only where there is no room")
        proof.lemma(~(waiting & certain) | (ahead < whole), "a beat of a whole packet counts as one")
        in_part = (ahead >= whole) & ((ahead < whole + part) | (part > depth))
        proof.lemma(~waiting | certain | in_part, "a beat of the packet coming in counts as one")
        proof.cover(waiting & (ahead == 0) & left, "the followed beat leaves")
        proof.cover(waiting & ~certain & dropped, "the followed beat is dropped")
        proof.cover(whole == depth + 1, "it fills up")


def beat_is_somewhere(proof, followed, depth):
    """Where the followed beat is: in memory, on its way to the output queue, or there."""
    head, whole, tail = (proof.inside(name) for name in ("head", "whole", "tail"))
    dropping, reading = proof.inside("dropping"), proof.inside("reading")
    behind = fifo_holds(proof, followed, 4, "output.")
    stored, coming = Signal(range(2 * depth)), Signal(range(2 * depth))
    where = Signal(range(4 * depth))
    proof.m.d.comb += [stored.eq(whole - tail), coming.eq(head - whole), where.eq(followed.ahead - behind - reading)]
    row = proof.row("beats", (tail + where) % depth, "beat_row")
    proof.lemma(behind + reading <= AHEAD, "the output queue has room for what is on its way")
    proof.lemma(followed.whole == stored + reading + behind, "the memory and the output hold the whole packets")
    proof.lemma(stored + coming <= depth, "the memory holds no more than its rows")
    proof.lemma(Mux(dropping, coming == 0, coming == followed.part), "the memory holds the part of a packet")
    proof.lemma(~dropping | (followed.part != 0), "what is being dropped has begun")
    proof.lemma(~dropping | followed.crowded, "what is being dropped found no room")
    ahead, value = followed.ahead, Value.cast(followed.value)
    on_its_way = followed.waiting & reading & (ahead == behind)
    proof.lemma(~on_its_way | (proof.inside("i__payload") == value), "the followed beat is on its way")
    in_memory = followed.waiting & (ahead >= behind + reading) & (followed.certain | ~dropping)
    proof.lemma(~in_memory | (row == value), "the followed beat is in its row")


def packet_queue_holds(proof, depth=4):
    dut = proof.dut
    assume_or_assert(proof.m, dut.i, name="i", assume=True)
    assume_or_assert(proof.m, dut.o, name="o")
    followed = FollowedBeat(proof, depth)
    beat_is_somewhere(proof, followed, depth)
    return followed


@pytest.mark.parametrize("depth", [4, pytest.param(8, marks=pytest.mark.long)])
@pytest.mark.parametrize("lossy", [False, True], ids=["lossless", "lossy"])
def test_packet_queue(tmp_path, lossy, depth):
    proof = Proof(dut := PacketQueue(BEAT, depth, lossy=lossy))
    followed = packet_queue_holds(proof, depth)
    if lossy:
        proof.require(dut.i.ready, "a lossy queue is always ready")
    else:
        proof.require(~dut.dropped | (followed.part >= depth), "only packets longer than the queue are dropped")
        proof.lemma(~proof.inside("dropping") | (followed.part > depth), "what is being dropped is too long")
    impossible = ("i: an item moves after a stall",) if lossy else ()
    proof.check(tmp_path, depth=6, induction=5, cover=depth + 10, impossible=impossible)
