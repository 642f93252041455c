"""What went wrong last: a queue of events that a host reads one by one."""

from amaranth import *
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..codes import Origin, Port, Status
from ..config import Config
from .reports import report_layout

__all__ = ["PLACES", "Incident", "Incidents", "incident_layout"]

#: events that are kept
PLACES = 64
_BITS = 32


class Incident(enum.Enum, shape=2):  # type: ignore[call-arg]
    """What kind of event it is."""

    #: a packet was not taken
    REFUSED = 0
    #: a timer ended a segment
    ABORTED = 1
    #: a segment is over with a status other than 0
    FAILED = 2


def incident_layout(config: Config) -> data.StructLayout:
    """One event. ``cause`` is why a packet was refused, or what the segment ended with; ``ticks`` is when. The others
    are as in the report."""
    return data.StructLayout(
        {
            "kind": Incident,
            "cause": 8,
            "context": range(config.contexts),
            "contributor": range(config.contributors),
            "slot": range(config.fold_slots),
            "port": Port,
            "down": 1,
            "ticks": _BITS,
        }
    )


class Incidents(wiring.Component):
    """The last ``PLACES`` refusals, aborts and failures that no one has read, from the reports of admission.

    ``pop``, high for a cycle, moves the oldest one to ``oldest``, and ``found`` says whether there was one. ``level``
    is how many are left; ``lost`` counts, modulo 2^32, those that gave way to newer ones unread. ``now`` is the time
    that events get. A report that is several of these is one event: an abort before a failure.

    Latency: 2 from a report to ``level``, and from ``pop`` to ``oldest``. Throughput: a report a cycle. Ready path:
    always ready. Order: kept. On error: none.
    """

    #: cycles from ``pop`` to ``oldest``
    latency = 2

    def __init__(self, config: Config):
        super().__init__(
            {
                "reports": In(stream.Signature(report_layout(config), always_ready=True)),
                "now": In(_BITS),
                "pop": In(1),
                "oldest": Out(incident_layout(config)),
                "found": Out(1),
                "level": Out(range(PLACES + 1)),
                "lost": Out(_BITS),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        m.submodules.kept = kept = Memory(shape=incident_layout(self._config), depth=PLACES, init=[])
        write, read = kept.write_port(), kept.read_port()
        report = self.reports.payload

        refused, aborted, failed = (Signal(name=name) for name in ("refused", "aborted", "failed"))
        m.d.comb += [
            refused.eq((report.origin == Origin.RECEIVED) & (report.status != Status.OK)),
            aborted.eq((report.origin == Origin.OVERDUE) | (report.origin == Origin.GIVEN_UP)),
            failed.eq(report.ends & (report.outcome != Status.OK)),
        ]
        event = Signal(incident_layout(self._config))
        comes = Signal()
        taken = Signal()
        m.d.comb += taken.eq(Value.cast(report.status) == 0)
        m.d.sync += comes.eq(self.reports.valid & (refused | (taken & (aborted | failed))))
        with m.If(self.reports.valid):
            m.d.sync += [event[name].eq(report[name]) for name in ("context", "contributor", "slot", "port", "down")]
            m.d.sync += event.ticks.eq(self.now)
            m.d.sync += event.cause.eq(Mux(refused, report.status, report.outcome))
            with m.If(refused):
                m.d.sync += event.kind.eq(Incident.REFUSED)
            with m.Elif(aborted):
                m.d.sync += event.kind.eq(Incident.ABORTED)
            with m.Else():
                m.d.sync += event.kind.eq(Incident.FAILED)

        # a ring: the newest one is written before the oldest one is lost
        tail = Signal(range(PLACES))
        leaves = Signal()
        full = Signal()
        popped = Signal()
        m.d.comb += [
            leaves.eq(self.pop & (self.level != 0)),
            full.eq(self.level == PLACES),
            write.addr.eq(tail),
            write.data.eq(event),
            write.en.eq(comes),
            read.addr.eq(tail - self.level),
            read.en.eq(leaves),
        ]
        with m.If(comes):
            m.d.sync += tail.eq(tail + 1)
            with m.If(full & ~leaves):
                m.d.sync += self.lost.eq(self.lost + 1)
        with m.If(comes & ~leaves & ~full):
            m.d.sync += self.level.eq(self.level + 1)
        with m.If(leaves & ~comes):
            m.d.sync += self.level.eq(self.level - 1)
        m.d.sync += popped.eq(leaves)
        with m.If(self.pop):
            m.d.sync += self.found.eq(leaves)
        with m.If(popped):
            m.d.sync += self.oldest.eq(read.data)
        return m
