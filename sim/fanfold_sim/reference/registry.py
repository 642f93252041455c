"""Registration (docs/protocol.md, section 2): who may take part in a communicator, found out by an all-reduce."""

from typing import Any

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.config import Config
from fanfold.wire import RECORD, TOTAL

from ..frames import Packet
from ..records import Record, read_record, total
from .contexts import Contributor, Entry, State, same_place
from .outgoing import Outgoing, close_after, down_to_all, up_to_parent

__all__ = ["Registry"]

#: of every packet that registers: what it folds is a sum of ranks
_FIELDS: dict[str, Any] = dict(collective=Collective.REGISTER, opt_code=Operator.SUM, data_type=DataType.UINT32)
#: the record's bytes that all leaders agree on: everything behind ``ranks``
_COMMON = slice(RECORD.offset("ranks") + 4, RECORD.bytes)


class Registry:
    """The context table.

    ``up`` and ``down`` take a registration that is not damaged: they return why it is refused (``Status.OK`` when it
    is not) and what the NIC sends. ``opened`` and ``closed`` count entries that became open, and free again.
    """

    def __init__(self, config: Config):
        self._config = config
        self._entries = [Entry() for _ in range(config.contexts)]
        self.opened = 0
        self.closed = 0

    def entry(self, comm_id: int) -> Entry:
        """The entry where this communicator is, if it is anywhere."""
        return self._entries[comm_id % self._config.contexts]

    def is_open(self, comm_id: int, key: int, mac: int, ip: int) -> bool:
        """Whether the communicator has an open context with this key, in which the NIC's address is this one."""
        entry = self.entry(comm_id)
        return entry.state is State.OPEN and entry.is_of(comm_id, key) and entry.is_at(mac, ip)

    def free(self, entry: Entry) -> None:
        """Makes ``entry`` free for another communicator."""
        self._entries[entry.comm_id % self._config.contexts] = Entry()
        self.closed += 1

    # ---------------------------------------------------------------------------------------------------------- UP

    def up(self, port: Port, packet: Packet) -> tuple[Status, list[Outgoing]]:
        """A leader (host port) or child NIC (network port) registers."""
        entry = self.entry(packet.comm_id)
        cause = self._refusal(entry, port, packet)
        if cause is Status.DUPLICATE or (cause is not Status.OK and _is_for_another_nic(entry, port, packet)):
            return cause, []
        if cause is not Status.OK:
            return cause, [_refused(port, packet, cause)]
        return Status.OK, self._enrol(entry, port, packet)

    def _refusal(self, entry: Entry, port: Port, packet: Packet) -> Status:
        """The first cause to refuse an UP registration."""
        if packet.length != RECORD.bytes:
            return Status.BAD_LENGTH
        if entry.state is not State.FREE and not entry.is_of(packet.comm_id, packet.coll_tag_high32):
            return Status.NO_ROOM
        record = read_record(packet.payload)
        from_leader = port is Port.HOST
        if not 1 <= record.window <= self._config.window:
            return Status.TOO_LARGE
        if from_leader and not 1 <= record.leaders + record.children <= self._config.contributors:
            return Status.TOO_LARGE
        if not (_leader_in_range if from_leader else self._child_in_range)(entry, packet.source, record):
            return Status.OUT_OF_RANGE
        if entry.state is State.FREE:
            return Status.OK
        if not _agrees(entry, packet, record, from_leader):
            return Status.DISAGREE
        enrolled = entry.contributors.get(packet.source)
        if enrolled is None:
            return Status.OK
        return Status.DUPLICATE if same_place(enrolled.address, packet.sender) else Status.WRONG_SOURCE

    def _child_in_range(self, entry: Entry, source: int, record: Record) -> bool:
        if entry.record is not None and not entry.record.leaders <= source < entry.total:
            return False
        return source < self._config.contributors

    def _enrol(self, entry: Entry, port: Port, packet: Packet) -> list[Outgoing]:
        record = read_record(packet.payload)
        if entry.state is State.FREE:
            entry.state = State.ENROLLING
            entry.comm_id, entry.key = packet.comm_id, packet.coll_tag_high32
            entry.coll_tag = packet.coll_tag
            entry.local_mac, entry.local_ip = packet.receiver.mac, packet.receiver.ip
            entry.window = record.window
        if port is Port.HOST and entry.record is None:
            entry.record, entry.record_bytes = record, packet.payload[_COMMON]
        entry.contributors[packet.source] = Contributor(port, packet.sender)
        entry.ranks = (entry.ranks + record.ranks) % (1 << 32)
        return self._all_enrolled(entry) if entry.complete else []

    def _all_enrolled(self, entry: Entry) -> list[Outgoing]:
        fields = dict(coll_tag=entry.coll_tag, root=0, status=Status.OK, **_FIELDS)
        assert entry.record is not None
        if entry.record.parent is None:
            self._open(entry)
            return down_to_all(entry, payload=total(entry.ranks), **fields)
        entry.state = State.WAITING
        return up_to_parent(entry, payload=total(entry.ranks) + entry.record_bytes, **fields)

    def _open(self, entry: Entry) -> None:
        entry.open(self._config.window)
        self.opened += 1

    # -------------------------------------------------------------------------------------------------------- DOWN

    def down(self, packet: Packet) -> tuple[Status, list[Outgoing]]:
        """The parent NIC answers, at the network port."""
        entry = self.entry(packet.comm_id)
        cause = _answer_refusal(entry, packet)
        if cause is not Status.OK:
            return cause, []
        fields = dict(coll_tag=entry.coll_tag, root=0, payload=packet.payload, **_FIELDS)
        copies = down_to_all(entry, status=packet.status, **fields)
        if packet.status is Status.OK:
            self._open(entry)
        else:
            entry.state = State.ENROLLING  # nobody is awaited any more
            close_after(entry, copies)
        return Status.OK, copies


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
        root=0,
        status=cause,
        payload=b"",
        **_FIELDS,
    )
