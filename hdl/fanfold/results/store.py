"""The result store: what leaves the fold is kept here, readable until no one can ask for it again."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..codes import Direction
from ..config import Config
from ..streams import Queue
from ..wire import result_layout, segment_layout
from .ports import READ_LATENCY, read_signature

__all__ = ["ResultStore"]


class ResultStore(wiring.Component):
    """Writes what leaves the fold into the segment's slot, and says when it is whole (``completed``).

    Partial results on their way UP have a window of slots for each context, results DOWN two windows: a contributor
    sends segment s + w only after it has the result of s, so nothing is overwritten that may still be read.
    ``segments`` come in step with the packets that leave the fold, early or just in time.

    Latency: ``latency`` from a packet's last beat to its completion. Throughput: 1, on the write side and on each read
    port. Ready path: always ready; ``completed`` must be taken at once (delivery has room for all slots). Order: kept.
    On error: a packet whose last beat is bad is forgotten.
    """

    latency = 1

    def __init__(self, config: Config, *, in_flight: int):
        super().__init__(
            {
                "i": In(stream.Signature(result_layout(config), always_ready=True)),
                "segments": In(stream.Signature(segment_layout(config), always_ready=True)),
                "completed": Out(stream.Signature(segment_layout(config))),
                "host_read": In(read_signature(config)),
                "net_read": In(read_signature(config)),
            }
        )
        self._config = config
        self._in_flight = in_flight

    def elaborate(self, platform):
        m = Module()
        config = self._config
        window_bits = (config.window - 1).bit_length()
        width = 8 * config.beat_bytes
        down = Memory(shape=width, depth=config.result_slots * config.segment_beats, init=[])
        up = Memory(shape=width, depth=config.fold_slots * config.segment_beats, init=[])
        m.submodules.down = down
        m.submodules.up = up

        m.submodules.expected = expected = Queue(segment_layout(config), self._in_flight)
        segment, beat = expected.o.p, self.i.p
        m.d.comb += [
            expected.i.payload.eq(self.segments.payload),
            expected.i.valid.eq(self.segments.valid),
            expected.o.ready.eq(self.i.valid & beat.last),
        ]
        with m.If(self.segments.valid):
            m.d.sync += Assert(expected.i.ready, "more packets in the fold than it can hold")
        with m.If(self.i.valid):
            m.d.sync += Assert(expected.o.valid, "a packet left the fold whose segment is unknown")

        # written a rank later, so that the slot's address is ready
        data = Signal(width, reset_less=True)
        for name, memory, direction, slot in (
            ("down", down, Direction.DOWN, segment.slot),
            ("up", up, Direction.UP, segment.slot[:window_bits]),
        ):
            write = memory.write_port()
            address = Signal(range(memory.depth), name=f"{name}_address", reset_less=True)
            enable = Signal(name=f"{name}_enable")
            m.d.sync += [
                address.eq(self._place(segment.context, slot, beat.beat)),
                enable.eq(self.i.valid & segment.writes & (segment.direction == direction)),
            ]
            m.d.comb += [write.addr.eq(address), write.data.eq(data), write.en.eq(enable)]
        m.d.sync += [
            data.eq(beat.data),
            self.completed.payload.eq(segment),
            self.completed.valid.eq(self.i.valid & segment.completes & beat.last & ~beat.bad),
        ]
        with m.If(self.completed.valid):
            m.d.sync += Assert(self.completed.ready, "delivery has no room for a result")

        self._read(m, "host", self.host_read, (down,), window_bits)
        self._read(m, "net", self.net_read, (down, up), window_bits)
        return m

    def _place(self, context, slot, beat):
        """Where a beat lies; a number of beats that is no power of two leaves no gaps."""
        return Cat(slot, context) * self._config.segment_beats + beat

    def _read(self, m, name, port, memories, window_bits):
        """One enabled cycle to read, one for the register behind the memory."""
        assert READ_LATENCY == 2
        address = port.address
        slots = (address.slot, address.slot[:window_bits])
        found = []
        for memory, slot in zip(memories, slots, strict=False):
            read = memory.read_port()
            m.d.comb += [read.addr.eq(self._place(address.context, slot, address.beat)), read.en.eq(port.enable)]
            found.append(read.data)
        upward = Signal(name=f"{name}_up")
        with m.If(port.enable):
            m.d.sync += [
                upward.eq(address.direction == Direction.UP),
                port.data.eq(Mux(upward, found[-1], found[0])),
            ]
