"""Frame beats without VLAN tags: the header bytes of a packet, then its payload as the result store gives it.

Packets come from ``headers``, payload from the results room's store; beats go to ``insert``.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..results.ports import READ_LATENCY, read_signature
from ..wire import HEADER_BYTES, VLAN
from .headers import packet_layout
from .insert import untagged_layout

__all__ = ["Build"]


class Build(wiring.Component):
    """Issues one step a cycle, a header beat or the address of a payload beat, into a pipeline that runs as a whole.

    Everything in the pipeline and the store itself move with one enable, so the steps stay in order and a packet that
    has begun has no gap. A silent packet takes one cycle and sends nothing.

    Latency: ``latency``. Throughput: 1, also between packets. Ready path: combinational. Order: kept. On error: none.

    ``closed`` names a context when the closing packet, and so each one before it, has all its steps issued: the store
    is not read for them any more. ``sent`` is high for one cycle for each packet built.
    """

    latency = READ_LATENCY + 1

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(packet_layout(config))),
                "store": Out(read_signature(config)),
                "o": Out(stream.Signature(untagged_layout(config))),
                "closed": Out(stream.Signature(range(config.contexts), always_ready=True)),
                "sent": Out(1),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        self._move = Signal()  # the whole pipeline moves in this cycle
        step = self._issue(m)
        self._follow(m, step)
        return m

    def _issue(self, m):
        """The step of this cycle: counts through the header's beats, then the payload's."""
        config = self._config
        packet = self.i.payload
        words = HEADER_BYTES // config.beat_bytes
        word = Signal(range(max(words, 2)))  # stays 0 where the header is one beat
        beat = Signal(range(config.segment_beats))
        left = Signal(range(config.segment_beats), reset_less=True)  # beats of the payload after this one
        in_payload = Signal()
        ends = Signal()  # known one step ahead: this one is the packet's last
        ending = Signal()
        m.d.comb += ending.eq(ends)
        if words == 1:
            with m.If(~in_payload):
                m.d.comb += ending.eq(~packet.payload)

        step = Signal(
            data.StructLayout({"valid": 1, "payload": 1, "beat": untagged_layout(config)}),
            name="step",
        )
        m.d.comb += [
            step.valid.eq(self.i.valid & ~packet.silent),
            step.payload.eq(in_payload),
            step.beat.frame.last.eq(ending),
            step.beat.frame.count.eq(Mux(in_payload & ending, packet.count, config.beat_bytes)),
            step.beat.frame.queue.eq(packet.queue),
            step.beat.tags.eq(packet.tags),
            step.beat.outer.eq(packet.outer),
            step.beat.inner.eq(packet.inner),
            self.store.address.beat.eq(beat),
            self.store.address.slot.eq(packet.slot),
            self.store.address.context.eq(packet.context),
            self.store.address.direction.eq(packet.direction),
            self.store.enable.eq(self._move),
            self.i.ready.eq(self._move & (ending | packet.silent)),
        ]
        with m.Switch(word):
            for index in range(words):
                with m.Case(index):
                    m.d.comb += step.beat.frame.data.eq(packet.header.word_select(index, 8 * config.beat_bytes))

        with m.If(self._move & step.valid):
            with m.If(ending):
                m.d.sync += [word.eq(0), beat.eq(0), in_payload.eq(0), ends.eq(0)]
            with m.Elif(in_payload):
                m.d.sync += [beat.eq(beat + 1), left.eq(left - 1), ends.eq(left == 1)]
            with m.Elif(word == words - 1):
                m.d.sync += [in_payload.eq(1), left.eq(packet.last_beat), ends.eq(packet.last_beat == 0)]
            with m.Else():
                m.d.sync += [word.eq(word + 1), ends.eq((word == words - 2) & ~packet.payload)]

        done = self.i.valid & self.i.ready
        m.d.sync += [
            self.closed.valid.eq(done & packet.closing),
            self.closed.payload.eq(packet.context),
            self.sent.eq(done & ~packet.silent),
        ]
        return step

    def _follow(self, m, step):
        """Ranks as many as the store's, then one that takes the stored beat in place of the header's."""
        for rank in range(READ_LATENCY):
            later = Signal(step.shape(), name=f"step_{rank + 1}", reset_less=True)
            valid = Signal(name=f"step_{rank + 1}_valid")
            with m.If(self._move):
                m.d.sync += [later.eq(step), valid.eq(step.valid)]
            held = Signal(step.shape(), name=f"read_{rank + 1}")
            m.d.comb += [held.eq(later), held.valid.eq(valid)]
            # what the tags make of the last beat, one thing a rank
            beat = held.beat
            if rank == 0:
                m.d.comb += beat.filled.eq(later.beat.frame.count + VLAN.bytes * later.beat.tags)
            else:
                m.d.comb += beat.over.eq(later.beat.frame.last & (later.beat.filled > self._config.beat_bytes))
            step = held
        offered = Signal(untagged_layout(self._config), reset_less=True)
        offered_valid = Signal()
        m.d.comb += [
            self.o.payload.eq(offered),
            self.o.valid.eq(offered_valid),
            self._move.eq(self.o.ready | ~offered_valid),
        ]
        with m.If(self._move):
            m.d.sync += [offered.eq(step.beat), offered_valid.eq(step.valid)]
            with m.If(step.payload):
                m.d.sync += offered.frame.data.eq(self.store.data)
