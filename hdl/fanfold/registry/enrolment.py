"""Registrations in, contexts out: the all-reduce that sets up leaders, children and addresses.

One registration at a time, a few cycles each, beside the path of the contributions, which never waits for it. What
comes of it goes back as a packet of the NIC's own (*announced*), through the fold to delivery like every other result.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Direction, Port, Status
from ..config import Config
from ..wire import FLAGS, RECORD, TOTAL, copy_layout, tagged_layout
from .deadlines import Due
from .entries import down_causes, entry_layout, is_down, is_for_another_nic, is_root, up_causes
from .lookups import context_layout, member_layout
from .outcomes import announcing_layout, fill_announcement, fill_refusal
from .places import Places
from .ports import commit_layout
from .states import ContextState, change_layout
from .table import Table

__all__ = ["Enrolment"]

_STATUSES = [status for status in Status if status is not Status.OK]
_EVENTS = ("answered", "unanswered", "aborted", "repeats", "given_up")
#: cycles after which what was announced shows in ``undelivered``
_SETTLING = 8


class Enrolment(wiring.Component):
    """Takes registration packets (``i``), keeps the contexts' entries, and says what comes of each packet:
    ``announcements`` to the fold, ``refusals`` straight back to the sender, per port. Between two packets it does what
    is ``due`` (a context and ``what``, see ``deadlines``) and says so with ``take``. While it is ``busy`` nothing else
    may move a context on.

    Latency: the packet's beats + 7 to an announcement of one that completes nothing new, + window more for one that
    opens a context. Throughput: one packet in that time. Ready path: registered (a state). Order: kept. On error: a
    damaged packet changes nothing; a refused one changes nothing, is counted (``refused``, a bit a status) and, where
    the protocol says so, answered; when the queue for answers is full the answer is dropped (``unanswered``). Who is
    dismissed because others did not come is told in any case: that waits for room.
    """

    def __init__(self, config: Config):
        member = wiring.Signature(
            {
                "context": Out(range(config.contexts)),
                "index": Out(range(config.contributors)),
                "address": In(member_layout(config)["address"].shape),
            }
        )
        super().__init__(
            {
                "i": In(stream.Signature(tagged_layout(config))),
                "announcements": Out(stream.Signature(tagged_layout(config))),
                "refusals": Out(stream.Signature(copy_layout(config))).array(2),
                "describe": Out(stream.Signature(context_layout(config), always_ready=True)),
                "enrol": Out(stream.Signature(member_layout(config), always_ready=True)),
                "member": Out(member),
                "prepare": Out(stream.Signature(commit_layout(config))),
                "context": Out(range(config.contexts)),
                "state": In(ContextState),
                "free_contexts": In(config.contexts),
                #: contexts of which results of their last life are still to be delivered
                "undelivered": In(config.contexts),
                "change": Out(stream.Signature(change_layout(config), always_ready=True)),
                "busy": Out(1),
                "due": In(1),
                "what": In(Due),
                "due_context": In(range(config.contexts)),
                "take": Out(1),
                "refused": Out(data.StructLayout({status.name: 1 for status in _STATUSES})),
                "events": Out(data.StructLayout(dict.fromkeys(_EVENTS, 1))),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        beats = -(-RECORD.bytes // config.beat_bytes)
        context_bits = (config.contexts - 1).bit_length()
        window_bits = (config.window - 1).bit_length()

        m.submodules.entries = entries = Table(entry_layout(config), config.contexts, readers=1)
        packet = Signal(tagged_layout(config), reset_less=True)  # the head of the packet at hand
        payload = Signal(8 * config.beat_bytes * beats, reset_less=True)  # its first bytes, then what is announced
        place = Signal(range(beats + 1))
        record = RECORD.from_wire(payload[: 8 * RECORD.bytes])
        header = packet.head.header
        entry = entry_layout(config)(Value.cast(entries.read[0].data))
        context = header.comm_id[:context_bits]
        down = is_down(header)
        known = (self.state != ContextState.FREE) & (self.state != ContextState.LINGERING)
        is_open = self.state == ContextState.OPEN
        timed = Signal()  # no packet is at hand, but what was due
        job = Signal(Due)
        m.d.comb += [
            self.context.eq(context),
            self.member.context.eq(context),
            self.member.index.eq(header.source),
            entries.read[0].address.eq(context),
        ]

        m.submodules.places = places = Places(config)
        wanted = Mux(packet.port == Port.HOST, record.leaders + record.children, record.parent_total)
        wants = Signal.like(places.total)
        m.d.sync += wants.eq(Mux((wanted == 0) | (wanted > config.leaves), config.leaves, wanted))
        m.d.comb += [
            places.context.eq(context),
            places.total.eq(wants),
            places.lingers.eq(self.state == ContextState.LINGERING),
            places.free.eq(self.free_contexts),
            places.undelivered.eq(self.undelivered),
        ]

        leftover = self.undelivered.bit_select(context, 1)
        cause = Signal(Status)
        checked = Signal(Status)
        unsaid = Signal()  # a refusal has no answer
        remote = packet.head.remote
        here = self.member.address
        fields = ("mac", "ip", "port", "queue")
        same = Cat(remote[name] for name in fields) == Cat(here[name] for name in fields)
        with m.If(down):
            waiting = self.state == ContextState.WAITING
            _first(m, cause, down_causes(known, waiting, is_open, entry, packet))
        with m.Else():
            _first(m, cause, up_causes(config, known, leftover, places.room, entry, packet, record, same))

        # the entry as it will be: with this contributor in it, or with the parent's answer
        joined = Signal(entry_layout(config))
        leader = packet.port == Port.HOST
        describing = leader & ~(known & entry.described)
        member_bit = Signal(config.contributors)
        promised = Mux(leader, 0, record.parent_total)
        m.d.comb += [
            member_bit.eq(1 << header.source[: (config.contributors - 1).bit_length()]),
            joined.eq(entry),
        ]
        with m.If(down):
            m.d.comb += joined.ranks.eq(TOTAL.from_wire(payload[: 8 * TOTAL.bytes]).ranks)
        with m.Elif(~timed):
            m.d.comb += [
                joined.names.comm_id.eq(header.comm_id),
                joined.names.key.eq(header.coll_tag_high32),
                joined.tag.eq(header.coll_tag),
                joined.window.eq(record.window),
                joined.local_mac.eq(packet.head.local_mac),
                joined.local_ip.eq(packet.head.local_ip),
                joined.described.eq(leader | (known & entry.described)),
                Value.cast(joined.record).eq(Mux(describing, Value.cast(record), Value.cast(entry.record))),
                joined.promised.eq(Mux(known & (entry.promised != 0), entry.promised, promised)),
                joined.enrolled.eq(member_bit | Mux(known, entry.enrolled, 0)),
                joined.count.eq(1 + Mux(known, entry.count, 0)),
                joined.ranks.eq(record.ranks + Mux(known, entry.ranks, 0)),
            ]
        total = Signal(range(config.contributors + 1))
        m.d.comb += total.eq(joined.record.leaders + joined.record.children)
        complete = Signal()
        m.d.comb += complete.eq(joined.described & (joined.count == total))
        root = is_root(joined.record)

        m.d.comb += [
            self.describe.p.context.eq(context),
            self.describe.p.names.eq(joined.names),
            self.describe.p.geometry.leaders.eq(joined.record.leaders),
            self.describe.p.geometry.children.eq(joined.record.children),
            self.describe.p.geometry.root.eq(root),
            self.describe.p.geometry.parent_index.eq(joined.record.parent_index),
            self.describe.p.geometry.node.eq(joined.record.node),
            self.describe.p.parent.mac.eq(joined.record.parent_mac),
            self.describe.p.parent.ip.eq(joined.record.parent_ip),
            self.describe.p.parent.port.eq(joined.record.parent_port),
            self.describe.p.parent.tags.eq(joined.record.parent_tags),
            self.describe.p.parent.outer.eq(joined.record.parent_outer),
            self.describe.p.parent.inner.eq(joined.record.parent_inner),
            self.describe.p.local_mac.eq(joined.local_mac),
            self.describe.p.local_ip.eq(joined.local_ip),
            self.describe.p.abort_ticks.eq(joined.record.abort_ticks),
            self.describe.p.geometry.base.eq(places.base),
            self.enrol.p.place.eq(places.base | header.source[: config.levels]),
            self.enrol.p.address.eq(remote),
            entries.write.p.address.eq(context),
            entries.write.p.data.eq(joined),
            self.change.p.context.eq(context),
            self.change.p.children.eq(joined.record.children != 0),
            # the first registration may be a child's, before any leader has described the node
            self.change.p.patience.eq(Mux(known | timed, joined.record.abort_ticks, record.abort_ticks)),
        ]
        dismissing = Signal()
        leads = entry.described & (header.source < entry.record.leaders)  # the one that is dismissed
        port = Mux(dismissing, Mux(leads, Port.HOST, Port.NET), packet.port)
        answering_at = Signal(Port)
        answered = Signal()  # the queue takes the answer
        m.d.comb += [
            answering_at.eq(port),
            answered.eq(Mux(answering_at == Port.HOST, self.refusals[0].ready, self.refusals[1].ready)),
        ]
        told_at = Mux(dismissing, Value.cast(self.member.address), Value.cast(remote))
        for refusal in self.refusals:
            m.d.comb += fill_refusal(refusal.p, packet, told_at, checked)

        # what is announced: a record to the parent, or the total (or a status) to every contributor
        announced = self.announcements.p
        how = Signal(announcing_layout(), reset_less=True)
        members = Signal(range(config.contributors + 1), reset_less=True)
        upward = Signal(RECORD.struct())
        m.d.comb += [upward.eq(joined.record), upward.ranks.eq(joined.ranks)]
        m.d.comb += fill_announcement(announced, how, packet, Mux(down, header.status, 0))
        m.d.comb += [
            announced.data.eq(payload[: 8 * config.beat_bytes]),
            announced.first.eq(place == 0),
            announced.last.eq(~how.up | (place == beats - 1)),
        ]

        offset = Signal(range(config.window))
        turn = Signal(32)
        prepared = self.prepare.p
        m.d.comb += [
            turn.eq(header.coll_tag + 1 + offset),
            prepared.slot.eq(Cat(turn[:window_bits], context)),
            prepared.record.turn.eq(turn),
            prepared.record.missing.eq(members),
        ]

        inside = Signal()  # a packet, some of whose beats are in
        again = Signal()  # an enrolled contributor of an open context has not heard of that
        settling = Signal(range(_SETTLING + 1))
        m.d.comb += places.hold.eq(settling != 0)
        with m.If(settling != 0):
            m.d.sync += settling.eq(settling - 1)

        m.d.comb += self.busy.eq(1)
        with m.FSM(name="enrolment"):
            with m.State("COLLECT"):
                m.d.comb += [self.busy.eq(0), self.take.eq(self.due & ~inside), self.i.ready.eq(~self.take)]
                m.d.sync += [offset.eq(0), timed.eq(self.take), job.eq(self.what)]
                with m.If(self.take):
                    self._stand_in(m, packet, payload)
                    m.next = "READ"
                with m.Elif(self.i.valid):
                    m.d.sync += inside.eq(~self.i.p.last)
                    with m.If(self.i.p.first):
                        m.d.sync += [packet.eq(self.i.payload), payload.eq(self.i.p.data), place.eq(1)]
                    with m.Elif(place != beats):
                        m.d.sync += [
                            payload.word_select(place, 8 * config.beat_bytes).eq(self.i.p.data),
                            place.eq(place + 1),
                        ]
                    with m.If(self.i.p.last & ~self.i.p.bad):
                        m.next = "READ"
            with m.State("READ"):  # the tables' answers come in the next cycle, the one about places later
                m.d.comb += places.asks.eq(1)
                with m.If(places.settled):
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += [
                    checked.eq(cause),
                    unsaid.eq(down | (cause == Status.DUPLICATE) | is_for_another_nic(known, entry, packet)),
                    again.eq(~down & (cause == Status.DUPLICATE) & is_open),
                ]
                m.next = "APPLY"
                with m.If(timed):
                    m.d.sync += [checked.eq(Status.OK), again.eq(0)]
                    m.d.sync += [
                        header.comm_id.eq(entry.names.comm_id),
                        header.coll_tag_high32.eq(entry.names.key),
                        header.coll_tag.eq(entry.tag),
                        packet.head.local_mac.eq(entry.local_mac),
                        packet.head.local_ip.eq(entry.local_ip),
                    ]
                    # the host may have released it in the cycle in which it was taken
                    with m.If(self.state != _expected(job)):
                        m.next = "COLLECT"
            with m.State("APPLY"):
                m.d.sync += [
                    place.eq(0),
                    members.eq(total),
                    how.eq(0),
                    how.parent_index.eq(joined.record.parent_index),
                ]
                m.next = "COLLECT"
                with m.If(timed & (job == Due.FORGET)):
                    m.d.comb += [self.change.valid.eq(1), self.change.p.state.eq(ContextState.FREE)]
                with m.Elif(timed & (job == Due.DISMISS)):
                    m.d.sync += checked.eq(Status.TIMED_OUT)
                    m.next = "DISMISS"
                with m.Elif(again):
                    # the total could overtake results that are on their way: then it has to be asked for once more
                    m.d.sync += [payload.eq(TOTAL.to_wire(entry.ranks)), how.sole.eq(1)]
                    m.d.comb += [
                        self.events.answered.eq(is_open & ~leftover),
                        self.events.unanswered.eq(~self.events.answered),
                    ]
                    with m.If(self.events.answered):
                        m.next = "ANNOUNCE"
                with m.Elif(checked != Status.OK):
                    self._refuse(m, answering_at, answered, checked, unsaid)
                with m.Elif(down):
                    m.next = "PREPARE"
                    with m.If(header.status != 0):
                        # the closing copies free the context; until then it waits for nothing
                        m.d.comb += [self.change.valid.eq(1), self.change.p.state.eq(ContextState.CLOSING)]
                        m.d.comb += self.events.given_up.eq(timed)
                        m.next = "ANNOUNCE"
                    with m.Else():
                        m.d.comb += entries.write.valid.eq(1)
                with m.Elif(timed):
                    m.d.sync += [payload.eq(RECORD.to_wire(upward)), how.up.eq(1), how.repeat.eq(1)]
                    m.d.comb += self.events.repeats.eq(1)
                    m.next = "ANNOUNCE"
                with m.Else():
                    m.d.comb += [
                        entries.write.valid.eq(1),
                        self.describe.valid.eq(1),
                        places.take.eq(~known),
                        self.enrol.valid.eq(1),
                        self.change.valid.eq(~known),
                        self.change.p.state.eq(ContextState.ENROLLING),
                    ]
                    with m.If(complete & root):
                        m.d.sync += payload.eq(TOTAL.to_wire(joined.ranks))
                        m.next = "PREPARE"
                    with m.Elif(complete):
                        m.d.comb += [self.change.valid.eq(1), self.change.p.state.eq(ContextState.WAITING)]
                        m.d.sync += [payload.eq(RECORD.to_wire(upward)), how.up.eq(1)]
                        m.next = "ANNOUNCE"
            with m.State("DISMISS"):
                # one contributor after another: in every other cycle its address is there
                m.d.comb += dismissing.eq(1)
                looked = Signal()
                enrolled = entry.enrolled.bit_select(header.source[: (config.contributors - 1).bit_length()], 1)
                m.d.sync += looked.eq(~looked)
                with m.If(looked & enrolled):
                    for at, refusal in zip(Port, self.refusals, strict=True):
                        m.d.comb += refusal.valid.eq(answering_at == at)
                    m.d.sync += looked.eq(~answered)
                with m.If(looked & (~enrolled | answered)):
                    m.d.sync += header.source.eq(header.source + 1)
                    with m.If(header.source == config.contributors - 1):
                        m.d.comb += [
                            self.change.valid.eq(1),
                            self.change.p.state.eq(ContextState.FREE),
                            self.events.aborted.eq(1),
                        ]
                        m.next = "COLLECT"
            with m.State("PREPARE"):
                m.d.comb += self.prepare.valid.eq(1)
                with m.If(self.prepare.ready):
                    m.d.sync += offset.eq(offset + 1)
                    with m.If(offset == config.window - 1):
                        m.d.comb += [self.change.valid.eq(1), self.change.p.state.eq(ContextState.OPEN)]
                        m.next = "ANNOUNCE"
            with m.State("ANNOUNCE"):
                m.d.comb += self.announcements.valid.eq(1)
                with m.If(self.announcements.ready):
                    m.d.sync += [place.eq(place + 1), payload.eq(payload >> (8 * config.beat_bytes))]
                    with m.If(announced.last):
                        m.d.sync += settling.eq(_SETTLING)
                        m.next = "COLLECT"
        return m

    def _stand_in(self, m, packet, payload):
        """What is due takes the place of a packet: one of no contributor, or, when the parent is given up, the answer
        that it did not give."""
        head = packet.head
        m.d.sync += [
            payload.eq(0),
            packet.port.eq(Port.NET),
            head.eq(0),
            head.header.comm_id.eq(self.due_context),
        ]
        with m.If(self.what == Due.GIVE_UP):
            m.d.sync += [
                head.header.flags.eq(FLAGS.const({"direction": Direction.DOWN.value})),
                head.header.status.eq(Status.PEER_GONE),
            ]

    def _refuse(self, m, answering_at, answered, checked, unsaid):
        for status in _STATUSES:
            m.d.comb += getattr(self.refused, status.name).eq(checked == status)
        with m.If(~unsaid):
            m.d.comb += self.events.unanswered.eq(~answered)
            for port, refusal in zip(Port, self.refusals, strict=True):
                m.d.comb += refusal.valid.eq(answering_at == port)


def _expected(job) -> Value:
    """The state of a context with which ``job`` is to be done."""
    waiting = (job == Due.REPEAT) | (job == Due.GIVE_UP)
    others = Mux(job == Due.FORGET, ContextState.LINGERING, ContextState.ENROLLING)
    return ContextState(Mux(waiting, ContextState.WAITING, others))


def _first(m, cause, causes):
    """``cause`` is the first status of ``causes`` whose condition holds, or OK."""
    m.d.comb += cause.eq(Status.OK)
    for status, condition in reversed(causes):
        with m.If(condition):
            m.d.comb += cause.eq(status)
