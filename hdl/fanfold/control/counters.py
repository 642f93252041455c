"""Counts events, and shows all counts as they were at one moment. The registers read them.

Counting goes in rounds. What arrives in a round is counted in a few flip-flops for each event; during the next round
the totals, which live in a memory, pass by one after another and take that in. So after each round the totals are
those of one moment, its beginning, and a snapshot is a round whose totals are also written to a second memory. When
nothing happens there are no rounds: the block stands still.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .description import WORD_BITS
from .events import EVENTS, events_layout

__all__ = ["Counters"]


class Counters(wiring.Component):
    """One 32-bit counter an event, in the order of ``EVENTS``.

    ``snapshot``, high for a cycle, asks for a copy of all counts as they are at one moment after it, and ``busy`` is
    high from the next cycle until the copy is there, as it is after a reset. ``count`` is what the copy has for the
    event with number ``index`` in the cycle before.

    Latency: 1 from ``index`` to ``count``; a snapshot takes at most two rounds. Throughput: every event every cycle.
    Ready path: none. Order: events of one cycle are in the same snapshots. On error: none; counters wrap, a snapshot
    that is asked for while ``busy`` is one with the one before or follows it.
    """

    #: cycles of a round: one to begin, one for each total, and two until the last one is written
    ROUND_CYCLES = len(EVENTS) + 3

    def __init__(self):
        super().__init__(
            {
                "events": In(events_layout()),
                "snapshot": In(1),
                "busy": Out(1),
                "index": In(range(len(EVENTS))),
                "count": Out(WORD_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        number = len(EVENTS)
        m.submodules.totals = totals = Memory(shape=WORD_BITS, depth=number, init=[])
        m.submodules.shown = shown = Memory(shape=WORD_BITS, depth=number, init=[])

        # events come from all over the chip: they get a cycle for the way
        arrived = Signal(events_layout())
        m.d.sync += arrived.eq(self.events)

        # what arrives in this round, and what has arrived in the last one and is added now, the first event's first
        arrivals = Signal(data.ArrayLayout(range(self.ROUND_CYCLES + 1), number))
        addition = len(arrivals[0])
        additions = Signal(len(Value.cast(arrivals)) + addition)  # the one for the total before the first is 0
        waiting = Signal()  # there is an arrival
        # the first round after a reset finds rubbish in the memories, and clears both
        fresh = Signal(init=1)
        requested = Signal(init=1)
        showing = Signal()
        m.d.comb += self.busy.eq(requested | showing)

        # a round goes through the totals: at each position one is read, the one before gets its addition, and the one
        # before that is written; without arrivals there are no rounds, and nothing moves
        under_way = Signal()
        position = Signal(range(number + 2))
        ends = Signal()
        begins = Signal()
        m.d.comb += ends.eq(position == number + 1)
        m.d.sync += begins.eq((ends | ~under_way) & ~begins & (waiting | requested))
        for index, event in enumerate(EVENTS):
            m.d.sync += arrivals[index].eq(Mux(begins, 0, arrivals[index]) + arrived[event])
        m.d.sync += additions.eq(Mux(begins, Value.cast(arrivals) << addition, additions >> addition))
        m.d.sync += waiting.eq((waiting & ~begins) | Value.cast(arrived).any())
        with m.If(begins):
            m.d.sync += [under_way.eq(1), showing.eq(requested), requested.eq(0)]
        with m.If(under_way):
            m.d.sync += position.eq(position + 1)
            with m.If(ends):
                m.d.sync += [under_way.eq(0), position.eq(0), showing.eq(0), fresh.eq(0)]
        with m.If(self.snapshot):
            m.d.sync += requested.eq(1)

        total = Signal(WORD_BITS)
        old, new = totals.read_port(), totals.write_port()
        copy, asked = shown.write_port(), shown.read_port()
        m.d.sync += total.eq(Mux(fresh, 0, old.data) + additions[:addition])
        m.d.comb += [
            old.addr.eq(position),
            new.addr.eq(position - 2),
            new.data.eq(total),
            new.en.eq(under_way & (position >= 2)),
            copy.addr.eq(new.addr),
            copy.data.eq(total),
            copy.en.eq(new.en & showing),
            asked.addr.eq(self.index),
            self.count.eq(asked.data),
        ]
        return m
