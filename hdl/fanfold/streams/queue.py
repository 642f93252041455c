"""The one queue: items of any shape, kept in order."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .registers import Skid

__all__ = ["Queue"]


class Queue(wiring.Component):
    """A first-in first-out queue of ``depth`` items of one shape; ``level``, a register, counts those inside.

    From depth 3 on it is rows of memory before an output register. One row is always free, and is written in every
    cycle, whether anything comes or not: the memory's write enable, which is wide, waits for nothing. Whether there is
    room for one more, and whether there is one more to take, are registers.

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
        rows = self._depth  # the output register is one more, and so is the free row
        m.submodules.storage = storage = Memory(shape=Shape.cast(self._shape), depth=rows, init=[])
        write, read = storage.write_port(), storage.read_port()
        produce = Signal(range(rows))
        consume = Signal(range(rows))
        stored = Signal(range(rows))
        has_room = Signal(init=1)  # not all rows but one are in use
        has_more = Signal()  # some are
        offers = Signal()
        enters = Signal()  # into a row
        moves = Signal()  # from a row to the output
        m.d.comb += [
            enters.eq(self.i.valid & has_room),
            moves.eq(has_more & (self.o.ready | ~offers)),
            self.i.ready.eq(has_room),
            self.o.valid.eq(offers),
            Value.cast(self.o.payload).eq(read.data),
            write.en.eq(1),
            write.addr.eq(produce),
            write.data.eq(self.i.payload),
            read.en.eq(moves),
            read.addr.eq(consume),
        ]
        with m.If(enters):
            m.d.sync += produce.eq(Mux(produce == rows - 1, 0, produce + 1))
        with m.If(moves):
            m.d.sync += [consume.eq(Mux(consume == rows - 1, 0, consume + 1)), offers.eq(1)]
        with m.Elif(self.o.ready):
            m.d.sync += offers.eq(0)
        with m.If(enters & ~moves):
            m.d.sync += [stored.eq(stored + 1), has_more.eq(1), has_room.eq(stored != rows - 2)]
        with m.If(moves & ~enters):
            m.d.sync += [stored.eq(stored - 1), has_more.eq(stored != 1), has_room.eq(1)]
        left = offers & self.o.ready
        with m.If(enters & ~left):
            m.d.sync += self.level.eq(self.level + 1)
        with m.If(left & ~enters):
            m.d.sync += self.level.eq(self.level - 1)
        return m
