"""Both ports' tagged packets and the NIC's own become one stream; registrations leave it before."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..codes import Collective, Port
from ..config import Config
from ..streams import PacketArbiter, Slice
from ..wire import head_layout, payload_layout, tagged_layout

__all__ = ["Join", "Merge"]

#: inputs of the NIC's own packets
_OWN = ("announcements", "reminders")


class Join(wiring.Component):
    """Head and payload of one port's packets as one stream, parted into ``registrations`` and ``contributions``.

    Latency: 0. Throughput: 1. Ready path: combinational. Order: kept within each output. On error: none.
    """

    def __init__(self, config: Config, port: Port):
        tagged = stream.Signature(tagged_layout(config))
        super().__init__(
            {
                "head": In(stream.Signature(head_layout(config))),
                "payload": In(stream.Signature(payload_layout(config))),
                "registrations": Out(tagged),
                "contributions": Out(tagged),
            }
        )
        self._port = port

    def elaborate(self, platform):
        m = Module()
        inside = Signal()
        valid = Signal()
        ready = Signal()
        beat = self.payload.p
        registers = self.head.p.header.collective == Collective.REGISTER.value
        m.d.comb += [
            valid.eq(self.head.valid & self.payload.valid),
            self.registrations.valid.eq(valid & registers),
            self.contributions.valid.eq(valid & ~registers),
            ready.eq(Mux(registers, self.registrations.ready, self.contributions.ready)),
            self.payload.ready.eq(self.head.valid & ready),
            self.head.ready.eq(self.payload.valid & ready & beat.last),
        ]
        for output in (self.registrations, self.contributions):
            m.d.comb += [
                output.p.data.eq(beat.data),
                output.p.first.eq(~inside),
                output.p.last.eq(beat.last),
                output.p.bad.eq(beat.bad),
                output.p.head.eq(self.head.payload),
                output.p.port.eq(self._port),
            ]
        with m.If(valid & ready):
            m.d.sync += inside.eq(~beat.last)
        return m


class Merge(wiring.Component):
    """Contributions and results of both ports and the NIC's own packets, packet by packet, into ``o``.

    The ports take turns, and so do each of the NIC's own inputs and both ports together: whoever offers a packet is let
    in after at most one packet of each other input. While a port is ``pressed`` it does not wait for the other's turn;
    the host, whose frames would have to wait, goes before the network, whose packets would be dropped. Inputs offer
    whole packets without a gap, so that nobody is kept waiting within one. ``pressed`` and ``coming`` have a bit for
    each port; ``coming`` is a hint that a beat will be offered in the next cycle.

    Latency: 1; up to 2 more without the hint. Throughput: 1. Ready path: combinational; ``o`` is always ready. Order:
    kept within each input. On error: none.
    """

    def __init__(self, config: Config):
        head, payload = stream.Signature(head_layout(config)), stream.Signature(payload_layout(config))
        tagged = stream.Signature(tagged_layout(config))
        super().__init__(
            {
                "host_head": In(head),
                "host_payload": In(payload),
                "net_head": In(head),
                "net_payload": In(payload),
                "pressed": In(len(Port)),
                "coming": In(len(Port)),
                **{name: In(tagged) for name in _OWN},
                "registrations": Out(tagged),
                "o": Out(stream.Signature(tagged_layout(config), always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        layout = tagged_layout(self._config)
        m.submodules.ports = ports = PacketArbiter(layout, len(Port))
        m.submodules.contributions = contributions = PacketArbiter(layout, 1 + len(_OWN))
        m.submodules.registrations = registrations = PacketArbiter(layout, 2)
        for index, port in enumerate(Port):
            name = port.name.lower()
            m.submodules[name] = join = Join(self._config, port)
            connect(m, flipped(getattr(self, f"{name}_head")), join.head)
            connect(m, flipped(getattr(self, f"{name}_payload")), join.payload)
            connect(m, join.contributions, ports.i[index])
            connect(m, join.registrations, registrations.i[index])
        m.d.comb += [
            ports.first.eq(self.pressed),
            ports.coming.eq(self.coming),
            contributions.coming[0].eq(self.coming.any()),
        ]
        connect(m, ports.o, contributions.i[0])
        for index, name in enumerate(_OWN, 1):
            connect(m, flipped(getattr(self, name)), contributions.i[index])
        connect(m, registrations.o, flipped(self.registrations))
        m.submodules.output = output = Slice(layout)
        connect(m, contributions.o, output.i)
        m.d.comb += [
            self.o.payload.eq(output.o.payload),
            self.o.valid.eq(output.o.valid),
            output.o.ready.eq(1),
        ]
        return m
