"""Looks at one timed slot after another, a cycle each, and stops at one that seems to be due."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..control.timing import timing_layout
from .timed_slots import Kind, times_layout

__all__ = ["Sweep"]

#: two patiences are no more than this, so that they are over before time has gone round
_LONGEST = 0xFFFF0000


class Sweep(wiring.Component):
    """Goes round all slots while it is ``timed`` and ``sweeps``, in a cycle past each context that is not ``active``.

    ``slot`` is the one that is looked up; what is ``found`` of it comes in the next cycle (see ``TimedSlots``). When a
    slot seems to be due the sweep ``stops`` and goes back to it. That may be over by then: who sees ``stops`` takes
    ``sweeps`` away and looks again. ``latency`` cycles after a look it is known whether the slot is ``due``, its
    ``kind``, whether all repeats are ``spent``, and how far ``back`` its start lies if it is due with the next tick.
    These stand as long as what is found does, but for ``due``, which goes with the time. ``passes`` lets the sweep go
    on behind the slot.

    Latency: 3 from a look. Throughput: a slot a cycle. Ready path: none. Order: round robin. On error: none.
    """

    latency = 3

    def __init__(self, config: Config):
        super().__init__(
            {
                "timing": In(timing_layout()),
                "repeating": In(1),
                "now": In(32),
                "active": In(config.contexts),
                "timed": In(1),
                "sweeps": In(1),
                "passes": In(1),
                "found_kind": In(Kind),
                "found_times": In(times_layout()),
                "found_patience": In(32),
                "slot": Out(range(config.fold_slots)),
                "stops": Out(1),
                "due": Out(1),
                "kind": Out(Kind),
                "spent": Out(1),
                "back": Out(32),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        window_bits = (config.window - 1).bit_length()

        # where the sweep is: `lively` says that a slot of `context` was timed when it came there
        context = Signal(range(config.contexts))
        index = Signal(range(config.window))
        ahead = Signal(range(config.contexts))
        lively = Signal()
        visited = [Signal(name=f"visited_{rank}") for rank in range(self.latency)]
        place = [Signal(range(config.fold_slots), name=f"place_{rank}") for rank in range(self.latency)]
        m.d.comb += [
            self.slot.eq(Cat(index, context)),
            self.stops.eq(self.sweeps & self.timed & visited[-1] & self.due),
        ]
        with m.If(self.stops):
            m.d.sync += [
                Cat(index, context).eq(place[-1]),
                ahead.eq(place[-1][window_bits:] + 1),
                lively.eq(1),
            ]
        with m.Elif((self.sweeps & self.timed) | self.passes):
            m.d.sync += index.eq(index + 1)
            with m.If(~lively | index.all()):
                m.d.sync += [
                    index.eq(0),
                    context.eq(ahead),
                    lively.eq(self.active.bit_select(ahead, 1)),
                    ahead.eq(ahead + 1),
                ]

        # is the slot due? what was looked up, then how long it waits and may wait, then the comparison
        elapsed = Signal(32)
        interval = Signal(32)
        patience = self.found_patience
        with m.If(self.timed | ~self.sweeps):
            m.d.sync += [
                Cat(visited).eq(Cat(self.sweeps & lively, visited)),
                Cat(place).eq(Cat(self.slot, place)),
                self.kind.eq(self.found_kind),
                elapsed.eq(self.now - self.found_times.start),
                self.spent.eq(self.found_times.attempts >= self.timing.retry_limit),
                self.due.eq((self.kind != Kind.IDLE) & (interval != 0) & (elapsed >= interval)),
                self.back.eq(interval - 1),
            ]
            with m.If(self.found_kind == Kind.FOLDING):
                m.d.sync += interval.eq(patience)
            with m.Elif(self.repeating):
                m.d.sync += interval.eq(self.timing.retry_ticks)
            with m.Else():
                m.d.sync += interval.eq(Mux(patience[31], _LONGEST, patience << 1))
        return m
