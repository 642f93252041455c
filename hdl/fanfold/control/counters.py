"""Counts events, and shows all counts as they were at one moment. The registers read them."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .description import WORD_BITS
from .events import EVENTS, events_layout

__all__ = ["Counters", "counts_layout"]


def counts_layout() -> data.StructLayout:
    """One number an event, modulo 2^32."""
    return data.StructLayout(dict.fromkeys(EVENTS, WORD_BITS))


class Counters(wiring.Component):
    """One counter an event. While ``snapshot`` is high, ``counts`` takes what all of them have counted.

    Latency: an event is in the snapshots of later cycles, ``counts`` changes in the cycle after a snapshot. Throughput:
    every event every cycle. Ready path: none. Order: events of one cycle are in the same snapshots. On error: none;
    counters wrap.
    """

    events: In(events_layout())
    snapshot: In(1)
    counts: Out(counts_layout())

    def elaborate(self, platform):
        m = Module()
        # events come from all over the chip: they get a cycle for the way
        arrived = Signal(events_layout())
        m.d.sync += arrived.eq(self.events)
        running = Signal(counts_layout())
        following = Signal(counts_layout())
        for event in EVENTS:
            m.d.comb += following[event].eq(running[event] + arrived[event])
        m.d.sync += running.eq(following)
        with m.If(self.snapshot):
            m.d.sync += self.counts.eq(following)
        return m
