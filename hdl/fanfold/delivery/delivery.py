"""Which copies go where: completed segments in, one item a packet to send out, for each port.

Segments come from the results room, addresses from the registry's directory; copies go to the egress of each port.
Only descriptors move here; the payload stays in the result store until an egress reads it.
"""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Port
from ..config import Config
from ..registry.ports import directory_signature
from ..streams import Fork
from ..wire import copy_layout, segment_layout
from .walker import Walker

__all__ = ["Delivery"]


class Delivery(wiring.Component):
    """A walker for each port, each with a queue of its own, so that neither port waits for the other.

    Latency: ``latency`` to the first copy at each port. Throughput: a copy a cycle at each port. Ready path:
    registered. Order: kept at each port. On error: none; an input that is not ready would mean that more segments are
    open than the windows allow, and is asserted never to happen.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(segment_layout(config))),
                "host_directory": Out(directory_signature(config)),
                "net_directory": Out(directory_signature(config)),
                "host_copies": Out(stream.Signature(copy_layout(config))),
                "net_copies": Out(stream.Signature(copy_layout(config))),
                #: results that are done with at each port, a bit a context
                "host_done": Out(config.contexts),
                "net_done": Out(config.contexts),
                #: likewise packets for one receiver alone
                "host_single_done": Out(config.contexts),
                "net_single_done": Out(config.contexts),
                #: results that close their context, with the above
                "host_closing": Out(config.contexts),
                "net_closing": Out(config.contexts),
            }
        )
        self._fork = Fork(segment_layout(config), 2)
        self._host = Walker(config, Port.HOST)
        self._net = Walker(config, Port.NET)

    @property
    def latency(self) -> int:
        """Cycles from a segment's arrival to the offer of its first copy at a port, when idle."""
        return self._host.latency

    def elaborate(self, platform):
        m = Module()
        m.submodules.fork = self._fork
        m.submodules.host = self._host
        m.submodules.net = self._net
        wiring.connect(m, wiring.flipped(self.i), self._fork.i)
        wiring.connect(m, self._fork.o[0], self._host.i)
        wiring.connect(m, self._fork.o[1], self._net.i)
        wiring.connect(m, self._host.directory, wiring.flipped(self.host_directory))
        wiring.connect(m, self._net.directory, wiring.flipped(self.net_directory))
        wiring.connect(m, self._host.copies, wiring.flipped(self.host_copies))
        wiring.connect(m, self._net.copies, wiring.flipped(self.net_copies))
        m.d.comb += [
            self.host_done.eq(self._host.done),
            self.net_done.eq(self._net.done),
            self.host_single_done.eq(self._host.single_done),
            self.net_single_done.eq(self._net.single_done),
            self.host_closing.eq(self._host.closing),
            self.net_closing.eq(self._net.closing),
        ]
        m.d.sync += Assert(~self.i.valid | self.i.ready, "delivery never stalls the results")
        return m
