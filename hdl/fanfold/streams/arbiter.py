"""Several streams into one, fair, and never inside a packet."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PacketArbiter"]


class PacketArbiter(wiring.Component):
    """Merges ``count`` packet streams; the shape needs a member ``last``. Round robin: who sent last waits longest.

    Latency: 0. Throughput: 1, also between packets. Ready path: combinational. Order: kept within each input. On
    error: an input that stops inside a packet holds the output until it goes on.

    ``source`` is the input that the offered beat comes from.
    """

    def __init__(self, shape, count: int):
        super().__init__(
            {
                "i": In(stream.Signature(shape)).array(count),
                "o": Out(stream.Signature(shape)),
                "source": Out(range(count)),
            }
        )
        self._count = count

    def elaborate(self, platform):
        m = Module()
        locked = Signal()  # a packet has begun, or an offer stands: the choice must not change
        kept = Signal(range(self._count))
        chosen = Signal(range(self._count))
        m.d.comb += [chosen.eq(kept), self.source.eq(chosen)]
        with m.If(~locked), m.Switch(kept):
            for previous in range(self._count):
                with m.Case(previous):
                    # assignments later in this list win: the input right after the previous one comes first
                    for step in reversed(range(1, self._count + 1)):
                        index = (previous + step) % self._count
                        with m.If(self.i[index].valid):
                            m.d.comb += chosen.eq(index)
        with m.Switch(chosen):
            for index in range(self._count):
                with m.Case(index):
                    m.d.comb += [
                        self.o.payload.eq(self.i[index].payload),
                        self.o.valid.eq(self.i[index].valid),
                        self.i[index].ready.eq(self.o.ready),
                    ]
        with m.If(self.o.valid):
            m.d.sync += [kept.eq(chosen), locked.eq(~(self.o.ready & self.o.payload.last))]
        return m
