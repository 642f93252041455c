"""Registration (docs/protocol.md, section 2): who may take part in a communicator, found out by an all-reduce."""

import dataclasses

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.config import Config
from fanfold.wire import RECORD, TOTAL

from ..frames import Packet
from ..records import Record, read_record, read_total, total
from .contexts import Contributor, Entry, Segment, State, same_place
from .deadlines import Deadlines
from .outgoing import Decision, Outgoing, down_to_all, down_to_one, refusal, up_to_parent
from .places import Places

__all__ = ["Registry"]

#: every packet that registers is one of these: what it folds is a sum of ranks
_REGISTRATION = Segment(Collective.REGISTER, Operator.SUM, DataType.UINT32, root=0)
#: the record's bytes that all leaders agree on: everything behind ``ranks``
_COMMON = slice(RECORD.offset("ranks") + 4, RECORD.bytes)


class Registry:
    """The context table.

    ``up`` and ``down`` take a registration that is not damaged, and decide. ``opened`` and ``closed`` count entries
    that became open, and free again.
    """

    def __init__(self, config: Config, deadlines: Deadlines):
        self._config = config
        self._deadlines = deadlines
        self._entries = [Entry() for _ in range(config.contexts)]
        self._places = Places(config)
        self.opened = 0
        self.closed = 0

    def entry(self, comm_id: int) -> Entry:
        """The entry where this communicator is, if it is anywhere."""
        return self._entries[comm_id % self._config.contexts]

    def hears(self, comm_id: int, key: int, mac: int, ip: int) -> bool:
        """Whether the communicator has an open context with this key, or one that lingers, in which the NIC's address
        is this one."""
        entry = self.entry(comm_id)
        return entry.hears(comm_id, key) and entry.is_at(mac, ip)

    # --------------------------------------------------------------------------------------------- the ends of entries

    def end(self, entry: Entry) -> None:
        """The last packets of ``entry`` have left: it is free, or answers its children for a while."""
        if self.entry(entry.comm_id) is not entry:  # the host has released it meanwhile
            return
        lingers = entry.state is State.OPEN and entry.record is not None and entry.record.children > 0
        if not lingers or not self._deadlines.timing.linger_ticks:
            self._free(entry)
            return
        entry.state = State.LINGERING
        self._deadlines.forget(entry)
        self._deadlines.set(entry, None, self._deadlines.timing.linger_ticks)

    def release(self, context: int) -> None:
        """The host frees an entry, whatever it is in; what was sent for it already leaves all the same."""
        if self._entries[context].state is not State.FREE:
            self._free(self._entries[context])

    def _free(self, entry: Entry) -> None:
        self._deadlines.forget(entry)
        self._places.give_back(entry.places)
        self._entries[entry.comm_id % self._config.contexts] = Entry(under_way=entry.under_way)
        self.closed += 1

    # ------------------------------------------------------------------------------------------------------ what is due

    def due(self, entry: Entry) -> tuple[str, list[Outgoing]]:
        """The time of ``entry`` is up: the name of the event, if it is one, and what is sent."""
        if entry.state is State.LINGERING:
            self._free(entry)
            return "", []
        if entry.state is State.ENROLLING:
            over = dataclasses.replace(_REGISTRATION, status=Status.TIMED_OUT)
            refusals = [refusal(entry, index, over) for index in sorted(entry.contributors)]
            self._free(entry)
            return "aborted", refusals
        if self._deadlines.may_repeat(entry.repeats):
            entry.repeats += 1
            return "repeats", self._ask(entry, repeat=True)
        return "given_up", self._refused_above(entry, Status.PEER_GONE)

    # ---------------------------------------------------------------------------------------------------------- UP

    def up(self, port: Port, packet: Packet) -> Decision:
        """A leader (host port) or child NIC (network port) registers."""
        entry = self.entry(packet.comm_id)
        cause = self._refusal(entry, port, packet)
        if cause is Status.DUPLICATE and entry.state is State.OPEN:
            return _answer_again(entry, packet)
        if cause is Status.DUPLICATE or (cause is not Status.OK and _is_for_another_nic(entry, port, packet)):
            return Decision(cause)
        if cause is not Status.OK:
            return Decision(cause, [_refused(port, packet, cause)])
        return Decision(sends=self._enrol(entry, port, packet))

    def _refusal(self, entry: Entry, port: Port, packet: Packet) -> Status:
        """The first cause to refuse an UP registration."""
        if packet.length != RECORD.bytes:
            return Status.BAD_LENGTH
        if not (entry.is_of(packet.comm_id, packet.coll_tag_high32) if entry.taken else not entry.under_way):
            return Status.NO_ROOM
        lingering = range(0)
        if not entry.taken:
            entry, lingering = Entry(), entry.places
        record = read_record(packet.payload)
        from_leader = port is Port.HOST
        announced = _announced(port, record)
        if not 1 <= record.window <= self._config.window:
            return Status.TOO_LARGE
        if not 1 <= announced <= self._config.contributors:
            return Status.TOO_LARGE
        if not (_leader_in_range if from_leader else _child_in_range)(entry, packet.source, record):
            return Status.OUT_OF_RANGE
        if not entry.taken:
            return Status.NO_ROOM if self._places.find(announced, lingering) is None else Status.OK
        if announced != entry.announced or not _agrees(entry, packet, record, from_leader):
            return Status.DISAGREE
        enrolled = entry.contributors.get(packet.source)
        if enrolled is None:
            return Status.OK
        return Status.DUPLICATE if same_place(enrolled.address, packet.sender) else Status.WRONG_SOURCE

    def _enrol(self, entry: Entry, port: Port, packet: Packet) -> list[Outgoing]:
        record = read_record(packet.payload)
        if entry.state is State.LINGERING:
            self._free(entry)
            entry = self.entry(packet.comm_id)
        if entry.state is State.FREE:
            self._begin(entry, port, packet, record)
        if port is Port.HOST and entry.record is None:
            entry.record, entry.record_bytes = record, packet.payload[_COMMON]
            entry.abort_ticks = record.abort_ticks
        entry.contributors[packet.source] = Contributor(port, packet.sender)
        entry.ranks = (entry.ranks + record.ranks) % (1 << 32)
        return self._all_enrolled(entry) if entry.complete else []

    def _begin(self, entry: Entry, port: Port, packet: Packet, record: Record) -> None:
        entry.announced = _announced(port, record)
        block = self._places.find(entry.announced)
        assert block is not None, "a registration without places is refused"
        self._places.take(block)
        entry.places = block
        entry.state = State.ENROLLING
        entry.comm_id, entry.key = packet.comm_id, packet.coll_tag_high32
        entry.coll_tag = packet.coll_tag
        entry.local_mac, entry.local_ip = packet.receiver.mac, packet.receiver.ip
        entry.window = record.window
        entry.abort_ticks = record.abort_ticks
        self._deadlines.set(entry, None, self._deadlines.patience(entry))

    def _all_enrolled(self, entry: Entry) -> list[Outgoing]:
        if entry.root:
            return self._open(entry, entry.ranks)
        entry.state = State.WAITING
        return self._ask(entry)

    def _ask(self, entry: Entry, *, repeat: bool = False) -> list[Outgoing]:
        self._deadlines.set(entry, None, self._deadlines.silence(entry))
        asked = dataclasses.replace(_REGISTRATION, payload=total(entry.ranks) + entry.record_bytes)
        return up_to_parent(entry, entry.coll_tag, asked, repeat=repeat)

    def _open(self, entry: Entry, ranks: int) -> list[Outgoing]:
        self._deadlines.clear(entry, None)
        entry.open(self._config.window, ranks)
        self.opened += 1
        return down_to_all(entry, entry.coll_tag, _total(entry))

    # -------------------------------------------------------------------------------------------------------- DOWN

    def down(self, packet: Packet) -> Decision:
        """The parent NIC answers, at the network port."""
        entry = self.entry(packet.comm_id)
        cause = _answer_refusal(entry, packet)
        if cause is not Status.OK:
            return Decision(cause)
        if packet.status is not Status.OK:
            return Decision(sends=self._refused_above(entry, packet.status))
        return Decision(sends=self._open(entry, read_total(packet.payload)))

    def _refused_above(self, entry: Entry, status: Status | int) -> list[Outgoing]:
        """There is no place above: all contributors hear of it, then the entry is free."""
        self._deadlines.clear(entry, None)
        entry.state = State.ENROLLING  # nobody is awaited any more
        return down_to_all(entry, entry.coll_tag, dataclasses.replace(_REGISTRATION, status=status), closes=True)


def _total(entry: Entry) -> Segment:
    """What a registration ends with when it succeeds."""
    return dataclasses.replace(_REGISTRATION, payload=total(entry.total_ranks))


def _answer_again(entry: Entry, packet: Packet) -> Decision:
    """An enrolled contributor has not heard that the context is open: it is told, when nothing else is under way."""
    if entry.under_way:
        return Decision(counts_as="unanswered")
    return Decision(sends=down_to_one(entry, packet.source, entry.coll_tag, _total(entry)), counts_as="answered")


def _announced(port: Port, record: Record) -> int:
    """Contributors of this NIC, as a leader or a child says."""
    return record.leaders + record.children if port is Port.HOST else record.parent_total


def _child_in_range(entry: Entry, source: int, record: Record) -> bool:
    """Whether a child's index fits its record, and the node if that is described."""
    if entry.record is not None and not entry.record.leaders <= source < entry.total:
        return False
    return source < record.parent_total


def _leader_in_range(entry: Entry, source: int, record: Record) -> bool:
    """Whether a leader's index fits its record, and so do the children that came before it."""
    children = (index for index, contributor in entry.contributors.items() if contributor.port is Port.NET)
    return source < record.leaders and all(
        record.leaders <= index < record.leaders + record.children for index in children
    )


def _is_for_another_nic(entry: Entry, port: Port, packet: Packet) -> bool:
    """Whether a registration from the network is for a communicator that is here, but was sent to another address."""
    here = entry.is_of(packet.comm_id, packet.coll_tag_high32)
    return port is Port.NET and here and not entry.is_at(packet.receiver.mac, packet.receiver.ip)


def _agrees(entry: Entry, packet: Packet, record: Record, from_leader: bool) -> bool:
    """Whether a registration says what the ones before it said."""
    if record.window != entry.window or packet.coll_tag != entry.coll_tag:
        return False
    if not entry.is_at(packet.receiver.mac, packet.receiver.ip):
        return False
    return not from_leader or entry.record is None or packet.payload[_COMMON] == entry.record_bytes


def _answer_refusal(entry: Entry, packet: Packet) -> Status:
    """The first cause to refuse a DOWN registration at the network port."""
    if not entry.is_of(packet.comm_id, packet.coll_tag_high32):
        return Status.NOT_OPEN
    if entry.state is State.OPEN:
        return Status.DUPLICATE
    if entry.state is not State.WAITING:
        return Status.NOT_OPEN
    assert entry.record is not None and entry.record.parent is not None, "a root waits for nobody"
    if not same_place(packet.sender, entry.record.parent, queue=False):
        return Status.WRONG_SOURCE
    if packet.coll_tag != entry.coll_tag:
        return Status.OUT_OF_WINDOW
    if packet.status is Status.OK and packet.length != TOTAL.bytes:
        return Status.BAD_LENGTH
    return Status.OK


def _refused(port: Port, packet: Packet, cause: Status) -> Outgoing:
    """The answer to a registration that was refused: a header alone, to its sender."""
    return Outgoing(
        port=port,
        local=(packet.receiver.mac, packet.receiver.ip),
        remote=packet.sender,
        direction=Direction.DOWN,
        source=packet.source,
        key=packet.coll_tag_high32,
        coll_tag=packet.coll_tag,
        comm_id=packet.comm_id,
        segment=dataclasses.replace(_REGISTRATION, status=cause),
    )
