"""Admission's rules of acceptance over again, for its proofs: from a packet's first beat and the record found then."""

from amaranth import *

from fanfold.admission.judge import verdict_layout
from fanfold.admission.layouts import screened_layout
from fanfold.admission.undelivered import Undelivered
from fanfold.codes import Origin, Status
from fanfold.config import Config
from fanfold.registry.ports import slot_layout
from fanfold.wire import FLAGS

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
        self.record = Signal(slot_layout(CONFIG), name="record")
        m.d.comb += self.record.eq(Mux(self.first, Value.cast(found), Value.cast(self.kept)))
        m.d.sync += self.kept.eq(self.record)
        # what is still under way of the packet's context when its first beat is judged
        self.under_way = {}
        for name in ("at_limit", "waiting", "sending"):
            at_first, now = Signal(name=f"kept_{name}"), Signal(name=f"judged_{name}")
            found_now = proof.inside(f"undelivered.{name}").bit_select(packet.context, 1)
            m.d.comb += now.eq(Mux(self.first, found_now, at_first))
            m.d.sync += at_first.eq(now)
            self.under_way[name] = now
        self._judge(m, packet, self.record)
        for context in range(CONFIG.contexts):
            singles = proof.inside(f"undelivered.singles_{context}")
            gone = proof.dut.host_single_done[context] + proof.dut.net_single_done[context]
            proof.assume(gone <= singles, f"context {context}: only single packets that were given are done")
            room = singles < Undelivered(CONFIG).singles
            proof.assume(room, f"context {context}: there are never as many single packets as there is room for")

    def _judge(self, m, packet, record):
        header = packet.header
        limited, waiting, sending = (self.under_way[name] for name in ("at_limit", "waiting", "sending"))
        self.total = Signal(range(CONFIG.contributors + 1), name="judged_total")
        self.here = record.present.bit_select(header.source[: CONFIG.levels], 1)
        self.full = Signal(name="judged_full")  # it is the contribution that completes the segment
        self.yields = packet.down | ((record.missing == 1) & packet.geometry.root)  # its result is to be delivered
        self.crowded = limited & self.yields
        turn = record.turn == header.coll_tag
        received = (packet.origin == Origin.RECEIVED) & (packet.refusal == Status.OK)
        alone = turn & ~waiting & (packet.refusal == Status.OK)
        last = record.last.valid & ((record.turn - header.coll_tag)[:32] == CONFIG.window)
        before = (header.coll_tag - record.turn)[31]
        asked = (
            received & ~packet.down & before & (FLAGS(header.flags).repeat | (last & (record.last.status != Status.OK)))
        )
        verdicts = {
            "up": received & ~packet.down & ~packet.lingering & turn & ~self.crowded & ~record.waiting & ~self.here,
            "down": received & packet.down & turn & ~packet.too_long
            & ((~self.crowded & record.waiting) | (~waiting & header.status.any())),
            "announced": packet.origin == Origin.ANNOUNCED,
            "overdue": alone & (packet.origin == Origin.OVERDUE) & record.begun & ~record.waiting
            & (record.missing == header.source),
            "given_up": alone & (packet.origin == Origin.GIVEN_UP) & record.waiting,
            "repeated": turn & (packet.refusal == Status.OK) & (packet.origin == Origin.REPEATED) & record.waiting
            & ~sending,
            "answered": asked & ~sending,
        }  # fmt: skip
        self.verdicts = {name: Signal(name=f"judged_{name}") for name in verdicts}
        m.d.comb += [self.verdicts[name].eq(condition) for name, condition in verdicts.items()]
        self.up, self.down = self.verdicts["up"], self.verdicts["down"]
        overdue, given_up = self.verdicts["overdue"], self.verdicts["given_up"]
        self.accepted, self.changes = Signal(name="judged_accepted"), Signal(name="judged_changes")
        self.status, self.goes, self.short = Signal(16, name="judged_status"), Signal(), Signal()
        self.ends = Signal(name="judged_ends")
        failed = record.begun & (record.status != Status.OK)  # before it
        reported = header.status.any()
        m.d.comb += [
            self.total.eq(packet.geometry.leaders + packet.geometry.children),
            self.full.eq(self.up & (record.missing == 1)),
            self.accepted.eq(Cat(*self.verdicts.values()).any()),
            self.changes.eq(self.up | self.down | overdue | given_up),
            self.ends.eq(self.down | given_up | ((self.full | overdue) & packet.geometry.root)),
            # a contribution to a segment that has failed already is needed no more, but to end it
            self.goes.eq(self.accepted & ~(self.up & failed & ~self.full)),
            self.short.eq(
                Mux(self.up, (self.status != 0) & ~(~failed & reported), overdue & failed)
                | self.verdicts["repeated"] | self.verdicts["answered"]
            ),
        ]  # fmt: skip
        with m.If(given_up):
            m.d.comb += self.status.eq(Status.PEER_GONE.value)
        with m.Elif(self.down):
            m.d.comb += self.status.eq(header.status)
        with m.Elif(failed):
            m.d.comb += self.status.eq(Value.cast(record.status))
        with m.Elif(overdue):
            m.d.comb += self.status.eq(Status.TIMED_OUT.value)
        with m.Elif(packet.failing != Status.OK):
            m.d.comb += self.status.eq(Value.cast(packet.failing))
        with m.Elif(record.begun & (told_of(record) != told_of(header))):
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
        judged = verdict_layout()(proof.inside("judged"))
        for name, verdict in self.verdicts.items():
            proof.lemma(stands | (judged[name] == verdict), f"so is the verdict: {name}")
        proof.lemma(
            self.came | (proof.inside("inside") == self.inside), "between beats it is known whether one is inside"
        )
        proof.lemma(~self.came | proof.inside("inside"), "and while there is one")
