"""Where each context is in its life: free, enrolling, waiting for the parent, open."""

from amaranth import *
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config

__all__ = ["ContextState", "ContextStates"]


class ContextState(enum.Enum, shape=2):  # type: ignore[call-arg]
    """Life of a context: see ``docs/protocol.md``, section 2."""

    FREE = 0
    ENROLLING = 1
    WAITING = 2
    OPEN = 3


class ContextStates(wiring.Component):
    """The states of all contexts, in flip-flops, so that a reset frees them all.

    Enrolment moves a context on with ``change``. A context becomes free when both egresses have reported it as
    ``closed``, or the host ``release``s it. ``state`` is that of ``context``.

    Latency: 1. Throughput: 1. Ready path: always ready. On error: none.
    """

    def __init__(self, config: Config):
        index = range(config.contexts)
        change = data.StructLayout({"context": index, "state": ContextState})
        super().__init__(
            {
                "context": In(index),
                "state": Out(ContextState),
                "change": In(stream.Signature(change, always_ready=True)),
                "host_closed": In(stream.Signature(index, always_ready=True)),
                "net_closed": In(stream.Signature(index, always_ready=True)),
                "release": In(stream.Signature(index)),
                "open_contexts": Out(config.contexts),
                "opened": Out(1),
                "closed": Out(1),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        contexts = range(self._config.contexts)
        states = [Signal(ContextState, name=f"state_{index}") for index in contexts]
        freed = Signal(self._config.contexts)
        m.d.comb += self.release.ready.eq(1)
        with m.Switch(self.context):
            for index in contexts:
                with m.Case(index):
                    m.d.comb += self.state.eq(states[index])
        for index in contexts:
            state = states[index]
            at_host = Signal(name=f"closed_at_host_{index}")
            at_net = Signal(name=f"closed_at_net_{index}")
            by_host = self.host_closed.valid & (self.host_closed.payload == index)
            by_net = self.net_closed.valid & (self.net_closed.payload == index)
            released = self.release.valid & (self.release.payload == index)
            m.d.comb += [
                self.open_contexts[index].eq(state == ContextState.OPEN),
                freed[index].eq((state != ContextState.FREE) & (released | ((at_host | by_host) & (at_net | by_net)))),
            ]
            m.d.sync += [at_host.eq((at_host | by_host) & ~freed[index]), at_net.eq((at_net | by_net) & ~freed[index])]
            with m.If(self.change.valid & (self.change.p.context == index)):
                m.d.sync += state.eq(self.change.p.state)
            with m.If(freed[index]):
                m.d.sync += state.eq(ContextState.FREE)
        m.d.sync += [
            self.opened.eq(self.change.valid & (self.change.p.state == ContextState.OPEN)),
            self.closed.eq(freed.any()),
        ]
        return m
