"""Where each context is in its life: free, enrolling, waiting for the parent, open, and how it ends."""

from amaranth import *
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config

__all__ = ["ContextState", "ContextStates", "change_layout"]


class ContextState(enum.Enum, shape=3):  # type: ignore[call-arg]
    """Life of a context: see ``docs/protocol.md``, section 2."""

    FREE = 0
    ENROLLING = 1
    WAITING = 2
    OPEN = 3
    #: all contributors are being told that there is no place above
    CLOSING = 4
    #: deregistered, but its children may still ask for the last results; a registration takes it over
    LINGERING = 5


def change_layout(config: Config) -> data.StructLayout:
    """A step in the life of ``context``.

    ``children``: it has child NICs. ``patience``: how many ticks it waits for its contributors, as its record says
    (0: as the register says).
    """
    return data.StructLayout({"context": range(config.contexts), "state": ContextState, "children": 1, "patience": 32})


class ContextStates(wiring.Component):
    """The states of all contexts, in flip-flops, so that a reset frees them all.

    Enrolment moves a context on with ``change``. When both egresses have reported one as ``closed`` it becomes free,
    or, with ``linger``, it lingers if it was open and has children: its bit in ``lingers`` is high in that cycle. The
    host ``release``s one at any time; that waits while enrolment is ``busy``. ``state`` is that of ``context``. A bit
    of ``freed`` is high in the cycle in which a context becomes free, or is taken over while it lingers.

    Latency: 1. Throughput: 1. Ready path: ``release`` combinational from ``busy``, else always ready. On error: none.
    """

    def __init__(self, config: Config):
        index = range(config.contexts)
        super().__init__(
            {
                "context": In(index),
                "state": Out(ContextState),
                "change": In(stream.Signature(change_layout(config), always_ready=True)),
                "host_closed": In(stream.Signature(index, always_ready=True)),
                "net_closed": In(stream.Signature(index, always_ready=True)),
                "release": In(stream.Signature(index)),
                "busy": In(1),
                "linger": In(1),
                "open_contexts": Out(config.contexts),
                "lingering_contexts": Out(config.contexts),
                "free_contexts": Out(config.contexts),
                "freed": Out(config.contexts),
                "lingers": Out(config.contexts),
                "opened": Out(1),
                "closed": Out(1),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        contexts = range(self._config.contexts)
        states = [Signal(ContextState, name=f"state_{index}") for index in contexts]
        m.d.comb += self.release.ready.eq(~self.busy)
        with m.Switch(self.context):
            for index in contexts:
                with m.Case(index):
                    m.d.comb += self.state.eq(states[index])
        for index in contexts:
            self._live(m, index, states[index])
        m.d.sync += [
            self.opened.eq(self.change.valid & (self.change.p.state == ContextState.OPEN)),
            self.closed.eq(self.freed.any()),
        ]
        return m

    def _live(self, m: Module, index: int, state: Signal):
        """The life of one context."""
        at_host = Signal(name=f"closed_at_host_{index}")
        at_net = Signal(name=f"closed_at_net_{index}")
        children = Signal(name=f"children_{index}")
        by_host = self.host_closed.valid & (self.host_closed.payload == index)
        by_net = self.net_closed.valid & (self.net_closed.payload == index)
        released = self.release.valid & self.release.ready & (self.release.payload == index)
        changed = self.change.valid & (self.change.p.context == index)
        over = Signal(name=f"over_{index}")
        ends = Signal(name=f"ends_{index}")  # and does not linger
        taken_over = changed & (state == ContextState.LINGERING)
        dropped = changed & (self.change.p.state == ContextState.FREE)
        m.d.comb += [
            self.open_contexts[index].eq(state == ContextState.OPEN),
            self.lingering_contexts[index].eq(state == ContextState.LINGERING),
            self.free_contexts[index].eq(state == ContextState.FREE),
            over.eq((at_host | by_host) & (at_net | by_net) & (state != ContextState.FREE)),
            self.lingers[index].eq(over & (state == ContextState.OPEN) & children & self.linger & ~released),
            ends.eq((over & ~self.lingers[index]) | (released & (state != ContextState.FREE))),
            self.freed[index].eq(ends | taken_over | dropped),
        ]
        m.d.sync += [at_host.eq((at_host | by_host) & ~over & ~ends), at_net.eq((at_net | by_net) & ~over & ~ends)]
        with m.If(changed):
            m.d.sync += [state.eq(self.change.p.state), children.eq(self.change.p.children)]
        with m.If(self.lingers[index]):
            m.d.sync += state.eq(ContextState.LINGERING)
        with m.If(ends):
            m.d.sync += state.eq(ContextState.FREE)
