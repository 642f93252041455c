"""The one clock of the timers: it tells the time in ticks, and stands still when nobody needs it."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import Config

__all__ = ["Clock"]


class Clock(wiring.Component):
    """Counts ticks of 2^``tick_bits`` cycles in which ``run`` is high; ``now`` wraps at 2^32.

    A tick that began before the clock stopped goes on when it runs again: what is timed from such a moment on may be
    over a tick early.

    Latency: none; ``now`` is a register. Ready path: none. On error: none; without ``run`` no register changes.
    """

    def __init__(self, config: Config):
        super().__init__({"run": In(1), "now": Out(32)})
        self._config = config

    def elaborate(self, platform):
        m = Module()
        cycles = Signal(self._config.tick_bits)
        with m.If(self.run):
            m.d.sync += cycles.eq(cycles + 1)
            with m.If(cycles.all()):
                m.d.sync += self.now.eq(self.now + 1)
        return m
