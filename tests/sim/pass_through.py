"""A stand-in for the NIC: the real edge and registers around an engine that passes frames from side to side.

It builds in seconds, so the simulators' tests can afford every beat width.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanfold.config import Config
from fanfold.control.events import events_layout
from fanfold.control.reports import report_layout
from fanfold.control.timing import timing_layout
from fanfold.edge import Fanfold
from fanfold.streams import Skid
from fanfold.wire import frame_layout

#: the host queue that the stand-in asserts never to see
FORBIDDEN = 0xEE


class PassThroughEngine(wiring.Component):
    """Counts each frame as a regular one, and asserts that none has the forbidden queue."""

    def __init__(self, config: Config):
        frames = stream.Signature(frame_layout(config))
        super().__init__(
            {
                "host_i": In(frames),
                "net_i": In(frames),
                "host_o": Out(frames),
                "net_o": Out(frames),
                "events": Out(events_layout()),
                "timed": Out(1),
                "reports": Out(stream.Signature(report_layout(config), always_ready=True)),
                "opened": Out(stream.Signature(range(config.contexts), always_ready=True)),
                "now": Out(32),
                "open_contexts": Out(config.contexts),
                "release": In(stream.Signature(range(config.contexts))),
                "local_mac": In(48),
                "timing": In(timing_layout()),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        for inward, outward, port in ((self.host_i, self.net_o, "host"), (self.net_i, self.host_o, "net")):
            skid = m.submodules[port] = Skid(frame_layout(self._config))
            wiring.connect(m, wiring.flipped(inward), skid.i)
            wiring.connect(m, skid.o, wiring.flipped(outward))
            moved = inward.valid & inward.ready
            m.d.comb += self.events[f"{port}_regular"].eq(moved & inward.payload.last)
            m.d.sync += Assert(~moved | (inward.payload.queue != FORBIDDEN), "the forbidden queue")
        m.d.comb += self.release.ready.eq(1)
        return m


def pass_through(config: Config) -> Fanfold:
    return Fanfold(config, PassThroughEngine(config))
