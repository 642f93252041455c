"""What becomes of a packet: from what the screen says of it and from the record of its slot. No state."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Origin, Status
from ..config import Config
from ..registry.ports import slot_layout
from ..wire import FLAGS
from .layouts import screened_layout

__all__ = ["Judge", "verdict_layout"]


def verdict_layout() -> data.StructLayout:
    """At most one is set; none: the packet is refused.

    ``up``: a contribution enters. ``down``: a result from the parent is taken. ``announced``: the outcome of a
    registration passes. ``overdue``: the segment ends without those who are missing. ``given_up``: it ends without the
    parent. ``repeated``: what went to the parent goes there again. ``answered``: who asks for a segment before the turn
    gets what is kept of it; ``unanswered``: not now, for something else of the context is still under way.
    """
    names = ("up", "down", "announced", "overdue", "given_up", "repeated", "answered", "unanswered")
    return data.StructLayout(dict.fromkeys(names, 1))


class Judge(wiring.Component):
    """Judges ``packet`` by ``record``; the rules are those of the protocol, sections 3 and 4.

    Of the packet's context, ``at_limit``: a window of results is undelivered; ``undelivered``: some result, answer or
    partial result is; ``sending``: some answer or partial result is.

    Latency: 0. Throughput: 1. On error: a refused packet has an empty verdict.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "packet": In(screened_layout(config)),
                "record": In(slot_layout(config)),
                "at_limit": In(1),
                "undelivered": In(1),
                "sending": In(1),
                "verdict": Out(verdict_layout()),
                #: for the cause of a refusal: the packet is for the slot's turn, and its result would have room
                "in_turn": Out(1),
                "before": Out(1),
                "here": Out(1),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        packet, record, verdict = self.packet, self.record, self.verdict
        header = packet.header
        here, turn, crowded = self.here, Signal(), Signal()
        ahead = Signal(32)  # of the turn
        last = Signal()  # it is for the segment that ended here last
        screened = Signal()
        received, up, down = Signal(), Signal(), Signal()
        m.d.comb += [
            ahead.eq(header.coll_tag - record.turn),
            turn.eq(ahead == 0),
            self.before.eq(ahead[31]),
            last.eq(record.last.valid & (ahead == (1 << 32) - self._config.window)),
            here.eq(record.present.bit_select(header.source[: self._config.levels], 1)),
            crowded.eq(self.at_limit & (packet.down | ((record.missing == 1) & packet.geometry.root))),
            self.in_turn.eq(turn & ~crowded),
            screened.eq(packet.refusal == Status.OK),
            received.eq(screened & (packet.origin == Origin.RECEIVED)),
            up.eq(received & ~packet.down),
            down.eq(received & packet.down),
        ]
        # an ending that nobody waits for comes only when nothing is left of those before
        alone = Signal()
        own = Signal()
        asked = Signal()
        m.d.comb += [
            alone.eq(turn & ~self.undelivered),
            own.eq(screened & turn),
            asked.eq(up & self.before & (FLAGS(header.flags).repeat | (last & (record.last.status != Status.OK)))),
            verdict.up.eq(up & ~packet.lingering & self.in_turn & ~record.waiting & ~here),
            verdict.down.eq(
                down & ~packet.too_long & ((self.in_turn & record.waiting) | (alone & (header.status != 0)))
            ),
            verdict.announced.eq(packet.origin == Origin.ANNOUNCED),
            # a timer tells how many are missing: if another one came meanwhile, it tells again
            verdict.overdue.eq(
                own & (packet.origin == Origin.OVERDUE) & alone
                & record.begun & ~record.waiting & (record.missing == header.source)
            ),
            verdict.given_up.eq(own & (packet.origin == Origin.GIVEN_UP) & alone & record.waiting),
            verdict.repeated.eq(own & (packet.origin == Origin.REPEATED) & ~self.sending & record.waiting),
            verdict.answered.eq(asked & ~self.sending),
            verdict.unanswered.eq(asked & self.sending),
        ]  # fmt: skip
        return m
