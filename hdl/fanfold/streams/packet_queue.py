"""A queue that lets only whole packets out: store and forward, with nothing half in it."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .queue import Queue

__all__ = ["PacketQueue"]


class PacketQueue(wiring.Component):
    """Keeps packets of up to ``depth`` beats in all; offers one once its last beat is in. The shape needs ``last``.

    With ``lossy`` the input is always ready, and a packet that finds no room is dropped whole: ``dropped`` is high for
    one cycle for each. Without it a full queue is not ready; a packet longer than ``depth`` is then dropped as well,
    for it could never leave.

    Latency: the packet's beats + 3. Throughput: 1. Ready path: registered (constant with ``lossy``). Order: kept. On
    error: dropped packets leave nothing behind.
    """

    def __init__(self, shape, depth: int, *, lossy: bool = False):
        if depth < 4 or depth & (depth - 1):
            raise ValueError(f"depth is {depth}: it must be a power of two, at least 4")
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "dropped": Out(1),
            }
        )
        self._shape = shape
        self._depth = depth
        self._lossy = lossy

    def elaborate(self, platform):
        m = Module()
        depth = self._depth
        m.submodules.beats = memory = Memory(shape=self._shape, depth=depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        m.submodules.output = output = Queue(self._shape, 4)
        wiring.connect(m, output.o, wiring.flipped(self.o))

        # positions count modulo twice the depth: equal means empty, a depth apart means full
        head = Signal(range(2 * depth))  # next beat to write
        whole = Signal(range(2 * depth))  # beats before it belong to whole packets
        tail = Signal(range(2 * depth))  # next beat to read
        used = Signal(range(2 * depth))
        m.d.comb += used.eq(head - tail)
        full = used == depth
        dropping = Signal()
        alone = Signal()  # the beats inside are all of the packet now coming in: it can never fit
        m.d.comb += [
            alone.eq(whole == tail),
            self.i.ready.eq(1 if self._lossy else ~full | dropping | alone),
            write.addr.eq(head[:-1]),
            write.data.eq(self.i.payload),
        ]
        with m.If(self.i.valid & self.i.ready):
            last = self.i.payload.last
            with m.If(dropping | full):
                m.d.sync += [dropping.eq(~last), head.eq(whole)]
                m.d.comb += self.dropped.eq(last)
            with m.Else():
                m.d.comb += write.en.eq(1)
                m.d.sync += head.eq(head + 1)
                with m.If(last):
                    m.d.sync += whole.eq(head + 1)

        # a read is issued when the output queue has room for it and for those on their way
        reading = Signal()
        m.d.comb += [
            read.addr.eq(tail[:-1]),
            read.en.eq((tail != whole) & (output.level + reading < 3)),
            output.i.payload.eq(read.data),
            output.i.valid.eq(reading),
        ]
        m.d.sync += [reading.eq(read.en), tail.eq(tail + read.en)]
        return m
