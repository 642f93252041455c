"""One stream to several receivers, each of which takes every item once."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Fork"]


class Fork(wiring.Component):
    """Every item to each of ``count`` outputs, which may take it in different cycles; the next one waits for all.

    Latency: 0. Throughput: 1. Ready path: combinational. Order: kept. On error: none.
    """

    def __init__(self, shape, count: int):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape)).array(count)})
        self._count = count

    def elaborate(self, platform):
        m = Module()
        taken = Signal(self._count)
        now = Signal(self._count)
        m.d.comb += self.i.ready.eq(now.all())
        for index, output in enumerate(self.o):
            m.d.comb += [
                output.payload.eq(self.i.payload),
                output.valid.eq(self.i.valid & ~taken[index]),
                now[index].eq(taken[index] | output.ready),
            ]
        with m.If(self.i.valid):
            m.d.sync += taken.eq(Mux(self.i.ready, 0, now))
        return m
