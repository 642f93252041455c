"""Counts events, and shows all counts as they were at one moment. The registers read them.

Counting goes in rounds. What arrives in a round is counted in a few flip-flops for each event; during the next round
the totals, which live in a memory, pass by one after another and take that in. So after each round the totals are
those of one moment, its beginning, and a snapshot is a round whose totals are also written to a second memory.
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

    Latency: 1 from ``index`` to ``count``; a snapshot takes at most two rounds, of one cycle an event, and 2 cycles.
    Throughput: every event every cycle. Ready path: none. Order: events of one cycle are in the same snapshots. On
    error: none; counters wrap, a snapshot that is asked for while ``busy`` is one with the one before or follows it.
    """

    events: In(events_layout())
    snapshot: In(1)
    busy: Out(1)
    index: In(range(len(EVENTS)))
    count: Out(WORD_BITS)

    def elaborate(self, platform):
        m = Module()
        number = len(EVENTS)
        m.submodules.totals = totals = Memory(shape=WORD_BITS, depth=number, init=[])
        m.submodules.shown = shown = Memory(shape=WORD_BITS, depth=number, init=[])

        # events come from all over the chip: they get a cycle for the way
        arrived = Signal(events_layout())
        m.d.sync += arrived.eq(self.events)

        # three places in the round: the total that is read, the one that is added to, and the one that is written
        reading = Signal(range(number), init=2)
        adding = Signal(range(number))
        writing = Signal(range(number))
        for place in (reading, adding):
            m.d.sync += place.eq(Mux(place == number - 1, 0, place + 1))
        m.d.sync += writing.eq(adding)
        ends = Signal()  # this is the round's last cycle
        m.d.sync += ends.eq(adding == number - 2)

        # at the end of a round its arrivals become those that the next round adds, the first event's first
        each_round = data.ArrayLayout(range(number + 1), number)
        arrivals = Signal(each_round)
        additions = Signal(each_round)
        for index, event in enumerate(EVENTS):
            m.d.sync += arrivals[index].eq(Mux(ends, 0, arrivals[index]) + arrived[event])
        following = Value.cast(additions)[len(Value.cast(additions[0])) :]
        m.d.sync += additions.eq(Mux(ends, Value.cast(arrivals), following))

        # the first round after a reset finds rubbish in the memories, and clears both
        fresh = Signal(init=1)
        requested = Signal()
        showing = Signal(init=1)
        written = Signal(init=1)
        m.d.comb += self.busy.eq(requested | showing | written)
        m.d.sync += written.eq(showing)
        with m.If(ends):
            m.d.sync += [fresh.eq(0), showing.eq(requested), requested.eq(0)]
        with m.If(self.snapshot):
            m.d.sync += requested.eq(1)

        fetched = Signal(WORD_BITS)
        total = Signal(WORD_BITS)
        old, new = totals.read_port(), totals.write_port()
        copy, asked = shown.write_port(), shown.read_port()
        m.d.comb += [
            old.addr.eq(reading),
            new.addr.eq(writing),
            new.data.eq(total),
            new.en.eq(1),
            copy.addr.eq(writing),
            copy.data.eq(total),
            copy.en.eq(written),
            asked.addr.eq(self.index),
            self.count.eq(asked.data),
        ]
        m.d.sync += [fetched.eq(old.data), total.eq(Mux(fresh, 0, fetched) + additions[0])]
        return m
