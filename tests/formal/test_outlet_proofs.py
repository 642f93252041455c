"""The ingress's outlet: a regular frame's beats leave as they came, whatever is regular and whatever stalls."""

import pytest
from amaranth import *
from layered import LayeredProof
from numbered import BEAT_BITS, QUEUE_BITS, NumberedFrames, Rows

from fanfold.config import Config
from fanfold.ingress.outlet import Outlet
from fanfold.streams import assume_or_assert
from fanfold.wire import frame_layout
from fanfold_sim.planting import planted

CONFIG = Config(beat_bytes=8, contributors=2, contexts=2, window=2, segment_bytes=128, queue_bits=QUEUE_BITS)
FRAME = frame_layout(CONFIG)
#: items of each queue in the proof, and those of them that may be on their way: a quarter of what there are
ROOM, ON_THEIR_WAY = 8, 4
_SIZES = """ROOM = 32
#: items that may still come when the input is told to stop: those on their way
_ON_THEIR_WAY = 14
"""
SMALLER = planted(Outlet, _SIZES, f"ROOM = {ROOM}\n_ON_THEIR_WAY = {ON_THEIR_WAY}\n")
#: frames that may be without a verdict at once
UNDECIDED = ON_THEIR_WAY - 1


class Verdicts:
    """Frames come in, and each gets a verdict later, any one, in their order.

    ``now`` is that of the frame that is coming in where it is ``known``; ``given`` counts verdicts.
    """

    def __init__(self, proof, frames):
        m, dut = proof.m, proof.dut
        incoming, verdict = dut.frames, dut.verdicts
        within, undecided = proof.inside("within"), proof.inside("undecided")
        self.given = given = Signal.like(frames.next_frame)
        self.known, self.now = Signal(name="known"), Signal(name="tagged_now")
        begun = (frames.next_frame + within)[: len(given)]
        m.d.sync += given.eq(given + verdict.valid)
        with m.If(incoming.valid & incoming.p.last):
            m.d.sync += self.known.eq(0)
        with m.Elif(verdict.valid & within & (given == frames.next_frame)):
            m.d.sync += [self.known.eq(1), self.now.eq(verdict.p.tagged)]
        proof.assume(~incoming.valid | dut.open, "beats come while the port is open")
        proof.assume(~verdict.valid | (given != begun), "a verdict is about a frame that has begun")
        proof.assume((begun - given)[: len(given)] <= UNDECIDED, "verdicts do not lag behind for long")
        proof.assume(verdict.valid | ~verdict.p.tagged, "what is tagged has a verdict")
        proof.lemma(undecided == (begun - given)[: len(given)], "the account of verdicts is right")
        proof.lemma(
            self.known == (within & (given == (frames.next_frame + 1)[: len(given)])),
            "the verdict of this frame is known",
        )
        proof.lemma(proof.inside("no_more") == (self.known & self.now), "the rest of a tagged frame is not kept")


class Front:
    """What is in the outlet's last register, and what of it came in: beats that were let through and have not left."""

    def __init__(self, proof, let):
        dut = proof.dut
        self.inside, self.left = Signal(range(4), name="in_front"), Signal(name="left")
        proof.m.d.comb += self.left.eq(dut.regular.valid & dut.regular.ready)
        proof.m.d.sync += self.inside.eq(self.inside + let - self.left)
        self.spare_empty, self.spare = proof.inside("regular.spare_empty"), proof.inside("regular.spare")
        proof.require(self.inside == dut.regular.valid + ~self.spare_empty, "beats of regular frames leave, no others")
        proof.lemma(self.spare_empty | dut.regular.valid, "the spare register is the second to fill")


def frames_hold(proof, room=ROOM):
    """In four layers: beats and verdicts in their queues, what is let through, the followed beat, its time."""
    m, dut = proof.m, proof.dut
    verdict = dut.verdicts.p
    for name, comes in (
        ("heads", verdict.tagged),
        ("beats", dut.beats.valid),
        ("beat_verdicts", verdict.candidate),
        ("damages", dut.damages.valid),
    ):
        proof.assume(~comes | proof.inside(f"{name}.has_room"), f"{name} find room")
    kept, moved = proof.inside("frames.enters"), proof.inside("frame_moves")
    frames = NumberedFrames(proof, FRAME, room, kept, moved)
    rulings = Rows(proof, "frame_verdicts", room + 2)
    verdicts = Verdicts(proof, frames)
    waiting_verdicts = (verdicts.given - frames.frames_gone)[: len(verdicts.given)]
    proof.lemma(rulings.held == waiting_verdicts, "verdicts wait for their frames")
    held, within = frames.rows.held, proof.inside("within")
    proof.lemma(~dut.open | proof.inside("no_more") | (held <= room - 3), "an open port has room for three beats")
    proof.lemma(held <= room - 1 - within, "a frame that is coming in has room for its last beat")

    proof.next_layer()
    front = Front(proof, moved & ~rulings.front)
    proof.require(~moved | rulings.offers, "no beat moves without a verdict")
    assume_or_assert(m, dut.regular, name="regular")

    proof.next_layer()
    followed_leaves(proof, frames, rulings, verdicts, front, moved, room)


def followed_leaves(proof, frames, rulings, verdicts, front, moved, room):
    """Any one beat is followed: it meets its frame's verdict, and if that is regular it leaves as it came, in time."""
    m, dut = proof.m, proof.dut
    patience = room + 3  # cycles without a stall from the verdict to the offer
    incoming, verdict = dut.frames, dut.verdicts
    chosen_now, guess = proof.free(1, "chosen_now"), proof.free(1, "guess")
    value, tagged = Signal(FRAME, name="value"), Signal(name="tagged")
    number, frame = value.queue[:BEAT_BITS], value.queue[BEAT_BITS:]
    waits, let = Signal(name="waits"), Signal(name="let")  # in the queue, in the last register
    ahead = Signal(range(4), name="ahead")
    slow = Signal(range(2 * patience), name="slow")
    begins, moves, decided = Signal(name="begins"), Signal(name="moves"), Signal(name="decided")
    since = Signal(len(frame), name="since")
    m.d.comb += [
        begins.eq(incoming.valid & chosen_now & ~waits & ~let),
        moves.eq(waits & moved & (number == frames.gone)),
        since.eq(verdicts.given - frame),
        decided.eq((since != 0) & ~since[-1]),
    ]
    of_this = verdict.valid & proof.inside("within") & (verdicts.given == frames.next_frame)
    kept = proof.inside("frames.enters")
    with m.If(begins):
        m.d.sync += [
            waits.eq(kept),
            value.eq(incoming.payload),
            tagged.eq(Mux(verdicts.known, verdicts.now, Mux(of_this, verdict.p.tagged, guess))),
        ]
    with m.Elif(moves):
        m.d.sync += [waits.eq(0), let.eq(~tagged), ahead.eq(front.inside - front.left)]
    with m.Elif(let & front.left):
        m.d.sync += [let.eq(ahead != 0), ahead.eq(ahead - 1)]
    own = waits & verdict.valid & (verdicts.given == frame)
    proof.assume(~own | (verdict.p.tagged == tagged), "what was guessed comes true")
    proof.require(~begins | kept | (verdicts.known & verdicts.now), "only what is tagged is not kept")
    proof.require(~moves | (decided & (rulings.front == tagged)), "a beat meets the verdict of its frame")
    proof.require(~moves | (Value.cast(frames.front) == Value.cast(value)), "a beat is kept as it came")
    is_next = let & (ahead == 0)
    same = Value.cast(dut.regular.payload) == Value.cast(value)
    proof.require(~is_next | (dut.regular.valid & same), "a regular beat leaves as it came, in its turn")

    # where it is
    rows, place = frames.rows, Signal(BEAT_BITS, name="place")
    m.d.comb += place.eq(number - frames.gone)
    row = frames.nth_beat(place - rows.offers, "followed_row")
    there = Mux(rows.offers & (place == 0), Value.cast(frames.front), Value.cast(row))
    proof.lemma(~(waits & let), "the followed beat is in one place")
    proof.lemma(~waits | ((place < rows.held) & (there == Value.cast(value))), "the followed beat is in the queue")
    proof.lemma(~let | (ahead < front.inside), "the followed beat is in the last register")
    second = let & (ahead == 1)
    proof.lemma(~second | (Value.cast(front.spare) == Value.cast(value)), "the second beat is in the spare register")
    turn = Signal(len(frame), name="turn")  # frames before its own
    m.d.comb += turn.eq(frame - frames.frames_gone)
    ruling = Mux(rulings.offers & (turn == 0), rulings.front, rulings.nth(turn - rulings.offers, "ruling"))
    proof.lemma(~(waits & decided) | (ruling == tagged), "its verdict is among those that wait")
    proof.lemma(~waits | (turn <= place), "frames before its own have beats before it")
    newest = Mux(rulings.stored == 0, rulings.front, rulings.nth(rulings.stored - 1, "newest"))
    proof.lemma(~verdicts.known | (rulings.held != 0), "the verdict of the frame that is coming in waits")
    proof.lemma(~verdicts.known | (newest == verdicts.now), "it is the newest")
    current = waits & (frame == frames.next_frame)
    proof.lemma(~current | proof.inside("within"), "the frame of its number has begun")
    proof.lemma(~(current & verdicts.known) | (verdicts.now == tagged), "one frame, one verdict")

    # and for how long
    proof.next_layer()
    stalled = dut.regular.valid & ~dut.regular.ready
    waiting = let | (waits & decided & ~tagged)
    with m.If(waiting & ~(is_next & front.left)):
        m.d.sync += slow.eq(slow + ~stalled)
    with m.Else():
        m.d.sync += slow.eq(0)
    proof.require(~waiting | is_next | (slow < patience), f"what is regular is offered within {patience} cycles")
    steps = Mux(waits, place + ~rows.offers + ~rulings.offers + ~front.spare_empty + 1, ahead)
    proof.lemma(~waiting | (slow + steps <= patience), "the steps that are left become fewer")
    proof.cover(is_next & front.left & (slow > 2), "a followed beat leaves late")
    proof.cover(moves & tagged, "a followed beat goes away")
    proof.cover(proof.inside("no_more") & incoming.valid & ~incoming.p.last, "the rest of a frame is not kept")
    proof.cover(~dut.open & (rows.held == room - 2), "frames that wait close the port")


@pytest.mark.parametrize(
    "layer", [pytest.param(0, marks=pytest.mark.long), 1, pytest.param(2, marks=pytest.mark.long), 3]
)
def test_outlet(tmp_path, layer):
    frames_hold(proof := LayeredProof(SMALLER(CONFIG), layer))
    proof.check(tmp_path, depth=4, induction=2, cover=14)
