"""What a host sees of the collectives: statistics and the queue of events behind one port. Only connects.

The engine gives the reports of admission and says which contexts open; the registers ask.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import Config
from .incidents import PLACES, Incidents, incident_layout
from .reports import report_layout
from .statistics import Statistics, choice_layout, words_layout

__all__ = ["Telemetry", "telemetry_signature"]


def telemetry_signature(config: Config) -> wiring.Signature:
    """How the registers ask, and for what; as seen by them.

    ``take`` asks for the words of ``choice``, which are there when ``busy``, high from the next cycle on, has fallen.
    ``pop`` asks for the oldest event, which is there two cycles later. Both are high for a cycle.
    """
    events = data.StructLayout({"found": 1, "oldest": incident_layout(config), "level": range(PLACES + 1), "lost": 32})
    return wiring.Signature(
        {
            "choice": Out(choice_layout(config)),
            "take": Out(1),
            "busy": In(1),
            "words": In(words_layout(config)),
            "missed": In(32),
            "pop": Out(1),
            "events": In(events),
        }
    )


class Telemetry(wiring.Component):
    """Statistics and events of one instance.

    Latency, order, on error: those of ``Statistics`` and ``Incidents``. Throughput: a report a cycle. Ready path:
    always ready.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "reports": In(stream.Signature(report_layout(config), always_ready=True)),
                "opened": In(stream.Signature(range(config.contexts), always_ready=True)),
                "open_contexts": In(config.contexts),
                "measure": In(1),
                "now": In(32),
                "read": In(telemetry_signature(config)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        m.submodules.statistics = statistics = Statistics(self._config)
        m.submodules.incidents = incidents = Incidents(self._config)
        connect(m, flipped(self.opened), statistics.opened)
        for each in (statistics, incidents):
            m.d.comb += [each.reports.valid.eq(self.reports.valid), each.reports.payload.eq(self.reports.payload)]
        m.d.comb += [
            statistics.open_contexts.eq(self.open_contexts),
            statistics.measure.eq(self.measure),
            statistics.choice.eq(self.read.choice),
            statistics.take.eq(self.read.take),
            self.read.busy.eq(statistics.busy),
            self.read.words.eq(statistics.words),
            self.read.missed.eq(statistics.missed),
            incidents.now.eq(self.now),
            incidents.pop.eq(self.read.pop),
            *(self.read.events[name].eq(getattr(incidents, name)) for name in ("found", "oldest", "level", "lost")),
        ]
        return m
