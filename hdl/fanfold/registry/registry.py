"""The registry: contexts, where their contributors registered, and the records of the fold slots. Only connects."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..codes import Status
from ..config import Config
from ..control.events import refused
from ..control.timing import timing_layout
from ..streams import Queue
from ..wire import copy_layout, tagged_layout
from .deadlines import Deadlines
from .enrolment import Enrolment
from .lookups import Lookups, context_layout
from .ports import directory_signature, lookup_signature, screen_signature, slots_signature
from .slots import SlotTable
from .states import ContextState, ContextStates

__all__ = ["Registry"]

#: registrations that may wait for their turn, in beats of up to the record's length
_WAITING_BEATS = 16
_COUNTED = ("opened", "closed", "answered", "unanswered", "aborted", "repeats", "given_up")
#: answers to refused registrations that may wait for an egress, per port
_WAITING_ANSWERS = 4


class Registry(wiring.Component):
    """Who may contribute, and who has.

    ``registrations`` come in, and what comes of them goes out as ``announcements`` (through the fold) and
    ``refusals``. The other rooms ask through the ports of ``registry.ports``.

    ``freed`` has a bit for each context, high in the cycle in which it becomes free, or is taken over while it lingers;
    ``undelivered`` is to have one for each of which something is on its way, from 8 cycles after it was announced.
    While ``timed`` is high, ``now`` must count ticks.

    Latency: as in ``registry.ports``. Throughput: 1 question a cycle on every port; registrations take some cycles
    each. Ready path: registered. Order: kept. On error: a refused registration changes nothing and is counted.
    """

    def __init__(self, config: Config):
        lookup, directory = lookup_signature(), directory_signature(config)
        closed = stream.Signature(range(config.contexts), always_ready=True)
        names = [refused(status) for status in Status if status is not Status.OK]
        super().__init__(
            {
                "registrations": In(stream.Signature(tagged_layout(config))),
                "announcements": Out(stream.Signature(tagged_layout(config))),
                "host_refusals": Out(stream.Signature(copy_layout(config))),
                "net_refusals": Out(stream.Signature(copy_layout(config))),
                "host_lookup": In(lookup),
                "net_lookup": In(lookup),
                "host_directory": In(directory),
                "net_directory": In(directory),
                "screen": In(screen_signature(config)),
                "slots": In(slots_signature(config)),
                "host_closed": In(closed),
                "net_closed": In(closed),
                "release": In(stream.Signature(range(config.contexts))),
                "open_contexts": Out(config.contexts),
                "freed": Out(config.contexts),
                #: contexts in the cycle before they are open
                "opening": Out(stream.Signature(range(config.contexts), always_ready=True)),
                #: contexts as they open, with all that was described
                "described": Out(stream.Signature(context_layout(config), always_ready=True)),
                #: contexts of which results are on their way, and those whose last one is in an egress from now on
                "undelivered": In(config.contexts),
                "host_closing": In(config.contexts),
                "net_closing": In(config.contexts),
                "now": In(32),
                "timing": In(timing_layout()),
                "timed": Out(1),
                "events": Out(data.StructLayout(dict.fromkeys([*names, *_COUNTED], 1))),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.registrations = waiting = Queue(tagged_layout(config), _WAITING_BEATS)
        m.submodules.enrolment = enrolment = Enrolment(config)
        m.submodules.states = states = ContextStates(config)
        m.submodules.deadlines = deadlines = Deadlines(config)
        m.submodules.lookups = lookups = Lookups(config)
        m.submodules.slots = slots = SlotTable(config)
        m.submodules.host_answers = host_answers = Queue(copy_layout(config), _WAITING_ANSWERS)
        m.submodules.net_answers = net_answers = Queue(copy_layout(config), _WAITING_ANSWERS)

        connect(m, flipped(self.registrations), waiting.i)
        connect(m, waiting.o, enrolment.i)
        connect(m, enrolment.announcements, flipped(self.announcements))
        connect(m, enrolment.refusals[0], host_answers.i)
        connect(m, enrolment.refusals[1], net_answers.i)
        connect(m, host_answers.o, flipped(self.host_refusals))
        connect(m, net_answers.o, flipped(self.net_refusals))
        connect(m, enrolment.describe, lookups.describe)
        connect(m, enrolment.enrol, lookups.enrol)
        connect(m, enrolment.member, lookups.member)
        connect(m, enrolment.prepare, slots.prepare)
        m.d.comb += [
            states.change.valid.eq(enrolment.change.valid),
            states.change.payload.eq(enrolment.change.payload),
            deadlines.change.valid.eq(enrolment.change.valid),
            deadlines.change.payload.eq(enrolment.change.payload),
        ]
        connect(m, flipped(self.slots), slots.slots)
        for name in ("host_lookup", "net_lookup", "host_directory", "net_directory", "screen"):
            connect(m, flipped(getattr(self, name)), getattr(lookups, name))
        for name in ("host_closed", "net_closed", "release"):
            connect(m, flipped(getattr(self, name)), getattr(states, name))
        m.d.comb += [
            self.described.valid.eq(enrolment.describe.valid),
            self.described.payload.eq(enrolment.describe.payload),
            states.context.eq(enrolment.context),
            enrolment.state.eq(states.state),
            states.busy.eq(enrolment.busy),
            states.linger.eq(self.timing.linger_ticks != 0),
            enrolment.undelivered.eq(self.undelivered | self._leaving(m)),
            enrolment.free_contexts.eq(states.free_contexts),
            enrolment.due.eq(deadlines.due),
            enrolment.what.eq(deadlines.what),
            enrolment.due_context.eq(deadlines.context),
            deadlines.take.eq(enrolment.take),
            deadlines.now.eq(self.now),
            deadlines.timing.eq(self.timing),
            deadlines.freed.eq(states.freed),
            deadlines.lingers.eq(states.lingers),
            self.timed.eq(deadlines.timed),
            self.freed.eq(states.freed),
            lookups.open_contexts.eq(states.open_contexts),
            lookups.lingering_contexts.eq(states.lingering_contexts),
            self.open_contexts.eq(states.open_contexts),
            self.opening.valid.eq(enrolment.change.valid & (enrolment.change.p.state == ContextState.OPEN)),
            self.opening.payload.eq(enrolment.change.p.context),
            self.events.opened.eq(states.opened),
            self.events.closed.eq(states.closed),
        ]
        for name, _ in enrolment.events.shape():
            m.d.comb += self.events[name].eq(enrolment.events[name])
        for status in Status:
            if status is not Status.OK:
                m.d.comb += self.events[refused(status)].eq(enrolment.refused[status.name])
        return m

    def _leaving(self, m):
        """Contexts that an egress will report as closed: a report must not meet the next life of a released one."""
        contexts = self._config.contexts
        leaving = []
        for name in ("host", "net"):
            closing, closed = getattr(self, f"{name}_closing"), getattr(self, f"{name}_closed")
            left = Signal(contexts, name=f"{name}_left")
            here = Signal(contexts, name=f"{name}_leaving")
            m.d.comb += left.eq(Mux(closed.valid, 1 << closed.payload, 0))
            m.d.sync += here.eq((here | closing) & ~left)
            leaving.append(here)
        return leaving[0] | leaving[1]
