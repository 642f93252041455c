"""Registrations in, contexts out: the all-reduce that sets up leaders, children and addresses.

One registration at a time, a few cycles each, beside the path of the contributions, which never waits for it. What
comes of it goes back as a packet of the NIC's own (*announced*), through the fold to delivery like every other result.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Collective, DataType, Direction, Operator, Origin, Port, Status
from ..config import Config
from ..wire import FLAGS, RECORD, TOTAL, VERSION, copy_layout, tagged_layout
from .entries import down_causes, entry_layout, is_down, is_for_another_nic, is_root, up_causes
from .lookups import context_layout, member_layout
from .ports import commit_layout
from .states import ContextState
from .table import Table

__all__ = ["Enrolment"]

_STATUSES = [status for status in Status if status is not Status.OK]


class Enrolment(wiring.Component):
    """Takes registration packets (``i``), keeps the contexts' entries, and says what comes of each packet:
    ``announcements`` to the fold, ``refusals`` straight back to the sender, per port.

    Latency: the packet's beats + 3 to an announcement of one that completes nothing new, + window more for one that
    opens a context. Throughput: one packet in that time. Ready path: registered (a state). Order: kept. On error: a
    damaged packet changes nothing; a refused one changes nothing, is counted (``refused``, a bit a status) and, where
    the protocol says so, answered; when the queue for answers is full the answer is dropped (``unanswered``).
    """

    def __init__(self, config: Config):
        change = data.StructLayout({"context": range(config.contexts), "state": ContextState})
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
                #: contexts of which results of their last life are still to be delivered
                "undelivered": In(config.contexts),
                "change": Out(stream.Signature(change, always_ready=True)),
                "refused": Out(data.StructLayout({status.name: 1 for status in _STATUSES})),
                "unanswered": Out(1),
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
        known = self.state != ContextState.FREE
        m.d.comb += [
            self.context.eq(context),
            self.member.context.eq(context),
            self.member.index.eq(header.source),
            entries.read[0].address.eq(context),
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
            waiting, is_open = self.state == ContextState.WAITING, self.state == ContextState.OPEN
            _first(m, cause, down_causes(known, waiting, is_open, entry, packet))
        with m.Else():
            _first(m, cause, up_causes(config, known, leftover, entry, packet, record, same))

        # the entry with this contributor in it
        joined = Signal(entry_layout(config))
        leader = packet.port == Port.HOST
        describing = leader & ~(known & entry.described)
        member_bit = Signal(config.contributors)
        m.d.comb += [
            member_bit.eq(1 << header.source[: (config.contributors - 1).bit_length()]),
            joined.names.comm_id.eq(header.comm_id),
            joined.names.key.eq(header.coll_tag_high32),
            joined.tag.eq(header.coll_tag),
            joined.window.eq(record.window),
            joined.local_mac.eq(packet.head.local_mac),
            joined.local_ip.eq(packet.head.local_ip),
            joined.described.eq(leader | (known & entry.described)),
            Value.cast(joined.record).eq(Mux(describing, Value.cast(record), Value.cast(entry.record))),
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
            self.enrol.p.context.eq(context),
            self.enrol.p.index.eq(header.source),
            self.enrol.p.address.eq(remote),
            entries.write.p.address.eq(context),
            entries.write.p.data.eq(joined),
            self.change.p.context.eq(context),
        ]
        m.d.comb += self._refusal(packet, checked)

        # what is announced: a record to the parent, or the total (or a status) to every contributor
        announced = self.announcements.p
        up = Signal()  # direction of the announcement
        members = Signal(range(config.contributors + 1), reset_less=True)
        parent_index = Signal(16, reset_less=True)
        upward = Signal(RECORD.struct())
        m.d.comb += [upward.eq(joined.record), upward.ranks.eq(joined.ranks)]
        told = announced.head.header
        m.d.comb += [
            announced.data.eq(payload[: 8 * config.beat_bytes]),
            announced.first.eq(place == 0),
            announced.last.eq(~up | (place == beats - 1)),
            announced.origin.eq(Origin.ANNOUNCED),
            announced.port.eq(packet.port),
            announced.head.eq(packet.head),
            told.opt_code.eq(Operator.SUM),
            told.data_type.eq(DataType.UINT32),
            told.collective.eq(Collective.REGISTER),
            told.flags.eq(FLAGS.const({"version": VERSION, "direction": 1})),
            told.root.eq(0),
            told.status.eq(Mux(down, header.status, 0)),
            told.length.eq(Mux(down & (header.status != 0), 0, TOTAL.bytes)),
        ]
        with m.If(up):
            m.d.comb += [
                told.flags.eq(FLAGS.const({"version": VERSION})),
                told.length.eq(RECORD.bytes),
                told.source.eq(parent_index),
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

        with m.FSM(name="enrolment"):
            with m.State("COLLECT"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += offset.eq(0)
                with m.If(self.i.valid):
                    with m.If(self.i.p.first):
                        m.d.sync += [packet.eq(self.i.payload), payload.eq(self.i.p.data), place.eq(1)]
                    with m.Elif(place != beats):
                        m.d.sync += [
                            payload.word_select(place, 8 * config.beat_bytes).eq(self.i.p.data),
                            place.eq(place + 1),
                        ]
                    with m.If(self.i.p.last & ~self.i.p.bad):
                        m.next = "READ"
            with m.State("READ"):  # the tables' answers come in the next cycle
                m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += [
                    checked.eq(cause),
                    unsaid.eq(down | (cause == Status.DUPLICATE) | is_for_another_nic(known, entry, packet)),
                ]
                m.next = "APPLY"
            with m.State("APPLY"):
                m.d.sync += [
                    place.eq(0),
                    up.eq(0),
                    members.eq(Mux(down, entry.record.leaders + entry.record.children, total)),
                    parent_index.eq(joined.record.parent_index),
                ]
                m.next = "COLLECT"
                with m.If(checked != Status.OK):
                    self._refuse(m, packet, checked, unsaid)
                with m.Elif(down):
                    m.next = "PREPARE"
                    with m.If(header.status != 0):
                        # the closing copies free the context; until then it waits for nothing
                        m.d.comb += [self.change.valid.eq(1), self.change.p.state.eq(ContextState.ENROLLING)]
                        m.next = "ANNOUNCE"
                with m.Else():
                    m.d.comb += [
                        entries.write.valid.eq(1),
                        self.describe.valid.eq(1),
                        self.enrol.valid.eq(1),
                        self.change.valid.eq(1),
                        self.change.p.state.eq(ContextState.ENROLLING),
                    ]
                    with m.If(complete & root):
                        m.d.sync += payload.eq(joined.ranks)
                        m.next = "PREPARE"
                    with m.Elif(complete):
                        m.d.comb += self.change.p.state.eq(ContextState.WAITING)
                        m.d.sync += [payload.eq(RECORD.to_wire(upward)), up.eq(1)]
                        m.next = "ANNOUNCE"
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
                        m.next = "COLLECT"
        return m

    def _refusal(self, packet, checked):
        """The answer to a refused registration, offered at both ports: a header alone, back to the sender."""
        for refusal in self.refusals:
            segment = refusal.p.segment
            yield [
                segment.direction.eq(Direction.DOWN),
                segment.header.eq(packet.head.header),
                segment.header.opt_code.eq(Operator.SUM),
                segment.header.data_type.eq(DataType.UINT32),
                segment.header.root.eq(0),
                segment.header.status.eq(checked),
                segment.header.length.eq(0),
                refusal.p.remote.eq(packet.head.remote),
                refusal.p.local_mac.eq(packet.head.local_mac),
                refusal.p.local_ip.eq(packet.head.local_ip),
            ]

    def _refuse(self, m, packet, checked, unsaid):
        for status in _STATUSES:
            m.d.comb += getattr(self.refused, status.name).eq(checked == status)
        with m.If(~unsaid):
            for port, refusal in zip(Port, self.refusals, strict=True):
                with m.If(packet.port == port):
                    m.d.comb += [refusal.valid.eq(1), self.unanswered.eq(~refusal.ready)]


def _first(m, cause, causes):
    """``cause`` is the first status of ``causes`` whose condition holds, or OK."""
    m.d.comb += cause.eq(Status.OK)
    for status, condition in reversed(causes):
        with m.If(condition):
            m.d.comb += cause.eq(status)
