"""The engine: the rooms in order of flow. Only connects."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .admission.admission import Admission
from .codes import Port
from .config import Config
from .control.clock import Clock
from .control.events import events_layout
from .control.reports import report_layout
from .control.timing import timing_layout
from .delivery.delivery import Delivery
from .egress.egress import Egress
from .fold.spine import Spine
from .ingress.ingress import Ingress
from .registry.registry import Registry
from .results.store import ResultStore
from .wire import frame_layout

__all__ = ["Engine"]


class Engine(wiring.Component):
    """A NIC's processing module: frames of the host and of the network in and out, collectives folded on the way.

    Latency: ``latencies`` by room, in cycles. Throughput: 1 beat a cycle on each port and in the fold. Ready path:
    registered at both inputs. Order: regular frames leave in the order in which they came. On error: ``events``
    counts every cause (``control.events``).
    """

    def __init__(self, config: Config):
        frames = stream.Signature(frame_layout(config))
        super().__init__(
            {
                "host_i": In(frames),
                "host_o": Out(frames),
                "net_i": In(frames),
                "net_o": Out(frames),
                "release": In(stream.Signature(range(config.contexts))),
                "open_contexts": Out(config.contexts),
                "local_mac": In(48),
                "timing": In(timing_layout()),
                "timed": Out(1),
                "events": Out(events_layout()),
                "reports": Out(stream.Signature(report_layout(config), always_ready=True)),
                "opened": Out(stream.Signature(range(config.contexts), always_ready=True)),
                "now": Out(32),
            }
        )
        self.config = config
        self._ingresses = {port: Ingress(config, port) for port in Port}
        self._registry = Registry(config)
        self._admission = Admission(config)
        self._fold = Spine(config)
        self._results = ResultStore(config, in_flight=self._fold.latency + Admission.latency)
        self._delivery = Delivery(config)
        self._egresses = {port: Egress(config, port) for port in Port}

    @property
    def latencies(self) -> dict[str, int]:
        """Cycles that the first beat of a packet spends in each room when nothing is in its way: of an untagged
        one-beat contribution that completes its segment, to the first beat of its result."""
        return {
            "ingress": self._ingresses[Port.HOST].tagged_latency,
            "admission": self._admission.latency,
            "fold": self._fold.latency,
            "results": self._results.latency,
            "delivery": self._delivery.latency,
            "egress": self._egresses[Port.HOST].latency,
            "regular": self._ingresses[Port.HOST].regular_latency,
        }

    def elaborate(self, platform):
        m = Module()
        m.submodules.host_ingress = host_ingress = self._ingresses[Port.HOST]
        m.submodules.net_ingress = net_ingress = self._ingresses[Port.NET]
        m.submodules.registry = registry = self._registry
        m.submodules.admission = admission = self._admission
        m.submodules.fold = fold = self._fold
        m.submodules.results = results = self._results
        m.submodules.delivery = delivery = self._delivery
        m.submodules.host_egress = host_egress = self._egresses[Port.HOST]
        m.submodules.net_egress = net_egress = self._egresses[Port.NET]

        connect(m, flipped(self.host_i), host_ingress.i)
        connect(m, flipped(self.net_i), net_ingress.i)
        connect(m, host_ingress.regular, net_egress.regular)
        connect(m, net_ingress.regular, host_egress.regular)
        connect(m, host_ingress.lookup, registry.host_lookup)
        connect(m, net_ingress.lookup, registry.net_lookup)

        connect(m, host_ingress.head, admission.host_head)
        connect(m, host_ingress.payload, admission.host_payload)
        connect(m, net_ingress.head, admission.net_head)
        connect(m, net_ingress.payload, admission.net_payload)
        connect(m, admission.registrations, registry.registrations)
        connect(m, registry.announcements, admission.announcements)
        connect(m, admission.screen, registry.screen)
        connect(m, admission.slots, registry.slots)

        connect(m, admission.o, fold.i)
        connect(m, fold.o, results.i)
        connect(m, admission.segments, results.segments)
        connect(m, results.completed, delivery.i)

        connect(m, delivery.host_directory, registry.host_directory)
        connect(m, delivery.net_directory, registry.net_directory)
        connect(m, delivery.host_copies, host_egress.copies)
        connect(m, delivery.net_copies, net_egress.copies)
        connect(m, registry.host_refusals, host_egress.refusals)
        connect(m, registry.net_refusals, net_egress.refusals)
        connect(m, host_egress.store, results.host_read)
        connect(m, net_egress.store, results.net_read)
        connect(m, host_egress.closed, registry.host_closed)
        connect(m, net_egress.closed, registry.net_closed)
        connect(m, host_egress.o, flipped(self.host_o))
        connect(m, net_egress.o, flipped(self.net_o))

        # the timers: one clock, and what each context is told of its patience
        m.submodules.clock = clock = Clock(self.config)
        described, patience = registry.described, admission.patience
        m.d.comb += [
            clock.run.eq(self.timed),
            admission.now.eq(clock.now),
            admission.timing.eq(self.timing),
            admission.freed.eq(registry.freed),
            patience.valid.eq(described.valid),
            patience.p.context.eq(described.p.context),
            patience.p.node.eq(described.p.geometry.node),
            patience.p.total.eq(described.p.geometry.leaders + described.p.geometry.children),
            patience.p.abort_ticks.eq(described.p.abort_ticks),
            registry.now.eq(clock.now),
            registry.timing.eq(self.timing),
            self.timed.eq(admission.timed | registry.timed),
            self.now.eq(clock.now),
        ]

        connect(m, flipped(self.release), registry.release)
        connect(m, admission.reports, flipped(self.reports))
        connect(m, registry.opening, flipped(self.opened))
        m.d.comb += [
            admission.host_done.eq(delivery.host_done),
            admission.net_done.eq(delivery.net_done),
            admission.host_single_done.eq(delivery.host_single_done),
            admission.net_single_done.eq(delivery.net_single_done),
            registry.undelivered.eq(admission.undelivered),
            registry.host_closing.eq(delivery.host_closing),
            registry.net_closing.eq(delivery.net_closing),
            self.open_contexts.eq(registry.open_contexts),
            host_ingress.local_mac.eq(self.local_mac),
            net_ingress.local_mac.eq(self.local_mac),
        ]

        # every event by its name; a name that two rooms report is either's, one that no room reports never happens
        reported = {name: [] for name in events_layout().members}
        rooms = [("", registry.events), ("", admission.events)]
        rooms += [("host_", host_ingress.events), ("net_", net_ingress.events)]
        rooms += [("host_", host_egress.events), ("net_", net_egress.events)]
        for prefix, events in rooms:
            for name, _ in events.shape():
                reported[prefix + name].append(events[name])
        for name, signals in reported.items():
            m.d.comb += self.events[name].eq(Cat(*signals).any() if signals else 0)
        return m
