"""Places for contributors: one pool for all contexts, of which each takes a block as large as it needs."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from .table import Table

__all__ = ["Places"]


class Places(wiring.Component):
    """Finds the lowest free block for ``total`` contributors, a power of two in places and aligned to its size.

    While ``asks`` is high, ``total`` and ``context`` stand; from ``settled`` on, ``base`` is where that context's block
    begins if it has one, otherwise, or when it lingers (it would give its own back), where the new one would, if there
    is ``room`` for a new one. ``take`` gives it the new one. Blocks come back by themselves when their context is
    ``free`` and nothing of it is ``undelivered``, but not while ``hold`` is high; a question waits for that.

    Latency: 4 from ``asks`` to ``settled``, at most a cycle a context more when blocks come back. Throughput: a
    question in that time. Ready path: none. Order: none. On error: without ``room`` nothing must be taken.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "asks": In(1),
                "total": In(range(config.leaves + 1)),
                "context": In(range(config.contexts)),
                "lingers": In(1),
                "settled": Out(1),
                "room": Out(1),
                "base": Out(range(config.pool_places)),
                "take": In(1),
                "hold": In(1),
                "free": In(config.contexts),
                "undelivered": In(config.contexts),
            }
        )
        self._config = config
        self._grain = max(1, config.pool_places // 64)
        self._blocks = config.pool_places // self._grain
        #: sizes that a block may have: the grain, twice the grain, ...
        self._sizes = max(1, (config.leaves // self._grain).bit_length())

    def elaborate(self, platform):
        m = Module()
        contexts = self._config.contexts
        block = data.StructLayout({"at": range(self._blocks), "size": range(max(2, self._sizes))})
        m.submodules.held = held = Table(block, contexts, readers=1)
        occupied = Signal(self._blocks)
        used = Signal(contexts)  # contexts that have a block

        # blocks that come back: one context after another, while there are any
        returning = Signal(contexts)
        step = Signal(range(5))  # of a question
        index, visited = Signal(range(contexts), name="index"), Signal(range(contexts), name="visited")
        visits = Signal()
        looks = Signal()
        row = Signal(block)
        m.d.comb += [
            returning.eq(Mux(self.hold, 0, used & self.free & ~self.undelivered)),
            looks.eq(returning.any() & (step == 0)),
            held.read[0].address.eq(Mux(looks, index, self.context)),
            row.eq(held.read[0].data),
        ]
        m.d.sync += visits.eq(looks)
        with m.If(looks):
            m.d.sync += [visited.eq(index), index.eq(index + 1)]
        covered = self._covered(row.at, row.size, m, "covered")
        gives = Signal()
        m.d.comb += gives.eq(visits & returning.bit_select(visited, 1))
        with m.If(gives):
            m.d.sync += used.bit_select(visited, 1).eq(0)

        # a question: the context's own block, the size, the places where one may begin, the first of them
        size = Signal(range(max(2, self._sizes)))
        vacated, begins = Signal(self._blocks), Signal(self._blocks)
        at = Signal(range(self._blocks))
        has = used.bit_select(self.context, 1) & ~self.lingers
        m.d.comb += [
            size.eq(sum((self.total > self._grain << k) for k in range(self._sizes - 1)) if self._sizes > 1 else 0),
            self.settled.eq(self.asks & (step == 4)),
        ]
        with m.If(~self.asks):
            m.d.sync += step.eq(0)
        with m.Elif((step == 0) & ~self.hold & ~returning.any() & ~visits):
            m.d.sync += step.eq(1)
        with m.Elif((step != 0) & (step != 4)):
            m.d.sync += step.eq(step + 1)
        with m.If(step == 1):
            m.d.sync += vacated.eq(Mux(self.lingers & used.bit_select(self.context, 1), covered, 0))
        with m.If(step == 2):
            m.d.sync += begins.eq(self._begins(m, ~(occupied & ~vacated), size))
        with m.If(step == 3):
            # one that is free but has not given its block back yet gets no other
            m.d.sync += [at.eq(0), self.room.eq(begins.any() & ~has)]
            for number in reversed(range(self._blocks)):
                with m.If(begins[number]):
                    m.d.sync += at.eq(number)
            with m.If(has):
                m.d.sync += at.eq(row.at)
        m.d.comb += self.base.eq(at * self._grain)

        m.d.comb += [
            held.write.valid.eq(self.take),
            held.write.p.address.eq(self.context),
            held.write.p.data.at.eq(at),
            held.write.p.data.size.eq(size),
        ]
        leaving, coming = Signal(self._blocks, name="leaving"), Signal(self._blocks, name="coming")
        taken = self._covered(at, size, m, "taken")
        m.d.comb += [
            leaving.eq(Mux(gives, covered, 0) | Mux(self.take, vacated, 0)),
            coming.eq(Mux(self.take, taken, 0)),
        ]
        with m.If(gives | self.take):
            m.d.sync += occupied.eq((occupied & ~leaving) | coming)
        with m.If(self.take):
            m.d.sync += used.bit_select(self.context, 1).eq(1)
        return m

    def _covered(self, at, size, m, name) -> Signal:
        """Which blocks of the grain's size a block takes that begins ``at`` one of them."""
        covered = Signal(self._blocks, name=name)
        within = Signal(len(at), name=f"within_{name}")
        m.d.comb += within.eq((1 << size) - 1)
        m.d.comb += [bit.eq(((at ^ number) & ~within) == 0) for number, bit in enumerate(covered)]
        return covered

    def _begins(self, m, free, size) -> Signal:
        """Where a block of this ``size`` may begin."""
        begins = Signal(self._blocks, name="may_begin")
        whole = Signal(self._blocks, name="free_0")
        m.d.comb += whole.eq(free)
        with m.Switch(size):
            for k in range(self._sizes):
                if k:
                    halves = whole
                    whole = Signal(len(halves) // 2, name=f"free_{k}")
                    m.d.comb += whole.eq(Cat(halves[2 * n] & halves[2 * n + 1] for n in range(len(whole))))
                with m.Case(k):
                    m.d.comb += [begins[number << k].eq(bit) for number, bit in enumerate(whole)]
        return begins
