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
    Where the packet's end will not fit its last beat for the tags, there is one more step for what is left over.

    Everything in the pipeline and the store itself move with one enable, so the steps stay in order and a packet that
    has begun has no gap. The enable is wide, and is the output's ready itself. A silent packet takes one cycle and
    sends nothing.

    Latency: ``latency``. Throughput: 1, also between packets. Ready path: combinational, through one choice. Order:
    kept. On error: none.

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
        self._step_layout = data.StructLayout(
            {
                "valid": 1,
                "payload": 1,
                "rests": 1,
                "filled": range(config.beat_bytes + 2 * VLAN.bytes + 1),
                "beat": untagged_layout(config),
            }
        )

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
        rests = Signal()  # this step has only what the tags push out of the beat before
        ends = Signal()  # known one step ahead: this one has the packet's last byte, as far as it has room
        closes = Signal()  # ... and this one is its last step
        ending, closing = Signal(), Signal()
        m.d.comb += [ending.eq(ends), closing.eq(closes | packet.single)]
        if words == 1:
            with m.If(~in_payload & ~rests):
                m.d.comb += ending.eq(~packet.payload)

        step = Signal(self._step_layout, name="step")
        header = [packet.header.word_select(index, 8 * config.beat_bytes) for index in range(words)]
        m.d.comb += [
            step.valid.eq(self.i.valid & ~packet.silent),
            step.payload.eq(in_payload),
            step.rests.eq(rests),
            step.beat.frame.data.eq(Array(header)[word] if words > 1 else header[0]),
            step.beat.frame.last.eq(closing),
            step.beat.frame.count.eq(Mux(in_payload, packet.count, config.beat_bytes)),
            step.beat.frame.queue.eq(packet.queue),
            step.beat.tags.eq(packet.tags),
            step.beat.outer.eq(packet.outer),
            step.beat.inner.eq(packet.inner),
            self.store.address.beat.eq(beat),
            self.store.address.slot.eq(packet.slot),
            self.store.address.context.eq(packet.context),
            self.store.address.direction.eq(packet.direction),
            self.store.enable.eq(self._move),
            self.i.ready.eq(self._move & (closes | packet.alone)),
        ]

        def next_ends(last):
            return [ends.eq(last), closes.eq(last & ~packet.over)]

        with m.If(self._move & step.valid):
            with m.If(closing):
                m.d.sync += [word.eq(0), beat.eq(0), in_payload.eq(0), rests.eq(0), ends.eq(0), closes.eq(0)]
            with m.Elif(ending):
                m.d.sync += [rests.eq(1), closes.eq(1)]
            with m.Elif(in_payload):
                m.d.sync += [beat.eq(beat + 1), left.eq(left - 1), *next_ends(left == 1)]
            with m.Elif(word == words - 1):
                m.d.sync += [in_payload.eq(1), left.eq(packet.last_beat), *next_ends(packet.last_beat == 0)]
            with m.Else():
                m.d.sync += [word.eq(word + 1), *next_ends((word == words - 2) & ~packet.payload)]

        done = self.i.valid & self.i.ready
        m.d.sync += [
            self.closed.valid.eq(done & packet.closing),
            self.closed.payload.eq(packet.context),
            self.sent.eq(done & ~packet.silent),
        ]
        return step

    def _follow(self, m, step):
        """Ranks as many as the store's, then one that takes the stored beat in place of the header's."""
        size = self._config.beat_bytes
        m.d.comb += self._move.eq(self.o.ready)
        for rank in range(READ_LATENCY):
            later = Signal(step.shape(), name=f"step_{rank + 1}", reset_less=True)
            valid = Signal(name=f"step_{rank + 1}_valid")
            with m.If(self._move):
                m.d.sync += [later.eq(step), valid.eq(step.valid)]
            held = Signal(step.shape(), name=f"read_{rank + 1}")
            m.d.comb += [held.eq(later), held.valid.eq(valid)]
            # what the tags make of the count, one thing a rank
            frame = later.beat.frame
            if rank == 0:
                m.d.comb += held.filled.eq(frame.count + VLAN.bytes * later.beat.tags)
            else:
                count = Mux(later.rests, later.filled - size, later.filled)
                m.d.comb += held.beat.frame.count.eq(Mux(frame.last, count, size))
            step = held
        offered = Signal(untagged_layout(self._config), reset_less=True)
        offered_valid = Signal()
        m.d.comb += [self.o.payload.eq(offered), self.o.valid.eq(offered_valid)]
        with m.If(self._move):
            m.d.sync += [offered.eq(step.beat), offered_valid.eq(step.valid)]
            with m.If(step.payload):
                m.d.sync += offered.frame.data.eq(self.store.data)
