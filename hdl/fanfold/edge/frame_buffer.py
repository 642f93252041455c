"""Where frames from the network wait when the NIC cannot take them: the network cannot be told to.

In: frame beats from the network port's adapter. Out: the same to the engine.
"""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..streams import Skid
from ..wire import frame_layout

__all__ = ["FrameBuffer"]


class FrameBuffer(wiring.Component):
    """Lets frames through at once, and keeps what has to wait. A frame begins only where there is room for the longest
    frame, so one of up to ``frame_bytes`` is never cut: it enters whole, or is dropped whole and ``dropped`` is high
    for one cycle. The next one that finds room is whole again.

    Latency: 1 while nothing waits. Throughput: 1. Ready path: constant at the input, registered at the output. Order:
    kept. On error: a frame of more than ``frame_bytes`` goes on as long as there is room. When that ends, it is dropped
    whole if nothing of it has left yet; otherwise it ends there with its bad mark, its rest is dropped, and ``cut`` is
    high for one cycle.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(frame_layout(config), always_ready=True)),
                "o": Out(stream.Signature(frame_layout(config))),
                "dropped": Out(1),
                "cut": Out(1),
            }
        )
        self._config = config
        #: beats that it holds: two of the longest frames and what lags behind, rounded up to a power of two
        self.depth = 1 << (2 * config.frame_beats + 3).bit_length()

    @property
    def latency(self) -> int:
        """Cycles from a beat's arrival to its offer, when nothing waits."""
        return 1

    def elaborate(self, platform):
        m = Module()
        depth = self.depth
        shape = frame_layout(self._config)
        m.submodules.beats = memory = Memory(shape=shape, depth=depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        m.submodules.departures = departures = Skid(shape)
        wiring.connect(m, departures.o, wiring.flipped(self.o))

        # positions count modulo twice the depth: equal means empty, a depth apart means full
        head = Signal(range(2 * depth))  # next beat to write
        tail = Signal(range(2 * depth))  # next beat to read
        used = Signal(range(2 * depth))
        empty = Signal()
        roomy = Signal(init=1)  # the longest frame finds room
        tight = Signal()  # only the beat now coming in does; a frame of up to ``frame_bytes`` never meets it
        m.d.comb += [used.eq(head - tail), empty.eq(head == tail)]
        # both speak of the cycle before: one beat may have come since. One more is for a frame that pauses before its
        # last beats: then ``tight`` knows of all others
        m.d.sync += [roomy.eq(used < depth - self._config.frame_beats - 1), tight.eq(used >= depth - 2)]

        inside = Signal()  # a frame has entered, but for its last beat
        skipping = Signal()  # the rest of a frame is dropped
        start = Signal.like(head, reset_less=True)  # where the frame's first beat is
        gone = Signal(reset_less=True)  # a beat of the frame has left, or it was never here
        leaves = Signal()  # one does, or has
        enters, ends_early, withdrawn = Signal(), Signal(), Signal()
        last = self.i.payload.last
        m.d.comb += [
            enters.eq(self.i.valid & ~skipping & (inside | roomy)),
            ends_early.eq(enters & inside & tight & ~last),
            leaves.eq(gone | (read.en & (tail == start))),
            withdrawn.eq(ends_early & ~leaves),
            self.cut.eq(ends_early & leaves),
            self.dropped.eq(withdrawn | (self.i.valid & ~skipping & ~inside & ~roomy)),
        ]
        with m.If(self.i.valid):
            m.d.sync += [inside.eq(enters & ~ends_early & ~last), skipping.eq((~enters | ends_early) & ~last)]

        # a beat passes by when nothing waits, else it is written
        direct = Signal()
        fetched = Signal()  # the memory's output has a beat
        m.d.comb += [
            direct.eq(enters & empty & ~fetched & departures.i.ready),
            write.en.eq(enters & ~direct & ~withdrawn),
            write.addr.eq(head[:-1]),
            write.data.eq(self.i.payload),
            write.data.last.eq(last | ends_early),
            write.data.bad.eq(self.i.payload.bad | ends_early),
        ]
        m.d.sync += [head.eq(Mux(withdrawn, start, head + write.en)), gone.eq(leaves)]
        with m.If(enters & ~inside):
            m.d.sync += [start.eq(head), gone.eq(direct)]
        m.d.sync += Assert(~write.en | (used < depth), "frame buffer: a beat finds no room")

        # beats that were written follow, one a cycle
        m.d.comb += [
            read.addr.eq(tail[:-1]),
            read.en.eq(~empty & (~fetched | departures.i.ready)),
            departures.i.valid.eq(fetched | direct),
            departures.i.payload.eq(Mux(fetched, read.data, self.i.payload)),
        ]
        m.d.sync += [fetched.eq(read.en | (fetched & ~departures.i.ready)), tail.eq(tail + read.en)]
        return m
