"""How many results of each context have not left yet: what keeps the result store and delivery from ever overflowing.

Contributors that keep to their window never come near the limit, for a result is not complete before every
contributor has the one of a window before. Those that do not keep to it are refused, and hurt nobody else.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config

__all__ = ["Undelivered"]


class Undelivered(wiring.Component):
    """Counts results into delivery (``result``) and out of it at each port (``host_done``, ``net_done``: a bit a
    context). ``at_limit`` has a bit for each context of which a window of results is undelivered at a port,
    ``waiting`` one for each that has any.

    Latency: 1. Throughput: 1. Ready path: always ready. Order: none. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "result": In(stream.Signature(range(config.contexts), always_ready=True)),
                "host_done": In(config.contexts),
                "net_done": In(config.contexts),
                "at_limit": Out(config.contexts),
                "waiting": Out(config.contexts),
            }
        )
        self._config = config

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
            m.d.comb += [
                self.at_limit[context].eq(Cat(*full).any()),
                self.waiting[context].eq(Cat(*some).any()),
            ]
        return m
