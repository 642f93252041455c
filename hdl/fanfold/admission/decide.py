"""The decision: accept or refuse, from the slot's record, and write the record back. One packet a cycle."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Direction, Origin, Status
from ..config import Config
from ..registry.ports import slot_layout, slots_signature
from .layouts import decided_layout, screened_layout
from .undelivered import Undelivered

__all__ = ["Decide"]

_REFUSALS = [status for status in Status if status is not Status.OK]


class Decide(wiring.Component):
    """Compares each packet with the record of its slot; what is accepted goes on, what is refused ends here, counted.

    The record changes on the packet's last beat, and only if that is not bad. A contribution to a segment that fails
    goes on as one beat, its last, for its payload is dropped.

    Latency: 3. Throughput: 1. Ready path: always ready. Order: kept. On error: a refused or bad packet changes nothing.
    """

    latency = 3

    def __init__(self, config: Config):
        events = [status.name for status in _REFUSALS] + ["contributions", "failed_segments", "folded", "results"]
        super().__init__(
            {
                "i": In(stream.Signature(screened_layout(config), always_ready=True)),
                "slots": Out(slots_signature(config)),
                #: results that delivery is done with at each port, a bit a context
                "host_done": In(config.contexts),
                "net_done": In(config.contexts),
                #: contexts of which results are still to be delivered
                "undelivered": Out(config.contexts),
                "o": Out(stream.Signature(decided_layout(config), always_ready=True)),
                "events": Out(data.StructLayout(dict.fromkeys(events, 1))),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        window_bits = (config.window - 1).bit_length()

        m.submodules.undelivered = undelivered = Undelivered(config)
        m.d.comb += [
            undelivered.host_done.eq(self.host_done),
            undelivered.net_done.eq(self.net_done),
            self.undelivered.eq(undelivered.waiting),
        ]

        # the record of the packet's slot comes in with its first beat, and stands until its last
        now = Signal(screened_layout(config), reset_less=True)
        valid = Signal()
        held = Signal(slot_layout(config), reset_less=True)
        record = slot_layout(config)(Mux(now.first, Value.cast(self.slots.found), Value.cast(held)))
        slot = Cat(now.header.coll_tag[:window_bits], now.context)
        m.d.comb += self.slots.find.eq(Cat(self.i.p.header.coll_tag[:window_bits], self.i.p.context))
        m.d.sync += valid.eq(self.i.valid)
        # a packet is judged once, by its first beat, whatever changes while it comes in
        with m.If(self.i.valid & self.i.p.first):
            m.d.sync += now.eq(self.i.payload)
        with m.Elif(self.i.valid):
            m.d.sync += [now[name].eq(self.i.p[name]) for name in ("data", "first", "last", "bad")]
        with m.If(valid & now.first):
            m.d.sync += held.eq(self.slots.found)

        header, geometry = now.header, now.geometry
        announced = now.origin == Origin.ANNOUNCED
        total = Signal(range(config.contributors + 1))
        me = Signal(config.contributors)
        index = header.source[: config.levels]
        screened = now.refusal == Status.OK
        full = Signal()  # this contribution is the last one
        crowded = Signal()  # its result would have no room
        was_crowded = Signal()
        in_turn = Signal()
        here = Signal()
        accepted = Signal()
        up = Signal()
        down = Signal()
        m.d.comb += [
            total.eq(geometry.leaders + geometry.children),
            me.eq(1 << index),
            full.eq(record.missing == 1),
            crowded.eq(undelivered.at_limit.bit_select(now.context, 1) & (now.down | (full & geometry.root))),
            in_turn.eq((record.turn == header.coll_tag) & ~Mux(now.first, crowded, was_crowded)),
            here.eq((record.present & me).any()),
            up.eq(~announced & ~now.down & screened & in_turn & ~record.waiting & ~here),
            down.eq(~announced & now.down & screened & in_turn & record.waiting & ~now.too_long),
            accepted.eq(announced | up | down),
        ]

        with m.If(valid & now.first):
            m.d.sync += was_crowded.eq(crowded)

        # what the segment is, and how it will end
        told = Cat(header.collective, header.opt_code, header.data_type, header.root, header.length)
        first_told = Cat(record.collective, record.opt_code, record.data_type, record.root, record.length)
        segment_told = Mux(record.begun, first_told, told)
        mine = Signal(Status)
        status = Signal(Status)
        m.d.comb += mine.eq(now.failing)
        with m.If((now.failing == Status.OK) & record.begun & (told != first_told)):
            m.d.comb += mine.eq(Status.MISMATCH)
        m.d.comb += status.eq(Mux(record.begun & (record.status != Status.OK), record.status, mine))
        done = Signal()  # the whole packet is in
        commit = self.slots.commit
        after = commit.p.record
        m.d.comb += [
            done.eq(valid & now.last & ~now.bad),
            commit.valid.eq(done & (up | down)),
            commit.p.slot.eq(slot),
            after.turn.eq(record.turn),
            after.missing.eq(record.missing - 1),
            after.present.eq(record.present | me),
            after.begun.eq(1),
            after.status.eq(status),
            Cat(after.collective, after.opt_code, after.data_type, after.root, after.length).eq(segment_told),
        ]
        with m.If(down | (full & geometry.root)):
            m.d.comb += [after.turn.eq(record.turn + config.window), after.missing.eq(total)]
            m.d.comb += [after.present.eq(0), after.begun.eq(0)]
        with m.Elif(full):
            m.d.comb += after.waiting.eq(1)

        m.d.comb += [
            undelivered.result.valid.eq(done & (down | Mux(announced, now.down, up & full & geometry.root))),
            undelivered.result.payload.eq(now.context),
        ]
        self._count(m, now, record, done, up, down, in_turn, full, status)
        self._send(m, now, valid & accepted, up, full, status, slot, total, segment_told, record.present | me)
        return m

    def _count(self, m, now, record, done, up, down, in_turn, full, status):
        """Events, a rank later; the cause of a refusal by the slot is found there, off the path of the decision."""
        refused = Signal()
        before = Signal()
        checked = Signal()
        cause = Signal(Status)
        late_turn = Signal()
        late_down = Signal()
        too_long = Signal()
        turn = Signal(32, reset_less=True)
        tag = Signal(32, reset_less=True)
        m.d.sync += [
            refused.eq(done & (now.origin != Origin.ANNOUNCED) & ~up & ~down),
            checked.eq(now.refusal != Status.OK),
            cause.eq(now.refusal),
            turn.eq(record.turn),
            tag.eq(now.header.coll_tag),
            late_turn.eq(in_turn),
            late_down.eq(now.down),
            too_long.eq(in_turn & record.waiting),
            self.events.contributions.eq(done & up),
            self.events.folded.eq(done & up & full),
            self.events.failed_segments.eq(done & up & full & (status != Status.OK)),
            self.events.results.eq(done & down),
        ]
        found = Signal(Status)
        m.d.comb += before.eq((tag - turn)[31])
        with m.If(checked):
            m.d.comb += found.eq(cause)
        with m.Elif(late_down & late_turn):
            m.d.comb += found.eq(Mux(too_long, Status.BAD_LENGTH, Status.OUT_OF_WINDOW))
        with m.Elif(late_turn | before):
            m.d.comb += found.eq(Status.DUPLICATE)
        with m.Else():
            m.d.comb += found.eq(Status.OUT_OF_WINDOW)
        for status in _REFUSALS:
            m.d.sync += self.events[status.name].eq(refused & (found == status))

    def _send(self, m, now, accepted, up, full, status, slot, total, told, present):
        config = self._config
        header = now.header
        output = Signal(decided_layout(config), reset_less=True)
        output_valid = Signal()
        beat = Signal(range(config.segment_beats))
        empty = Signal()  # one beat, the last, is all that goes on
        m.d.comb += empty.eq(Mux(up, status != Status.OK, (now.origin != Origin.ANNOUNCED) & (header.status != 0)))
        with m.If(accepted):
            m.d.sync += beat.eq(Mux(now.last, 0, beat + 1))

        segment = output.segment
        m.d.sync += [
            output_valid.eq(accepted & (now.last | ~empty)),
            output.data.eq(now.data),
            output.first.eq(now.first | empty),
            output.last.eq(now.last),
            output.bad.eq(now.bad),
            output.beat.eq(Mux(empty, 0, beat)),
            output.slot.eq(slot),
            output.leaf.eq(Mux(up, header.source, 0)),
            output.up.eq(up),
            output.present.eq(present),
            output.total.eq(total),
            output.leaves.eq(~up | full),
            segment.context.eq(now.context),
            segment.slot.eq(header.coll_tag),
            segment.direction.eq(Direction.DOWN),
            segment.leaders.eq(now.geometry.leaders),
            segment.children.eq(now.geometry.children),
            segment.header.eq(header),
            segment.writes.eq(1),
            segment.completes.eq(1),
        ]
        sent = segment.header
        with m.If(now.origin == Origin.ANNOUNCED):
            m.d.sync += segment.direction.eq(Mux(now.down, Direction.DOWN, Direction.UP))
        with m.If(up):
            m.d.sync += [
                segment.direction.eq(Mux(now.geometry.root, Direction.DOWN, Direction.UP)),
                Cat(sent.collective, sent.opt_code, sent.data_type, sent.root, sent.length).eq(told),
                sent.source.eq(now.geometry.parent_index),
                sent.status.eq(status),
            ]
        with m.If(empty):
            m.d.sync += sent.length.eq(0)

        # one more rank, for the decision's fan-out
        m.d.sync += [
            self.o.payload.eq(output),
            self.o.p.operator.eq(sent.opt_code),
            self.o.p.type.eq(sent.data_type),
            self.o.valid.eq(output_valid),
        ]
