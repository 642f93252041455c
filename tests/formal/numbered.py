"""Frame beats that carry numbers: what makes proofs about whole frames in a queue inductive.

Nothing inside looks at a frame's host queue. So a proof has numbers come in there, and finds them wherever the beats
are: it needs no account of its own that would have to be kept in step with the rows of a memory.
"""

from amaranth import *

__all__ = ["BEAT_BITS", "QUEUE_BITS", "NumberedFrames", "Rows"]

#: bits of a beat's number and of its frame's: twice of what waits anywhere and more, so that differences tell the order
BEAT_BITS, FRAME_BITS = 5, 5
QUEUE_BITS = BEAT_BITS + FRAME_BITS


class Rows:
    """A queue of ``depth``: an output register behind rows of memory. ``stored`` are in use, all but one at most."""

    def __init__(self, proof, path: str, depth: int):
        self._proof, self._path = proof, path
        self.count = count = depth
        self.produce, self.consume = proof.inside(f"{path}.produce"), proof.inside(f"{path}.consume")
        self.stored, self.offers = proof.inside(f"{path}.stored"), proof.inside(f"{path}.offers")
        self.front = proof.inside(f"{path}.o__payload")
        self.held = Signal(range(depth + 1), name=f"{path}_held")
        proof.m.d.comb += self.held.eq(self.stored + self.offers)
        positions = (self.produce < count) & (self.consume < count) & (self.stored < count)
        proof.lemma(positions, f"{path}: positions are those of rows")
        room, more = proof.inside(f"{path}.has_room"), proof.inside(f"{path}.has_more")
        known = (room == (self.stored != count - 1)) & (more == (self.stored != 0))
        proof.lemma(known, f"{path}: there is room, and more, as rows say")
        proof.lemma(proof.inside(f"{path}.level") == self.held, f"{path}: the level is that of the rows")
        enclosed = (self.consume + self.stored == self.produce) | (self.consume + self.stored == self.produce + count)
        proof.lemma(enclosed, f"{path}: positions enclose what is stored")

    def place(self, row: int) -> Signal:
        """How many rows are read before this one: it is in use if that is less than ``stored``."""
        place = Signal(range(self.count), name=f"{self._path}_place_{row}")
        ahead = row - self.consume
        self._proof.m.d.comb += place.eq(Mux(self.consume <= row, ahead, ahead + self.count))
        return place

    def item(self, row: int) -> Signal:
        """What is in this row."""
        return self._proof.row(f"{self._path}.storage", Const(row, range(self.count)), f"{self._path}_row_{row}")

    def nth(self, place, name: str) -> Signal:
        """What is in the row that is read after so many others."""
        where = Signal(range(2 * self.count + 1), name=f"{name}_where")
        self._proof.m.d.comb += where.eq(self.consume + place)
        row = Mux(where >= self.count, where - self.count, where)
        return self._proof.row(f"{self._path}.storage", row, name)


class NumberedFrames:
    """Numbers the beats that go into the queue ``frames`` of an outlet, and the frames that they are of.

    ``next_beat`` and ``next_frame`` are the numbers that a beat would get now; ``gone`` beats and ``frames_gone``
    frames have left the queue. Beats are in the order of their numbers, a last beat ends its frame, and there are no
    more frames inside than beats.
    """

    def __init__(self, proof, layout, depth: int, goes_in, goes_out):
        m, incoming = proof.m, proof.dut.frames
        self.rows = rows = Rows(proof, "frames", depth)
        self.next_beat, self.next_frame = Signal(BEAT_BITS), Signal(FRAME_BITS)
        self.gone, self.frames_gone = Signal(BEAT_BITS), Signal(FRAME_BITS)
        self.front = front = layout(rows.front)
        proof.assume(incoming.p.queue == Cat(self.next_beat, self.next_frame), "beats carry their numbers")
        m.d.sync += [
            self.next_beat.eq(self.next_beat + goes_in),
            self.next_frame.eq(self.next_frame + (goes_in & incoming.p.last)),
            self.gone.eq(self.gone + goes_out),
            self.frames_gone.eq(self.frames_gone + (goes_out & front.last)),
        ]
        proof.lemma((self.next_beat - self.gone)[:BEAT_BITS] == rows.held, "numbers count those inside")
        proof.lemma((rows.held != 0) | (self.next_frame == self.frames_gone), "without beats there are no frames")
        proof.lemma(
            ~rows.offers | (front.queue[BEAT_BITS:] == self.frames_gone), "the front is of the next frame to go"
        )
        self._in_order(proof, rows.offers, front, 0, rows.stored != 0, layout(rows.nth(0, "second")))
        beats = [layout(rows.item(row)) for row in range(rows.count)]
        for row, beat in enumerate(beats):
            place = rows.place(row)
            after = place + 1 < rows.stored
            self._in_order(proof, place < rows.stored, beat, place + rows.offers, after, beats[(row + 1) % rows.count])
        self.nth_beat = lambda place, name: layout(rows.nth(place, name))

    def _in_order(self, proof, used, beat, place, followed, following):
        number, frame = beat.queue[:BEAT_BITS], beat.queue[BEAT_BITS:]
        next_frame = Mux(followed, following.queue[BEAT_BITS:], self.next_frame)
        proof.lemma(~used | (number == (self.gone + place)[:BEAT_BITS]), "beats are in order")
        proof.lemma(~used | (next_frame == (frame + beat.last)[:FRAME_BITS]), "frames end with their last beats")
        behind = (self.next_frame - frame)[:FRAME_BITS]
        proof.lemma(~used | (behind <= self.rows.held - place), "there are no more frames than beats")
