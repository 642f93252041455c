"""Several streams into one, fair, and never inside a packet."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PacketArbiter"]


class PacketArbiter(wiring.Component):
    """Merges ``count`` packet streams; the shape needs a member ``last``. Round robin: who sent last waits longest.

    The choice is a register, made a cycle ahead: when a packet ends, or while nothing is offered. So a wide multiplexer
    has a register at its select, and whatever is behind the inputs' readies comes early.

    Latency: 0; 1 where an input begins to offer while nothing is offered, and another one sent last. Throughput: 1,
    also between packets that wait. Ready path: combinational. Order: kept within each input. On error: an input that
    stops inside a packet holds the output until it goes on.

    ``coming`` may be high for an input that will offer a packet's beat in the next cycle: the choice is then in time,
    and its latency is 0. It is a hint: whatever it says, nothing is lost but cycles. Inputs that are ``first`` do not
    wait for the others' turns, and the lowest of them goes before all; where it has no packet behind its last one, a
    cycle is lost. ``source`` is the input that the offered beat comes from.
    """

    def __init__(self, shape, count: int):
        super().__init__(
            {
                "i": In(stream.Signature(shape)).array(count),
                "coming": In(count),
                "first": In(count),
                "o": Out(stream.Signature(shape)),
                "source": Out(range(count)),
            }
        )
        self._count = count

    def elaborate(self, platform):
        m = Module()
        chosen = Signal(range(self._count))
        begun = Signal()  # a packet has begun to leave and has not ended
        free = Signal()  # the next beat may come from another input
        wanted = Signal(self._count)
        m.d.comb += [
            self.source.eq(chosen),
            free.eq(Mux(self.o.valid, self.o.ready & self.o.payload.last, ~begun)),
            wanted.eq(Cat(port.valid for port in self.i) | self.coming),
        ]
        with m.Switch(chosen):
            for index in range(self._count):
                with m.Case(index):
                    m.d.comb += [
                        self.o.payload.eq(self.i[index].payload),
                        self.o.valid.eq(self.i[index].valid),
                        self.i[index].ready.eq(self.o.ready),
                    ]
                    # assignments later in this list win: the input right after this one comes first; none: it stays
                    for step in reversed(range(1, self._count)):
                        after = (index + step) % self._count
                        with m.If(free & wanted[after]):
                            m.d.sync += chosen.eq(after)
        for index in reversed(range(self._count)):
            with m.If(free & wanted[index] & self.first[index]):
                m.d.sync += chosen.eq(index)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += begun.eq(~self.o.payload.last)
        return m
