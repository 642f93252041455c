"""Admission's rules of acceptance over again, for its proofs: from a packet's first beat and the record found then."""

from amaranth import *

from fanfold.admission.layouts import screened_layout
from fanfold.codes import Origin, Status
from fanfold.config import Config
from fanfold.registry.ports import slot_layout

__all__ = ["CONFIG", "Judgement", "told_of"]

CONFIG = Config(beat_bytes=8, contributors=3, contexts=2, window=2, segment_bytes=128, queue_bits=1)


def told_of(part) -> Value:
    """What all contributions to a segment must say alike."""
    return Cat(part.collective, part.opt_code, part.data_type, part.root, part.length)


class Judgement:
    """What ``Decide`` should think of a packet, in the cycle after each of its beats (``came``).

    The input is packets, with gaps anywhere; records may have any contents in every cycle. ``packet`` is the first
    beat, ``record`` what was found for it; all that follows from these two stands until the packet's last beat.
    """

    def __init__(self, proof):
        m, beat, found = proof.m, proof.dut.i, proof.dut.slots.found
        self.came, self.known = Signal(), Signal()  # a beat came just now; one came at any time
        self.inside = inside = Signal()  # a packet has begun and not ended
        self.first, self.last, self.bad = (Signal(name=f"beat_{name}") for name in ("first", "last", "bad"))
        self.packet = packet = Signal(screened_layout(CONFIG), name="packet")
        self.slot = Signal(range(CONFIG.fold_slots), name="slot")
        m.d.sync += [
            self.came.eq(beat.valid),
            self.known.eq(self.known | beat.valid),
            self.first.eq(beat.valid & beat.p.first),
            self.last.eq(beat.p.last),
            self.bad.eq(beat.p.bad),
        ]
        with m.If(beat.valid):
            m.d.sync += inside.eq(~beat.p.last)
        with m.If(beat.valid & beat.p.first):
            m.d.sync += [packet.eq(beat.payload), self.slot.eq(proof.dut.slots.find)]
        proof.assume(~beat.valid | (beat.p.first == ~inside), "a packet begins where the one before has ended")

        self.kept = Signal(slot_layout(CONFIG), name="kept")
        self.kept_limited = Signal(name="kept_limited")
        self.record = Signal(slot_layout(CONFIG), name="record")
        limited = Signal(name="limited")  # a window of results is not delivered yet
        at_limit = proof.inside("undelivered.at_limit").bit_select(packet.context, 1)
        m.d.comb += [
            self.record.eq(Mux(self.first, Value.cast(found), Value.cast(self.kept))),
            limited.eq(Mux(self.first, at_limit, self.kept_limited)),
        ]
        m.d.sync += [self.kept.eq(self.record), self.kept_limited.eq(limited)]
        self._judge(m, packet, self.record, limited)

    def _judge(self, m, packet, record, limited):
        self.total = Signal(range(CONFIG.contributors + 1), name="judged_total")
        self.here = record.present.bit_select(packet.header.source[: CONFIG.levels], 1)
        self.folds = (record.missing == 1) & ~packet.down  # it is the contribution that completes the segment
        self.yields = packet.down | (self.folds & packet.geometry.root)  # its result is to be delivered
        self.crowded = limited & self.yields
        self.up, self.accepted = Signal(name="judged_up"), Signal(name="judged_accepted")
        self.status, self.empty = Signal(16, name="judged_status"), Signal(name="judged_empty")
        in_turn = (record.turn == packet.header.coll_tag) & ~self.crowded
        screened = (packet.origin != Origin.ANNOUNCED) & (packet.refusal == Status.OK) & in_turn
        down = screened & packet.down & record.waiting & ~packet.too_long
        m.d.comb += [
            self.total.eq(packet.geometry.leaders + packet.geometry.children),
            self.up.eq(screened & ~packet.down & ~record.waiting & ~self.here),
            self.accepted.eq((packet.origin == Origin.ANNOUNCED) | self.up | down),
            self.empty.eq(
                Mux(self.up, self.status != 0, (packet.origin != Origin.ANNOUNCED) & packet.header.status.any())
            ),
        ]
        with m.If(record.begun & (record.status != Status.OK)):
            m.d.comb += self.status.eq(Value.cast(record.status))
        with m.Elif(packet.failing != Status.OK):
            m.d.comb += self.status.eq(Value.cast(packet.failing))
        with m.Elif(record.begun & (told_of(record) != told_of(packet.header))):
            m.d.comb += self.status.eq(Status.MISMATCH.value)

    def is_kept(self, proof) -> None:
        """The component keeps the same of the packet and its record: what makes the proofs inductive."""
        now = screened_layout(CONFIG)(proof.inside("now"))
        unchanged = [
            Value.cast(now[name]) == Value.cast(self.packet[name])
            for name, _ in screened_layout(CONFIG)
            if name not in ("data", "first", "last", "bad")
        ]
        proof.lemma(self.known | ~(self.inside | self.came), "packets begin with a beat")
        proof.lemma(self.came | ~self.first, "a first beat is a beat")
        proof.lemma(proof.inside("valid") == self.came, "a beat is decided a cycle later")
        proof.lemma(~self.known | Cat(*unchanged).all(), "the packet is kept as its first beat said")
        of_beat = Cat(now.first, now.last, now.bad) == Cat(self.first, self.last, self.bad)
        proof.lemma(~self.came | of_beat, "each beat is what came")
        window_bits = (CONFIG.window - 1).bit_length()
        slot = Cat(self.packet.header.coll_tag[:window_bits], self.packet.context)
        proof.lemma(~self.known | (slot == self.slot), "the slot is that of the tag")
        stands = ~self.known | self.first
        proof.lemma(stands | (proof.inside("held") == Value.cast(self.kept)), "the record is kept as it was found")
        proof.lemma(stands | (proof.inside("was_crowded") == self.crowded), "so is whether there was room")
