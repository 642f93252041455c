"""The one queue: items of any shape, kept in order."""

from amaranth import *
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

from .registers import Skid

__all__ = ["Queue"]


class Queue(wiring.Component):
    """A first-in first-out queue of ``depth`` items of one shape; ``level`` counts those inside.

    Latency: 1 up to depth 2, else 2. Throughput: 1. Ready path: registered. Order: kept. On error: none; a full queue
    is not ready, nothing is lost.
    """

    def __init__(self, shape, depth: int):
        if depth < 1:
            raise ValueError(f"depth is {depth}: a queue holds at least 1 item")
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(max(depth, 2) + 1)),
            }
        )
        self._shape = shape
        self._depth = depth

    @property
    def latency(self) -> int:
        """Cycles from an item's arrival to its offer, when the queue is empty."""
        return 1 if self._depth <= 2 else 2

    def elaborate(self, platform):
        m = Module()
        if self._depth <= 2:
            m.submodules.skid = skid = Skid(self._shape)
            wiring.connect(m, wiring.flipped(self.i), skid.i)
            wiring.connect(m, skid.o, wiring.flipped(self.o))
            entered, left = self.i.valid & self.i.ready, self.o.valid & self.o.ready
            m.d.sync += self.level.eq(self.level + entered - left)
            return m
        width = Shape.cast(self._shape).width
        m.submodules.fifo = inner = fifo.SyncFIFOBuffered(width=width, depth=self._depth)
        m.d.comb += [
            inner.w_data.eq(self.i.payload),
            inner.w_en.eq(self.i.valid),
            self.i.ready.eq(inner.w_rdy),
            Value.cast(self.o.payload).eq(inner.r_data),
            self.o.valid.eq(inner.r_rdy),
            inner.r_en.eq(self.o.ready),
            self.level.eq(inner.level),
        ]
        return m
