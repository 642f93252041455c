"""Counts by context, contributor and cause, from the reports of admission; a host looks at one row of each at a time.

``Rows`` keep the counters, ``Sweep`` clears those of a context when it opens, ``Arrivals`` measures segments; here
reports become changes of rows.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..codes import Origin, Status
from ..config import Config
from .arrivals import SPREAD_BITS, Arrivals, gave
from .reports import report_layout
from .rows import LIFE_BITS, Rows, summed
from .sweep import Sweep

__all__ = ["CAUSES", "Statistics", "choice_layout", "words_layout"]

#: causes that can be told apart: codes of ``Status``
CAUSES = 16
#: a read waits so long for a cycle without a report, then it takes one
_PATIENCE = 256

_BITS = 32
#: counters of a context, and of a contributor of it; ``bytes`` adds up what the others count
_CONTEXT = (
    "packets",
    "bytes",
    "contributions",
    "completions",
    "failures",
    "duplicates",
    "repeats",
    "resent",
    "aborts",
)
_CONTRIBUTOR = ("packets", "bytes", "contributions", "duplicates", "last")
_SPREAD = ("count", "sum", "min", "max")

#: causes for which it is not sure that a packet came from the contributor that it names
_UNPROVEN = (Status.NOT_OPEN, Status.OUT_OF_RANGE, Status.WRONG_SOURCE)


def choice_layout(config: Config) -> data.StructLayout:
    """Which rows a host wants to see."""
    return data.StructLayout(
        {"context": range(config.contexts), "contributor": range(config.contributors), "status": range(CAUSES)}
    )


def words_layout(config: Config) -> data.StructLayout:
    """What a host sees: a word for each register, by its name. Without ``telemetry`` there is none of contributors."""
    names = [f"context_{name}" for name in _CONTEXT]
    names += ["context_status_packets", *(f"context_spread_{name}" for name in _SPREAD)]
    if config.telemetry:
        names += [f"contributor_{name}" for name in _CONTRIBUTOR]
    return data.StructLayout(dict.fromkeys(names, _BITS))


class Statistics(wiring.Component):
    """All counters of all contexts; every one is modulo 2^32, and those of a context are 0 when it opens.

    A report counts for the life of its context that an opening two cycles before it, or earlier, has begun. ``take``,
    high for a cycle, asks for the rows that ``choice`` names from the next cycle on; ``busy`` is high from then until
    ``words`` has them, all as they were between two reports. ``missed`` counts reports that were not counted, because a
    host read when ``_PATIENCE`` cycles had one each.

    Latency: ``latency`` from ``take`` to ``words`` when no reports come. Throughput: a report a cycle. Ready path:
    always ready. Order: kept. On error: none. Until a walk through all rows after a reset, which takes
    ``walk_cycles`` cycles without reports, what was counted may be lost.
    """

    #: cycles from ``take`` until ``words`` is there and ``busy`` low, at the least
    latency = 3 + Arrivals.latency + Rows.latency

    def __init__(self, config: Config):
        super().__init__(
            {
                "reports": In(stream.Signature(report_layout(config), always_ready=True)),
                "opened": In(stream.Signature(range(config.contexts), always_ready=True)),
                "open_contexts": In(config.contexts),
                "measure": In(1),
                "choice": In(choice_layout(config)),
                "take": In(1),
                "busy": Out(1),
                "words": Out(words_layout(config)),
                "missed": Out(_BITS),
            }
        )
        self._config = config
        self._swept = max(CAUSES, config.contributors if config.telemetry else 0)

    @property
    def walk_cycles(self) -> int:
        """Cycles of the walk through all rows."""
        return self._config.contexts * self._swept

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.sweep = sweep = Sweep(config.contexts, self._swept)
        connect(m, flipped(self.opened), sweep.opened)

        # a cycle is for a report, for a host that reads, or for the walk
        wanted = Signal()
        patience = Signal(range(_PATIENCE))
        reading, counting, walking = (Signal(name=name) for name in ("reading", "counting", "walking"))
        m.d.comb += [
            reading.eq(wanted & (~self.reports.valid | (patience == _PATIENCE - 1))),
            counting.eq(self.reports.valid & ~reading),
            walking.eq(~self.reports.valid & ~wanted & sweep.wanted),
            sweep.taken.eq(walking),
        ]
        with m.If(self.take):
            m.d.sync += [wanted.eq(1), patience.eq(0)]
        with m.Elif(reading):
            m.d.sync += wanted.eq(0)
            m.d.sync += self.missed.eq(self.missed + self.reports.valid)
        with m.Elif(wanted):
            m.d.sync += patience.eq(patience + 1)

        report = Signal(report_layout(config))
        row = Signal(choice_layout(config))  # where it counts
        counted, shown, touched, cleared = (Signal(name=name) for name in ("counted", "shown", "touched", "cleared"))
        m.d.sync += [counted.eq(counting), shown.eq(reading), touched.eq(counting | reading | walking)]
        m.d.sync += cleared.eq(walking & sweep.clear)
        with m.If(counting):
            m.d.comb += sweep.context.eq(self.reports.payload.context)
            m.d.sync += [
                report.eq(self.reports.payload),
                row.context.eq(self.reports.payload.context),
                row.contributor.eq(self.reports.payload.contributor),
                row.status.eq(self.reports.payload.status),
            ]
        with m.Elif(reading):
            m.d.comb += sweep.context.eq(self.choice.context)
            m.d.sync += row.eq(self.choice)
        with m.Else():
            m.d.comb += sweep.context.eq(sweep.swept)
            with m.If(walking):
                m.d.sync += [row.context.eq(sweep.swept), row.contributor.eq(sweep.row), row.status.eq(sweep.row)]

        life = Signal(LIFE_BITS)
        m.d.comb += life.eq(Mux(cleared, 0, sweep.life))  # the number in the memory may be rubbish still

        changes = Signal(data.StructLayout(dict.fromkeys([*_CONTEXT, *_CONTRIBUTOR], 1)))
        self._classify(m, report, counted, changes)
        size = Signal(16)
        m.d.comb += size.eq(Mux(changes.bytes, report.bytes, 0))

        def table(name, depth, members, index, counts=None):
            """Rows that reports change directly, where they count."""
            change = {member: 16 if member == "bytes" else 1 for member in members}
            rows = Rows(depth, data.StructLayout(dict.fromkeys(members, _BITS)), data.StructLayout(change), summed)
            m.submodules[name] = rows
            item = rows.i.payload
            m.d.comb += [rows.i.valid.eq(touched), item.row.eq(index), item.life.eq(life)]
            m.d.comb += [item.clear.eq(cleared), item.show.eq(shown)]
            for each in members:
                added = size if each == "bytes" else changes[each]
                m.d.comb += item.change[each].eq(added if counts is None else Mux(counts, added, 0))
            return rows

        contexts = table("contexts", config.contexts, _CONTEXT, row.context)
        causes = table("causes", CAUSES * config.contexts, ("packets",), Cat(row.status, row.context))
        self._show(m, contexts, {name: f"context_{name}" for name in _CONTEXT})
        self._show(m, causes, {"packets": "context_status_packets"})
        if config.telemetry:
            leaf_bits = (config.contributors - 1).bit_length()
            proven = Signal()
            m.d.comb += proven.eq(~report.down & ~_one_of(report.status, _UNPROVEN))
            index = Cat(row.contributor, row.context)
            members = table("contributors", config.contexts << leaf_bits, _CONTRIBUTOR, index, proven)
            self._show(m, members, {name: f"contributor_{name}" for name in _CONTRIBUTOR})
        spreads = self._measure(m, report, counted, touched, row, life, cleared, shown)

        with m.If(self.take):
            m.d.sync += self.busy.eq(1)
        with m.Elif(spreads.o.valid):  # they are the last to come
            m.d.sync += self.busy.eq(0)
        return m

    def _classify(self, m, report, counted, changes):
        """What a report counts as."""
        received, taken, given = (Signal(name=name) for name in ("received", "accepted", "given"))
        m.d.comb += [
            received.eq(counted & (report.origin == Origin.RECEIVED)),
            taken.eq(counted & (report.status == Status.OK) & ~report.answered),
            given.eq(counted & gave(report)),
            changes.packets.eq(received),
            changes.bytes.eq(received),
            changes.contributions.eq(given),
            changes.completions.eq(counted & report.ends & (report.outcome == Status.OK)),
            changes.failures.eq(counted & report.ends & (report.outcome != Status.OK)),
            changes.duplicates.eq(received & (report.status == Status.DUPLICATE)),
            changes.repeats.eq(received & report.repeat),
            changes.resent.eq(taken & (report.origin == Origin.REPEATED)),
            changes.aborts.eq(taken & _one_of(report.origin, (Origin.OVERDUE, Origin.GIVEN_UP))),
            changes.last.eq(given & report.closes),
        ]

    def _measure(self, m, report, counted, touched, row, life, cleared, shown) -> Rows:
        """Spreads of segments, by context: an item follows its report through ``Arrivals``."""
        config = self._config
        m.submodules.arrivals = arrivals = Arrivals(config)
        change = data.StructLayout({"measured": 1, "spread": SPREAD_BITS})
        m.submodules.spreads = spreads = Rows(
            config.contexts, data.StructLayout(dict.fromkeys(_SPREAD, _BITS)), change, _spread
        )
        m.d.comb += [
            arrivals.i.valid.eq(counted),
            arrivals.i.payload.eq(report),
            arrivals.open_contexts.eq(self.open_contexts),
            arrivals.measure.eq(self.measure),
        ]
        item = data.StructLayout({"row": range(config.contexts), "life": life.shape(), "clear": 1, "show": 1})
        valid, beside = touched, Signal(item, name="beside_0")
        m.d.comb += [beside.row.eq(row.context), beside.life.eq(life), beside.clear.eq(cleared), beside.show.eq(shown)]
        for stage in range(1, Arrivals.latency + 1):
            after, next_valid = Signal(item, name=f"beside_{stage}"), Signal(name=f"beside_valid_{stage}")
            m.d.sync += next_valid.eq(valid)
            with m.If(valid):
                m.d.sync += after.eq(beside)
            valid, beside = next_valid, after
        m.d.comb += [
            spreads.i.valid.eq(valid),
            *(spreads.i.payload[name].eq(beside[name]) for name in item.members),
            spreads.i.payload.change.measured.eq(arrivals.o.valid),
            spreads.i.payload.change.spread.eq(arrivals.o.payload),
        ]
        with m.If(spreads.o.valid):
            m.d.sync += [self.words[f"context_spread_{name}"].eq(spreads.o.payload[name]) for name in _SPREAD]
            # it is kept as its complement, so that a row of zeros has none
            m.d.sync += self.words.context_spread_min.eq(~spreads.o.payload.min)
        return spreads

    def _show(self, m, rows: Rows, names: dict[str, str]):
        """The row that a host asked for, to its words."""
        with m.If(rows.o.valid):
            m.d.sync += [self.words[word].eq(rows.o.payload[name]) for name, word in names.items()]


def _one_of(code, members) -> Value:
    """Whether ``code`` is one of these."""
    return Cat(Value.cast(code) == member.value for member in members).any()


def _spread(old: data.View, change: data.View) -> dict[str, Value]:
    """How a segment's spread changes what is known of its context's; ``min`` is a complement."""
    spread, under = change.spread, ~change.spread
    return {
        "count": old.count + change.measured,
        "sum": old.sum + Mux(change.measured, spread, 0),
        "min": Mux(change.measured & (under > old.min), under, old.min),
        "max": Mux(change.measured & (spread > old.max), spread, old.max),
    }
