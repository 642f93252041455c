"""Everything that leaves at one port: copies as complete packets, merged with regular traffic.

Copies come from the delivery, answers to refused registrations from the registry, payload from the result store,
regular frames from the other port's ingress; frames go to the edge.
"""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Direction, Port
from ..config import Config
from ..results.ports import read_signature
from ..streams import PacketArbiter, Skid
from ..wire import copy_layout, frame_layout
from .build import Build
from .headers import Headers
from .insert import Insert

__all__ = ["Egress"]


class Egress(wiring.Component):
    """Builds a packet from each copy and merges them with regular frames, packet by packet and in turns.

    Latency: ``latency`` for copies and refusals, 1 more for the first of either kind after one of the other;
    ``regular_latency`` for regular beats. Throughput: 1, also between packets of either kind. Ready path: registered.
    Order: kept among copies, among refusals, and among regular frames. On error: none; a regular frame that stops
    half-way holds the port.

    ``closed`` names the context of each closing copy once nothing is read from the store any more for it or an earlier
    one. ``events.copies`` is high for one cycle for each packet built.
    """

    #: cycles from a copy's arrival to the offer of its frame's first beat, when idle: a skid, the headers, the beats, a
    #: skid behind the tags, a skid behind the arbiter
    latency = 1 + Headers.latency + Build.latency + 1 + 1
    #: the same for a regular frame: a skid before and one behind the arbiter
    regular_latency = 1 + 1

    def __init__(self, config: Config, port: Port):
        super().__init__(
            {
                "copies": In(stream.Signature(copy_layout(config))),
                "refusals": In(stream.Signature(copy_layout(config))),
                "regular": In(stream.Signature(frame_layout(config))),
                "store": Out(read_signature(config)),
                "o": Out(stream.Signature(frame_layout(config))),
                "closed": Out(stream.Signature(range(config.contexts), always_ready=True)),
                "events": Out(data.StructLayout({"copies": 1})),
            }
        )
        self._config = config
        self._port = port

    def elaborate(self, platform):
        m = Module()
        config = self._config
        frame = frame_layout(config)
        whole = data.StructLayout({"copy": copy_layout(config), "last": 1})  # a copy is a packet of one item
        m.submodules.copy_arbiter = copy_arbiter = PacketArbiter(whole, 2)
        m.submodules.copy_skid = copy_skid = Skid(copy_layout(config))
        m.submodules.headers = headers = Headers(config)
        m.submodules.build = build = Build(config)
        m.submodules.insert = insert = Insert(config)
        m.submodules.built_skid = built_skid = Skid(frame)
        m.submodules.regular_skid = regular_skid = Skid(frame)
        m.submodules.frame_arbiter = frame_arbiter = PacketArbiter(frame, 2)
        m.submodules.output_skid = output_skid = Skid(frame)

        for source, sink in ((self.copies, copy_arbiter.i[0]), (self.refusals, copy_arbiter.i[1])):
            m.d.comb += [
                sink.payload.copy.eq(source.payload),
                sink.payload.last.eq(1),
                sink.valid.eq(source.valid),
                source.ready.eq(sink.ready),
            ]
        m.d.comb += [
            copy_skid.i.payload.eq(copy_arbiter.o.payload.copy),
            copy_skid.i.valid.eq(copy_arbiter.o.valid),
            copy_arbiter.o.ready.eq(copy_skid.i.ready),
        ]
        wiring.connect(m, copy_skid.o, headers.i)
        wiring.connect(m, headers.o, build.i)
        wiring.connect(m, build.store, wiring.flipped(self.store))
        wiring.connect(m, build.o, insert.i)
        wiring.connect(m, insert.o, built_skid.i)
        wiring.connect(m, built_skid.o, frame_arbiter.i[0])
        wiring.connect(m, wiring.flipped(self.regular), regular_skid.i)
        wiring.connect(m, regular_skid.o, frame_arbiter.i[1])
        # what enters a skid now is offered in the next cycle
        m.d.comb += frame_arbiter.coming.eq(Cat(built_skid.i.valid, regular_skid.i.valid))
        wiring.connect(m, frame_arbiter.o, output_skid.i)
        wiring.connect(m, output_skid.o, wiring.flipped(self.o))
        wiring.connect(m, build.closed, wiring.flipped(self.closed))
        m.d.comb += self.events.copies.eq(build.sent)

        if self._port is Port.HOST:
            with m.If(self.copies.valid):
                down = self.copies.payload.segment.direction == Direction.DOWN
                m.d.sync += Assert(down, "what leaves at the host port goes down")
        return m
