"""What of each context has not left yet: what keeps the result store and delivery from ever overflowing.

Contributors that keep to their window never come near the limit, for a result is not complete before every
contributor has the one of a window before. Those that do not keep to it are refused, and hurt nobody else.
"""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config

__all__ = ["Undelivered"]

#: what one context may have under way to one receiver beside a window of partial results: an answer or a repeat, what
#: is said of its registration, and what was under way when the host released it
_OTHERS = 4


class Undelivered(wiring.Component):
    """Counts into delivery and out of it, at each port, a bit a context: ``result``s for all contributors, and
    ``single`` packets, partial results to the parent and answers to one contributor.

    A bit for each context: ``at_limit``: a window of results is undelivered at a port; ``sending``: a single packet is
    under way; ``waiting``: anything is.

    Latency: 1. Throughput: 1. Ready path: always ready. Order: none. On error: none.
    """

    def __init__(self, config: Config):
        given = stream.Signature(range(config.contexts), always_ready=True)
        super().__init__(
            {
                "result": In(given),
                "single": In(given),
                "host_done": In(config.contexts),
                "net_done": In(config.contexts),
                "host_single_done": In(config.contexts),
                "net_single_done": In(config.contexts),
                "at_limit": Out(config.contexts),
                "sending": Out(config.contexts),
                "waiting": Out(config.contexts),
            }
        )
        self._config = config
        #: single packets of one context that may be under way
        self.singles = config.window + _OTHERS

    def elaborate(self, platform):
        m = Module()
        window = self._config.window
        for context in range(self._config.contexts):
            full, some = [], []
            for port, done in (("host", self.host_done), ("net", self.net_done)):
                count = Signal(range(window + 2), name=f"{port}_{context}")
                new = self.result.valid & (self.result.payload == context)
                m.d.sync += count.eq(count + new - done[context])
                full.append(count >= window)
                some.append(count != 0)
            singles = Signal(range(self.singles + 1), name=f"singles_{context}")
            new = self.single.valid & (self.single.payload == context)
            m.d.sync += singles.eq(singles + new - self.host_single_done[context] - self.net_single_done[context])
            m.d.sync += Assert(~new | (singles != self.singles), "there is room for a single packet")
            m.d.comb += [
                self.at_limit[context].eq(Cat(*full).any()),
                self.sending[context].eq(singles != 0),
                self.waiting[context].eq(Cat(*some, singles != 0).any()),
            ]
        return m
