"""The decision: accept or refuse, from the slot's record, and write the record back. One packet a cycle."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import Config
from ..control.reports import report_layout
from ..registry.ports import slot_layout, slots_signature
from ..wire import FAULT
from .account import Account, decisions_layout
from .judge import Judge, verdict_layout
from .layouts import decided_layout, screened_layout
from .outcome import Outcome
from .undelivered import Undelivered

__all__ = ["Decide"]


class Decide(wiring.Component):
    """Compares each packet with the record of its slot; what is accepted goes on, what is refused ends here, counted.

    A packet is judged by its first beat, and changes the record on its last one, only if that is not bad. A
    contribution that fails its segment, and what has no payload of its own, goes on as one beat, its last.

    Latency: 3. Throughput: 1. Ready path: always ready. Order: kept. On error: a refused or bad packet changes nothing.
    """

    latency = 3

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(screened_layout(config), always_ready=True)),
                "slots": Out(slots_signature(config)),
                #: what delivery is done with at each port, a bit a context: results, and single packets
                "host_done": In(config.contexts),
                "net_done": In(config.contexts),
                "host_single_done": In(config.contexts),
                "net_single_done": In(config.contexts),
                #: contexts of which something is still to be delivered, or to be decided
                "undelivered": Out(config.contexts),
                #: contexts of which a packet for one receiver is
                "sending": Out(config.contexts),
                "o": Out(stream.Signature(decided_layout(config), always_ready=True)),
                "events": Out(decisions_layout()),
                "reports": Out(stream.Signature(report_layout(config), always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        window_bits = (config.window - 1).bit_length()

        m.submodules.undelivered = undelivered = Undelivered(config)
        for name in ("host_done", "net_done", "host_single_done", "net_single_done"):
            m.d.comb += getattr(undelivered, name).eq(getattr(self, name))

        # the record of the packet's slot comes in with its first beat, and stands until its last
        now = Signal(screened_layout(config), reset_less=True)
        valid = Signal()
        inside = Signal()  # a packet has begun to be decided and not ended
        held = Signal(slot_layout(config), reset_less=True)
        record = slot_layout(config)(Mux(now.first, Value.cast(self.slots.found), Value.cast(held)))
        slot = Cat(now.header.coll_tag[:window_bits], now.context)
        m.d.comb += self.slots.find.eq(Cat(self.i.p.header.coll_tag[:window_bits], self.i.p.context))
        m.d.sync += valid.eq(self.i.valid)
        with m.If(self.i.valid & self.i.p.first):
            m.d.sync += now.eq(self.i.payload)
        with m.Elif(self.i.valid):
            m.d.sync += [now[name].eq(self.i.p[name]) for name in ("data", "first", "last", "bad")]
        with m.If(valid & now.first):
            m.d.sync += held.eq(self.slots.found)
        with m.If(self.i.valid):
            m.d.sync += inside.eq(1)
        with m.Elif(valid & now.last):
            m.d.sync += inside.eq(0)

        # a packet is judged once, by its first beat, whatever changes while it comes in
        m.submodules.judge = judge = Judge(config)
        judged = Signal(verdict_layout())
        verdict = Signal(verdict_layout())
        m.d.comb += [
            judge.packet.eq(now),
            judge.record.eq(record),
            judge.at_limit.eq(undelivered.at_limit.bit_select(now.context, 1)),
            judge.undelivered.eq(undelivered.waiting.bit_select(now.context, 1)),
            judge.sending.eq(undelivered.sending.bit_select(now.context, 1)),
            verdict.eq(Mux(now.first, Value.cast(judge.verdict), Value.cast(judged))),
        ]
        with m.If(valid & now.first):
            m.d.sync += judged.eq(judge.verdict)

        m.submodules.outcome = outcome = Outcome(config)
        effect = outcome.effect
        done = Signal()  # the whole packet is in
        commit = self.slots.commit
        m.d.comb += [
            outcome.packet.eq(now),
            outcome.record.eq(record),
            outcome.verdict.eq(verdict),
            done.eq(valid & now.last & ~now.bad),
            commit.valid.eq(done & effect.changes),
            commit.p.slot.eq(slot),
            commit.p.record.eq(outcome.after),
            undelivered.result.valid.eq(done & effect.result & effect.leaves),
            undelivered.result.payload.eq(now.context),
            undelivered.single.valid.eq(done & effect.single & effect.leaves),
            undelivered.single.payload.eq(now.context),
            self.sending.eq(undelivered.sending),
            self.undelivered.eq(undelivered.waiting | Mux(inside, 1 << now.context, 0)),
        ]
        m.submodules.account = account = Account(config)
        told = account.i.p
        m.d.comb += [
            account.i.valid.eq(done),
            told.packet.eq(now),
            told.slot.eq(slot),
            told.verdict.eq(verdict),
            told.status.eq(outcome.status),
            told.begun.eq(record.begun),
            told.waits.eq(record.waiting),
            told.in_turn.eq(judge.in_turn),
            told.before.eq(judge.before),
            told.here.eq(judge.here),
            told.undelivered.eq(judge.undelivered),
            told.full.eq(effect.full),
            told.ends.eq(effect.ends),
            self.events.eq(account.events),
        ]
        connect(m, account.reports, flipped(self.reports))
        self._send(m, now, valid, verdict, effect, slot, record)
        return m

    def _send(self, m, now, valid, verdict, effect, slot, record):
        config = self._config
        output = Signal(decided_layout(config), reset_less=True)
        output_valid = Signal()
        beat = Signal(range(config.segment_beats))
        goes, place = Signal(), Signal(range(config.segment_beats))
        me = Signal(config.contributors)
        m.d.comb += [
            # a contribution without effect on the fold or the results ends here
            goes.eq(valid & (effect.folds | effect.leaves)),
            me.eq(1 << now.header.source[: config.levels]),
            place.eq(Mux(now.first, 0, beat)),
        ]
        with m.If(valid & (place != config.segment_beats - 1)):  # a packet may be longer than what is kept of it
            m.d.sync += beat.eq(place + 1)

        fault = Signal(FAULT.struct())
        m.d.comb += [fault.node.eq(now.geometry.node), fault.contributor.eq(now.header.source), fault.count.eq(1)]
        m.d.sync += [
            output_valid.eq(goes & (now.last | ~effect.short)),
            output.data.eq(Mux(effect.faulty, FAULT.to_wire(fault)[: 8 * config.beat_bytes], now.data)),
            output.first.eq(now.first | effect.short),
            output.last.eq(now.last),
            output.bad.eq(now.bad),
            output.beat.eq(Mux(effect.short, 0, place)),
            output.slot.eq(slot),
            output.leaf.eq(Mux(verdict.up, now.header.source, 0)),
            output.folds.eq(effect.folds),
            output.present.eq(record.present | me),
            output.total.eq(now.geometry.leaders + now.geometry.children),
            output.leaves.eq(effect.leaves),
            output.segment.eq(effect.segment),
        ]
        # one more rank, for the decision's fan-out
        m.d.sync += [
            self.o.payload.eq(output),
            self.o.p.operator.eq(output.segment.header.opt_code),
            self.o.p.type.eq(output.segment.header.data_type),
            self.o.valid.eq(output_valid),
        ]
