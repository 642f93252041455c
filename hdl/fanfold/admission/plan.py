"""How far a contribution climbs the tree: combined, kept or passed at each level.

At each level the sibling subtree is either complete (combine with what it stored), not complete yet (keep, and stop),
or empty (pass). All of it follows from who is present, so the fold's stages need no state of their own.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import DataType, Operator
from ..config import Config
from ..wire import fold_layout, segment_layout
from .layouts import decided_layout

__all__ = ["Plan"]


class Plan(wiring.Component):
    """Draws up the plan of each packet; ``segments`` come with the first beat of each packet that leaves the fold.

    Latency: 2. Throughput: 1. Ready path: always ready. Order: kept. On error: none.
    """

    latency = 2

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(decided_layout(config), always_ready=True)),
                "o": Out(stream.Signature(fold_layout(config), always_ready=True)),
                "segments": Out(stream.Signature(segment_layout(config), always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config

        # rank 1: which subtrees are complete, which have contributors at all
        arrived = self.i.p
        beat = Signal(decided_layout(config), reset_less=True)
        valid = Signal()
        m.d.sync += [beat.eq(self.i.payload), valid.eq(self.i.valid)]
        absent = Signal(config.leaves)
        settled = Signal(config.leaves)  # present, or no contributor
        m.d.comb += [
            absent.eq(Cat(index >= arrived.total for index in range(config.leaves))),
            settled.eq(arrived.present | absent),
        ]
        complete, empty = Value.cast(settled), Value.cast(absent)
        combine = Signal(config.levels, reset_less=True)
        keep = Signal(config.levels, reset_less=True)
        for level in range(config.levels):
            sibling = Value.cast(arrived.leaf)[level:] ^ 1
            sibling_complete = complete.bit_select(sibling, 1)
            sibling_empty = empty.bit_select(sibling, 1)
            m.d.sync += [
                combine[level].eq(arrived.folds & ~sibling_empty & sibling_complete),
                keep[level].eq(arrived.folds & ~sibling_empty & ~sibling_complete),
            ]
            pairs = range(0, len(complete), 2)
            # a signal a level: written out as one expression it would double with every level
            both = Signal(len(pairs), name=f"complete_{level + 1}")
            neither = Signal(len(pairs), name=f"empty_{level + 1}")
            m.d.comb += [
                both.eq(Cat(complete[at] & complete[at + 1] for at in pairs)),
                neither.eq(Cat(empty[at] for at in pairs)),
            ]
            complete, empty = both, neither

        # rank 2: out
        output = self.o.p
        m.d.sync += [
            self.o.valid.eq(valid),
            output.data.eq(beat.data),
            output.first.eq(beat.first),
            output.last.eq(beat.last),
            output.bad.eq(beat.bad),
            output.beat.eq(beat.beat),
            output.slot.eq(beat.slot),
            output.leaf.eq(beat.leaf),
            # codes outside the enumerations fail the segment, or belong to packets that are never combined
            output.operator.eq(Operator(beat.operator)),
            output.type.eq(DataType(beat.type)),
            output.combine.eq(combine),
            output.keep.eq(keep),
            self.segments.valid.eq(valid & beat.first & beat.leaves),
            self.segments.payload.eq(beat.segment),
        ]
        return m
