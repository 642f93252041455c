"""Which life of a context a row of the statistics must be of, and the walk through the rows that brings them there.

When a context opens, its next life begins, and rows of any other life count as 0: that clears them all at once. So that
no row comes back when the number of lives wraps, each opening is followed by a walk through the context's rows, which
gives them its life. The walk takes the cycles in which no packet is counted. A life has at least two of them, since
registrations are not counted, and a walk takes 128 at most: it is over long before 256 lives are.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .rows import LIFE_BITS

__all__ = ["Sweep"]


class Sweep(wiring.Component):
    """Lives of ``contexts`` contexts with up to ``rows`` rows each.

    ``life`` is that of the context that was in ``context`` one cycle before; an opening shows two cycles after it.
    ``wanted``: row ``row`` of the context ``swept`` is to be touched, with ``clear`` it is rubbish and the life 0;
    ``taken`` says in the same cycle that this is done. After a reset all rows are cleared.

    Latency: 1 from ``context`` to ``life``. Throughput: 1. Ready path: none. Order: contexts in turn. On error: none;
    a context must not open twice in three cycles.
    """

    def __init__(self, contexts: int, rows: int):
        super().__init__(
            {
                "opened": In(stream.Signature(range(contexts), always_ready=True)),
                "context": In(range(contexts)),
                "life": Out(LIFE_BITS),
                "wanted": Out(1),
                "swept": Out(range(contexts)),
                "row": Out(range(rows)),
                "clear": Out(1),
                "taken": In(1),
            }
        )
        self._contexts = contexts
        self._rows = rows

    def elaborate(self, platform):
        m = Module()
        m.submodules.lives = lives = Memory(shape=LIFE_BITS, depth=self._contexts, init=[])
        asked, ended, begun = lives.read_port(), lives.read_port(), lives.write_port()
        opening = Signal()
        opens = Signal(range(self._contexts))
        m.d.comb += [asked.addr.eq(self.context), self.life.eq(asked.data), ended.addr.eq(self.opened.payload)]
        m.d.comb += ended.en.eq(self.opened.valid)
        m.d.sync += opening.eq(self.opened.valid)
        with m.If(self.opened.valid):
            m.d.sync += opens.eq(self.opened.payload)

        pending = Signal(self._contexts, init=-1)
        fresh = Signal(init=1)  # the first walk after a reset finds rubbish
        here = Signal()  # the context that the walk is at has rows to be touched
        m.d.comb += [
            here.eq(pending.bit_select(self.swept, 1)),
            self.wanted.eq(here & ~opening),
            self.clear.eq(fresh),
        ]
        with m.If(opening):
            m.d.comb += [begun.en.eq(1), begun.addr.eq(opens), begun.data.eq(ended.data + 1)]
            m.d.sync += pending.bit_select(opens, 1).eq(1)
        with m.Else():
            m.d.comb += [begun.en.eq(fresh & self.taken), begun.addr.eq(self.swept)]
        last = Signal()
        m.d.comb += last.eq(self.row == self._rows - 1)
        with m.If(self.wanted & self.taken):
            m.d.sync += self.row.eq(Mux(last, 0, self.row + 1))
            with m.If(last):
                m.d.sync += pending.bit_select(self.swept, 1).eq(0)
        with m.If((self.taken & last) | (~here & pending.any())):
            m.d.sync += self.swept.eq(self.swept + 1)  # contexts: a power of two
            with m.If(self.swept == self._contexts - 1):
                m.d.sync += fresh.eq(0)
        return m
