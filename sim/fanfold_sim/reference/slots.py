"""Contributions and results (docs/protocol.md, section 3): what happens to the segments of an open context."""

from fanfold.codes import Collective, DataType, Port, Status
from fanfold.config import Config
from fanfold.wire import FAULT

from ..frames import Packet
from ..records import fault
from .contexts import Entry, Segment, Slot, State, same_place
from .deadlines import Deadlines
from .endings import Endings
from .outgoing import Decision, down_to_one

__all__ = ["SlotRules"]

_COLLECTIVES = (Collective.ALLREDUCE, Collective.BARRIER, Collective.DEREGISTER)
_TAGS = 1 << 32


class SlotRules:
    """The rules of a slot.

    ``up`` and ``down`` take a packet of any communicator that is not damaged and no registration, with the entry it
    falls on, and decide.
    """

    def __init__(self, config: Config, deadlines: Deadlines, endings: Endings):
        self._config = config
        self._pairs = frozenset(config.pairs)
        self._deadlines = deadlines
        self._endings = endings

    def _slot(self, entry: Entry, packet: Packet) -> Slot:
        return entry.slots[packet.coll_tag % self._config.window]

    def _crowded(self, entry: Entry) -> bool:
        """Whether another result would have no room. Contributors that keep to their window never meet it."""
        return entry.under_way.results >= self._config.window

    # ---------------------------------------------------------------------------------------------------------- UP

    def up(self, entry: Entry, port: Port, packet: Packet) -> Decision:
        """A contribution, or a question for what became of one."""
        cause = _source_refusal(entry, port, packet)
        if cause is not Status.OK:
            return Decision(cause)
        slot = self._slot(entry, packet)
        if _before(packet.coll_tag, slot.turn):
            return self._late(entry, slot, packet)
        cause = self._refusal(entry, slot, packet)
        if cause is not Status.OK:
            return Decision(cause)
        self._enter(entry, slot, packet)
        complete = len(slot.parts) == entry.total
        return Decision(sends=self._endings.complete(entry, slot) if complete else (), counts_as="contributions")

    def _late(self, entry: Entry, slot: Slot, packet: Packet) -> Decision:
        """A packet for a segment that is over: answered if it asks for it, or if its part never was wanted."""
        was_last = slot.last is not None and packet.coll_tag == (slot.turn - self._config.window) % _TAGS
        failed = was_last and slot.last is not None and slot.last.status is not Status.OK
        if not packet.repeat and not failed:
            return Decision(Status.DUPLICATE)
        if entry.under_way.singles:
            return Decision(counts_as="unanswered")
        over = Segment(packet.collective, packet.opt_code, packet.data_type, packet.root, Status.EXPIRED)
        said = slot.last if was_last and slot.last is not None else over
        return Decision(sends=down_to_one(entry, packet.source, packet.coll_tag, said), counts_as="answered")

    def _refusal(self, entry: Entry, slot: Slot, packet: Packet) -> Status:
        """The first cause to refuse a contribution that is not late, by what its slot says."""
        if entry.state is State.LINGERING:
            return Status.NOT_OPEN
        if packet.coll_tag != slot.turn:
            return Status.OUT_OF_WINDOW
        if entry.root and len(slot.parts) == entry.total - 1 and self._crowded(entry):
            return Status.OUT_OF_WINDOW
        if packet.source in slot.parts:
            return Status.DUPLICATE
        return Status.EXPIRED if slot.waiting else Status.OK

    def _enter(self, entry: Entry, slot: Slot, packet: Packet) -> None:
        """Takes a contribution in; it may fail the segment."""
        if not slot.parts:
            slot.collective, slot.opt_code, slot.data_type = packet.collective, packet.opt_code, packet.data_type
            slot.root, slot.length = packet.root, packet.length or 0
            self._deadlines.set(entry, slot, self._deadlines.patience(entry))
        status = self._failure(slot, packet)
        slot.parts[packet.source] = b"" if status is not Status.OK else packet.payload
        if slot.status is Status.OK and status is not Status.OK:
            assert entry.record is not None
            slot.status = status
            reported = packet.status is not Status.OK
            slot.fault = _reported(packet) if reported else fault(entry.record.node, packet.source)

    def _failure(self, slot: Slot, packet: Packet) -> Status | int:
        """The first cause for which this contribution fails its segment."""
        if packet.status is not Status.OK:
            return packet.status
        reducing = packet.collective is Collective.ALLREDUCE
        length = packet.length or 0
        if packet.collective not in _COLLECTIVES:
            return Status.UNSUPPORTED
        if reducing:
            if (packet.opt_code, packet.data_type) not in self._pairs:
                return Status.UNSUPPORTED
            assert isinstance(packet.data_type, DataType)
            if length > self._config.segment_bytes or length % packet.data_type.element_bytes:
                return Status.BAD_LENGTH
        elif length:
            return Status.BAD_LENGTH
        mine = (packet.collective, packet.opt_code, packet.data_type, packet.root, packet.length)
        if mine != (slot.collective, slot.opt_code, slot.data_type, slot.root, slot.length):
            return Status.MISMATCH
        return Status.OK

    # -------------------------------------------------------------------------------------------------------- DOWN

    def down(self, entry: Entry, packet: Packet) -> Decision:
        """A result, at the network port."""
        cause = self._result_refusal(entry, packet)
        if cause is not Status.OK:
            return Decision(cause)
        payload = packet.payload if packet.status is Status.OK else _reported(packet)
        segment = Segment(packet.collective, packet.opt_code, packet.data_type, packet.root, packet.status, payload)
        return Decision(sends=self._endings.result(entry, self._slot(entry, packet), segment), counts_as="results")

    def _result_refusal(self, entry: Entry, packet: Packet) -> Status:
        """The first cause to refuse a result."""
        if entry.state is not State.OPEN or not entry.is_of(packet.comm_id, packet.coll_tag_high32):
            return Status.NOT_OPEN
        assert entry.record is not None
        parent = entry.record.parent
        if parent is None or not same_place(packet.sender, parent, queue=False):
            return Status.WRONG_SOURCE
        slot = self._slot(entry, packet)
        if packet.coll_tag != slot.turn:
            return Status.DUPLICATE if _before(packet.coll_tag, slot.turn) else Status.OUT_OF_WINDOW
        early = packet.status is not Status.OK and not entry.under_way
        if self._crowded(entry) or not (slot.waiting or early):
            return Status.OUT_OF_WINDOW
        return Status.BAD_LENGTH if (packet.length or 0) > self._config.segment_bytes else Status.OK


def _source_refusal(entry: Entry, port: Port, packet: Packet) -> Status:
    """The first cause to refuse a packet from a contributor, whatever segment it is for."""
    if not entry.hears(packet.comm_id, packet.coll_tag_high32):
        return Status.NOT_OPEN
    if entry.state is State.LINGERING and not (port is Port.NET and packet.repeat):
        return Status.NOT_OPEN
    assert entry.record is not None
    leaders = entry.record.leaders
    if port is Port.HOST and packet.source >= leaders:
        return Status.OUT_OF_RANGE
    if port is Port.NET and not leaders <= packet.source < entry.total:
        return Status.OUT_OF_RANGE
    if not same_place(packet.sender, entry.contributors[packet.source].address):
        return Status.WRONG_SOURCE
    return Status.OK


def _before(tag: int, turn: int) -> bool:
    """Whether ``tag`` is before ``turn`` modulo 2^32."""
    return (tag - turn) % _TAGS >= _TAGS // 2


def _reported(packet: Packet) -> bytes:
    """What a packet with a status says of the fault; more than a fault has no meaning."""
    return packet.payload[: FAULT.bytes]
