"""What is said of each decision, off its path: what is counted, why a packet was refused, and a report of it."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Origin, Status
from ..config import Config
from ..control.reports import report_layout
from ..wire import FLAGS
from .judge import verdict_layout
from .layouts import screened_layout

__all__ = ["DECISIONS", "Account", "account_layout", "decisions_layout"]

#: what is counted of the packets that are not refused
DECISIONS = ("contributions", "failed_segments", "folded", "results", "answered", "unanswered", "aborted", "repeats",
             "given_up")  # fmt: skip
_REFUSALS = [status for status in Status if status is not Status.OK]


def account_layout(config: Config) -> data.StructLayout:
    """A decision and what it followed from: what ``Judge`` and ``Outcome`` say of ``packet``, and of its slot's record
    whether a contribution was in (``begun``) and whether it waits for the parent (``waits``)."""
    facts = ("begun", "waits", "in_turn", "before", "here", "undelivered", "full", "ends")
    return data.StructLayout(
        {
            "packet": screened_layout(config),
            "slot": range(config.fold_slots),
            "verdict": verdict_layout(),
            "status": Status,
            **dict.fromkeys(facts, 1),
        }
    )


def decisions_layout() -> data.StructLayout:
    """An event a decision, and one a cause of refusal."""
    return data.StructLayout(dict.fromkeys([*(each.name for each in _REFUSALS), *DECISIONS], 1))


class Account(wiring.Component):
    """Finds the cause of each refusal by the slot, raises ``events`` and sends a report for each packet that is decided
    upon: all from a port, and those of a timer that are taken.

    Latency: 2. Throughput: 1. Ready path: always ready. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(account_layout(config), always_ready=True)),
                "events": Out(decisions_layout()),
                "reports": Out(stream.Signature(report_layout(config), always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        now = Signal(account_layout(self._config), reset_less=True)
        valid = Signal()
        m.d.sync += [valid.eq(self.i.valid), now.eq(self.i.payload)]
        packet, verdict = now.packet, now.verdict
        received = packet.origin == Origin.RECEIVED
        accepted = Value.cast(verdict).any()
        cause = Signal(Status)
        refused = Signal()
        m.d.comb += refused.eq(valid & received & ~accepted)
        with m.If(packet.refusal != Status.OK):
            m.d.comb += cause.eq(packet.refusal)
        with m.Elif(packet.lingering):
            m.d.comb += cause.eq(Status.NOT_OPEN)
        with m.Elif(now.in_turn & packet.down):
            # a failed result would be taken early if it were not too long
            early = ~now.undelivered & (packet.header.status != 0)
            m.d.comb += cause.eq(Mux(now.waits | early, Status.BAD_LENGTH, Status.OUT_OF_WINDOW))
        with m.Elif(now.in_turn):
            # after an abort here: who comes late gets the result as everybody does
            m.d.comb += cause.eq(Mux(now.waits & ~now.here, Status.EXPIRED, Status.DUPLICATE))
        with m.Else():
            m.d.comb += cause.eq(Mux(now.before, Status.DUPLICATE, Status.OUT_OF_WINDOW))

        for status in _REFUSALS:
            m.d.sync += self.events[status.name].eq(refused & (cause == status))
        happened = {
            "contributions": verdict.up,
            "folded": now.full,
            "failed_segments": now.full & (now.status != Status.OK),
            "results": verdict.down,
            "answered": verdict.answered,
            "unanswered": verdict.unanswered,
            "aborted": verdict.overdue,
            "repeats": verdict.repeated,
            "given_up": verdict.given_up,
        }
        for name in DECISIONS:
            m.d.sync += self.events[name].eq(valid & happened[name])
        self._report(m, now, cause, valid & (received | (accepted & (packet.origin != Origin.ANNOUNCED))), accepted)
        return m

    def _report(self, m, now, cause, valid, accepted):
        packet, verdict, report = now.packet, now.verdict, self.reports.p
        taken = verdict.up | verdict.down
        m.d.sync += [
            self.reports.valid.eq(valid),
            report.context.eq(packet.context),
            report.contributor.eq(packet.header.source),
            report.slot.eq(now.slot),
            report.port.eq(packet.port),
            report.down.eq(packet.down),
            report.status.eq(Mux(accepted, Status.OK, Value.cast(cause))),
            report.bytes.eq(packet.header.length),
            report.repeat.eq(FLAGS(packet.header.flags).repeat),
            report.answered.eq(verdict.answered),
            report.opens.eq(taken & ~now.begun),
            report.closes.eq(now.full | verdict.overdue | (verdict.down & ~now.waits)),
            report.ends.eq(now.ends),
            report.outcome.eq(Mux(now.ends, Value.cast(now.status), 0)),
            report.origin.eq(packet.origin),
        ]
        with m.If(verdict.unanswered):
            m.d.sync += report.status.eq(Status.DUPLICATE)
