"""What of a context is due: registrations that nobody completes or answers, and contexts that linger.

Enrolment and the states say what begins and ends; enrolment does what is due, between two packets.
"""

from amaranth import *
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..control.timing import timing_layout
from .states import ContextState, change_layout
from .table import Table

__all__ = ["Deadlines", "Due"]


class Due(enum.Enum, shape=2):  # type: ignore[call-arg]
    """What is to be done with a context whose time is up."""

    #: contributors did not come: those that are enrolled are refused
    DISMISS = 0
    #: the parent is asked again
    REPEAT = 1
    #: the parent does not answer: all contributors hear of it
    GIVE_UP = 2
    #: it has lingered long enough
    FORGET = 3


class _Wait(enum.Enum, shape=2):  # type: ignore[call-arg]
    """What a context waits for."""

    NOTHING = 0
    CONTRIBUTORS = 1
    PARENT = 2
    END = 3


class Deadlines(wiring.Component):
    """Looks at one context after another, and offers what is ``due``, for ``context``, until enrolment ``take``s it or
    something else happens to that context. ``timed``: the clock must run. While nothing is timed no register changes.

    A context that enrols waits ``patience`` of its record, or ``abort_ticks``; one that waits for its parent has it
    asked again every ``retry_ticks``, ``retry_limit`` times, and gives up an interval later, or without ``retry_ticks``
    after twice its patience; one that lingers does it for ``linger_ticks``. 0: for ever. What is due is due when as
    many ticks have begun as it says, and is found at most 3 cycles a context later.

    Latency: 3 from a look to the offer. Throughput: a look in 1 cycle, 3 where something is timed. Ready path: none.
    Order: by context, in turns. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "now": In(32),
                "timing": In(timing_layout()),
                "change": In(stream.Signature(change_layout(config), always_ready=True)),
                "freed": In(config.contexts),
                "lingers": In(config.contexts),
                "timed": Out(1),
                "due": Out(1),
                "what": Out(Due),
                "context": Out(range(config.contexts)),
                "take": In(1),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        contexts = self._config.contexts
        since = data.StructLayout({"tick": 32, "repeats": 16})
        m.submodules.patiences = patiences = Table(32, contexts, readers=1)
        m.submodules.begun = begun = Table(since, contexts, readers=1)

        waits = Signal(data.ArrayLayout(_Wait, contexts))
        fresh = Signal(contexts)  # the time of its beginning is not noted yet
        index = Signal(range(contexts))
        touched = Signal()  # something else happens to this context
        stale = Signal()  # ... or did since it was looked at
        written = begun.write
        m.d.comb += [
            self.timed.eq(Value.cast(waits).any()),
            self.context.eq(index),
            patiences.write.valid.eq(self.change.valid),
            patiences.write.p.address.eq(self.change.p.context),
            patiences.write.p.data.eq(self.change.p.patience),
            patiences.read[0].address.eq(index),
            begun.read[0].address.eq(index),
            written.p.address.eq(index),
            written.p.data.tick.eq(self.now),
            touched.eq(
                (self.change.valid & (self.change.p.context == index))
                | (self.freed | self.lingers).bit_select(index, 1)
            ),
        ]

        wait = Signal(_Wait)
        row = Signal(since)
        patience, limit = Signal(32), Signal(32)
        doubled = Signal(32)
        retries = self.timing.retry_ticks != 0
        m.d.comb += [
            wait.eq(waits[index]),
            row.eq(begun.read[0].data),
            patience.eq(Mux(patiences.read[0].data == 0, self.timing.abort_ticks, patiences.read[0].data)),
            doubled.eq(Mux(patience[31], 2**32 - 1, patience << 1)),
        ]
        with m.Switch(wait):
            with m.Case(_Wait.CONTRIBUTORS):
                m.d.comb += limit.eq(patience)
            with m.Case(_Wait.PARENT):
                m.d.comb += limit.eq(Mux(retries, self.timing.retry_ticks, doubled))
            with m.Case(_Wait.END):
                m.d.comb += limit.eq(self.timing.linger_ticks)
        elapsed, allowed = Signal(32), Signal(32)
        repeats = Signal(16)

        with m.FSM(name="deadlines"):
            with m.State("looking"):
                m.d.sync += stale.eq(touched)
                with m.If(self.timed):
                    with m.If((wait == _Wait.NOTHING) | fresh.bit_select(index, 1)):
                        m.d.comb += written.valid.eq(wait != _Wait.NOTHING)
                        m.d.sync += [fresh.bit_select(index, 1).eq(0), index.eq(index + 1)]
                    with m.Else():
                        m.next = "measuring"
            with m.State("measuring"):
                m.d.sync += [
                    stale.eq(stale | touched),
                    elapsed.eq(self.now - row.tick),
                    allowed.eq(limit),
                    repeats.eq(row.repeats),
                ]
                m.next = "comparing"
            with m.State("comparing"):
                m.d.sync += stale.eq(stale | touched)
                with m.If(wait == _Wait.PARENT):
                    over = ~retries | (repeats >= self.timing.retry_limit)
                    m.d.sync += self.what.eq(Mux(over, Due.GIVE_UP, Due.REPEAT))
                with m.Else():
                    m.d.sync += self.what.eq(Mux(wait == _Wait.END, Due.FORGET, Due.DISMISS))
                with m.If((allowed != 0) & (elapsed >= allowed) & ~stale):
                    m.next = "offering"
                with m.Else():
                    m.d.sync += index.eq(index + 1)
                    m.next = "looking"
            with m.State("offering"):
                m.d.sync += stale.eq(stale | touched)
                m.d.comb += self.due.eq(~stale)
                with m.If(self.take & self.due):
                    m.d.comb += [written.valid.eq(1), written.p.data.repeats.eq(repeats + 1)]
                with m.If(self.take | stale):
                    m.d.sync += index.eq(index + 1)
                    m.next = "looking"

        # what begins and ends is noted last: it goes before what the look says
        patient = (self.change.p.patience != 0) | (self.timing.abort_ticks != 0)
        for context in range(contexts):
            with m.If(self.freed[context]):
                m.d.sync += waits[context].eq(_Wait.NOTHING)
            with m.If(self.lingers[context]):
                m.d.sync += [waits[context].eq(_Wait.END), fresh[context].eq(1)]
            with m.If(self.change.valid & (self.change.p.context == context)):
                m.d.sync += [waits[context].eq(_Wait.NOTHING), fresh[context].eq(1)]
                with m.If((self.change.p.state == ContextState.ENROLLING) & patient):
                    m.d.sync += waits[context].eq(_Wait.CONTRIBUTORS)
                with m.If((self.change.p.state == ContextState.WAITING) & (patient | retries)):
                    m.d.sync += waits[context].eq(_Wait.PARENT)
        return m
