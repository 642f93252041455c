"""Who is late: contributors of a segment, or the parent. A timer's packet tells it to the fold like any other packet.

Where the sweep stops, the slot is looked up again, a packet is made of what is so, and the sweep goes on. Nothing here
is in the way of a contribution; what a packet says may be over when admission gets it, which compares turn and missing.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..codes import Origin, Port
from ..config import Config
from ..control.timing import timing_layout
from ..registry.ports import commit_layout
from ..wire import FAULT, tagged_layout
from .sweep import Sweep
from .timed_slots import Kind, TimedSlots, patience_layout

__all__ = ["Timers", "patience_layout"]

#: contributors that are looked at in one cycle for who is missing
_AT_ONCE = 8


class Timers(wiring.Component):
    """Sends OVERDUE, GIVEN_UP and REPEATED for the slots that admission ``commit``s.

    A slot that begins to fold is OVERDUE when its context's patience is over. One that begins to wait for the parent is
    REPEATED every ``retry_ticks``, ``retry_limit`` times, and GIVEN_UP after one more interval; without repeats it is
    GIVEN_UP after two patiences. OVERDUE and GIVEN_UP are due again with the next tick while the slot stays as it is:
    whoever gets them may have to put them off. An interval is over when ``now`` has gone up so often since its start.

    ``header`` of a packet: ``comm_id`` is the context, ``coll_tag`` the turn, ``source`` how many are missing,
    ``length`` that of the fault record behind it (0 with REPEATED); the rest is 0. What was committed or forgotten two
    cycles before a packet is first offered, or earlier, is known to it.

    A context that is ``sending`` something to one receiver is asked to repeat nothing meanwhile: slots whose time is up
    together repeat one after another.

    ``timed``: a clock is needed. Without it, and without a commit or a context that comes or goes, no register changes;
    it is a register, and follows what is timed by a cycle. ``busy`` has a bit for the context whose packet is being
    made or offered. ``describe`` and ``forget``: see ``TimedSlots``. Where a context has no patience of its own it gets
    that of ``timing`` when it is described; ``timing`` may otherwise change while nothing is timed.

    Latency: ``latency`` cycles from the tick with which a slot is due to its packet, and the time that others' packets
    take. Throughput: one packet in ``packet_cycles``. Ready path: registered (a state). Order: by slot, round robin. On
    error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "timing": In(timing_layout()),
                "now": In(32),
                "commit": In(stream.Signature(commit_layout(config), always_ready=True)),
                "describe": In(stream.Signature(patience_layout(config), always_ready=True)),
                "forget": In(config.contexts),
                "sending": In(config.contexts),
                "o": Out(stream.Signature(tagged_layout(config))),
                "timed": Out(1),
                "busy": Out(config.contexts),
            }
        )
        self._config = config

    @property
    def _chunks(self) -> int:
        return -(-self._config.contributors // _AT_ONCE)

    @property
    def _beats(self) -> int:
        return -(-FAULT.bytes // self._config.beat_bytes)

    @property
    def packet_cycles(self) -> int:
        """Cycles at most that a packet keeps the sweep, if it is not stalled and the times can be written at once."""
        return 9 + self._chunks + self._beats

    @property
    def latency(self) -> int:
        """Cycles at most from a slot's tick to its packet when all slots are timed and no other is due."""
        return self._config.fold_slots + self.packet_cycles

    def elaborate(self, platform):
        m = Module()
        config = self._config
        window_bits = (config.window - 1).bit_length()
        m.submodules.slots = slots = TimedSlots(config)
        for name in ("commit", "describe"):
            connect(m, flipped(getattr(self, name)), getattr(slots, name))
        repeating = Signal()
        m.d.sync += repeating.eq(self.timing.retry_ticks != 0)
        m.d.comb += [
            slots.abort_ticks.eq(self.timing.abort_ticks),
            slots.repeating.eq(repeating),
            slots.now.eq(self.now),
            slots.forget.eq(self.forget),
        ]

        m.submodules.sweep = sweep = Sweep(config)
        sweeps = Signal()
        makes = Signal()
        context = Signal(range(config.contexts))
        kind = sweep.kind
        m.d.sync += self.timed.eq(slots.active.any() | ~sweeps | sweep.stops)
        m.d.comb += [
            slots.slot.eq(sweep.slot),
            context.eq(sweep.slot[window_bits:]),
            sweep.timing.eq(self.timing),
            sweep.repeating.eq(repeating),
            sweep.now.eq(self.now),
            sweep.active.eq(slots.active),
            sweep.timed.eq(self.timed),
            sweep.sweeps.eq(sweeps),
            sweep.found_kind.eq(slots.kind),
            sweep.found_times.eq(slots.times),
            sweep.found_patience.eq(slots.context.patience),
            self.busy.eq(makes << context),
        ]

        # the packet; what it says is over if the slot's record was written since it was looked up
        origin = Signal(Origin)
        turn = Signal(32, reset_less=True)
        missing = Signal(range(config.contributors + 1), reset_less=True)
        node = Signal(32, reset_less=True)
        first = Signal(16, reset_less=True)
        bitmap = Signal(_AT_ONCE * self._chunks, reset_less=True)
        rest = Signal(range(config.contributors + 1), reset_less=True)  # contributors that were not looked at
        step = Signal(range(max(8, self._chunks)))
        beat = Signal(range(max(2, self._beats)))
        changed = Signal()
        over = Signal()
        held = Signal()  # it is to be repeated, but something of its context is on its way out
        repeated = Signal()
        m.d.comb += [
            held.eq((kind == Kind.WAITING) & repeating & ~sweep.spent & self.sending.bit_select(context, 1)),
            over.eq(changed | slots.touched | ~slots.active.bit_select(context, 1)),
            repeated.eq(origin == Origin.REPEATED),
        ]
        absent = Signal(_AT_ONCE)
        lowest = Signal(range(_AT_ONCE))
        m.d.comb += absent.eq(Cat(~bitmap[bit] & (rest > bit) for bit in range(_AT_ONCE)))
        for bit in reversed(range(_AT_ONCE)):
            with m.If(absent[bit]):
                m.d.comb += lowest.eq(bit)
        nobody = Signal()  # was missing so far
        self._offer(m, origin, context, turn, missing, node, first, bitmap, beat)

        with m.FSM(name="timers") as fsm:
            m.d.comb += sweeps.eq(fsm.ongoing("SWEEP"))
            with m.State("SWEEP"):
                m.d.comb += slots.look.eq(self.timed)
                m.d.sync += [step.eq(0), changed.eq(0)]
                with m.If(sweep.stops):
                    m.next = "CHECK"
            with m.State("CHECK"):
                # a commit is noticed from the first cycle on; the second cycle's look sees those before
                m.d.comb += slots.look.eq(step == 1)
                m.d.sync += [
                    changed.eq(over),
                    step.eq(step + 1),
                    beat.eq(0),
                    first.eq(0),
                    nobody.eq(1),
                    turn.eq(slots.record.turn),
                    missing.eq(slots.record.missing),
                    node.eq(slots.context.node),
                    rest.eq(slots.context.total),
                    bitmap.eq(slots.record.present),
                    origin.eq(Origin.OVERDUE),
                ]
                with m.If(kind == Kind.WAITING):
                    m.d.sync += [
                        bitmap.eq(0),
                        origin.eq(Mux(repeating & ~sweep.spent, Origin.REPEATED, Origin.GIVEN_UP)),
                    ]
                with m.If(over | ((step == 4) & (~sweep.due | held))):
                    m.d.comb += sweep.passes.eq(1)
                    m.next = "SWEEP"
                with m.Elif(step == 4):
                    m.d.sync += step.eq(0)
                    m.next = "FIND"
                    with m.If(kind == Kind.WAITING):
                        m.next = "OFFER"
            with m.State("FIND"):
                m.d.comb += makes.eq(1)
                # who is in goes out at one end, who is missing comes in at the other
                m.d.sync += [
                    changed.eq(over),
                    step.eq(step + 1),
                    bitmap.eq(Cat(bitmap, absent)[_AT_ONCE:]),
                    rest.eq(Mux(rest > _AT_ONCE, rest - _AT_ONCE, 0)),
                ]
                with m.If(nobody & absent.any()):
                    m.d.sync += [first.eq(Cat(lowest, step)), nobody.eq(0)]
                with m.If(over):
                    m.d.comb += sweep.passes.eq(1)
                    m.next = "SWEEP"
                with m.Elif(step == self._chunks - 1):
                    m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += [makes.eq(1), self.o.valid.eq(1)]
                m.d.sync += changed.eq(over)
                with m.If(self.o.ready):
                    m.d.sync += beat.eq(beat + 1)
                    with m.If(self.o.p.last):
                        m.next = "NOTE"
            with m.State("NOTE"):
                m.d.comb += [
                    makes.eq(1),
                    slots.note.valid.eq(~over),
                    slots.note.p.start.eq(self.now - Mux(repeated, 0, sweep.back)),
                    slots.note.p.attempts.eq(slots.times.attempts + repeated),
                ]
                m.d.sync += changed.eq(over)
                with m.If(over | slots.note.ready):
                    m.d.comb += sweep.passes.eq(1)
                    m.next = "SWEEP"
        return m

    def _offer(self, m, origin, context, turn, missing, node, first, bitmap, beat):
        """The beat that is offered: registers, and which of them."""
        fault = Signal(FAULT.struct())
        beats = self._beats
        padded = Signal(8 * self._config.beat_bytes * beats)
        repeated = origin == Origin.REPEATED
        given_up = origin == Origin.GIVEN_UP
        output = self.o.p
        m.d.comb += [
            fault.node.eq(node),
            fault.contributor.eq(Mux(given_up, 0xFFFF, first)),
            fault.count.eq(Mux(given_up, 1, missing)),
            fault.missing.eq(bitmap),
            padded.eq(FAULT.to_wire(fault)),
            output.data.eq(padded.word_select(beat, 8 * self._config.beat_bytes) if beats > 1 else padded),
            output.first.eq(beat == 0),
            output.last.eq(repeated | (beat == beats - 1)),
            output.origin.eq(origin),
            output.port.eq(Port.HOST),
            output.head.header.comm_id.eq(context),
            output.head.header.coll_tag.eq(turn),
            output.head.header.source.eq(missing),
            output.head.header.length.eq(Mux(repeated, 0, FAULT.bytes)),
        ]
