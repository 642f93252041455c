"""Contributions and results (docs/protocol.md, section 3): what happens to the segments of an open context."""

from fanfold.codes import Collective, DataType, Operator, Port, Status
from fanfold.config import Config

from ..frames import Packet
from .arithmetic import fold_tree
from .contexts import Entry, Slot, State, same_place
from .outgoing import Outgoing, close_after, down_to_all, up_to_parent

__all__ = ["SlotRules"]

_COLLECTIVES = (Collective.ALLREDUCE, Collective.BARRIER, Collective.DEREGISTER)


class SlotRules:
    """The rules of a slot.

    ``up`` and ``down`` take a packet of any communicator that is not damaged and no registration, with the entry it
    falls on: they return why it is refused (``Status.OK`` when it is not) and what the NIC sends. ``folded`` and
    ``failed`` count segments that completed here, all and those with a status.
    """

    def __init__(self, config: Config):
        self._config = config
        self._pairs = frozenset(config.pairs)
        self.folded = 0
        self.failed = 0

    # ---------------------------------------------------------------------------------------------------------- UP

    def up(self, entry: Entry, port: Port, packet: Packet) -> tuple[Status, list[Outgoing]]:
        """A contribution."""
        cause = self._refusal(entry, port, packet)
        if cause is not Status.OK:
            return cause, []
        slot = self._slot(entry, packet)
        self._enter(slot, packet)
        return Status.OK, self._complete(entry, slot) if len(slot.parts) == entry.total else []

    def _slot(self, entry: Entry, packet: Packet) -> Slot:
        return entry.slots[packet.coll_tag % self._config.window]

    def _refusal(self, entry: Entry, port: Port, packet: Packet) -> Status:
        """The first cause to refuse a contribution."""
        if entry.state is not State.OPEN or not entry.is_of(packet.comm_id, packet.coll_tag_high32):
            return Status.NOT_OPEN
        assert entry.record is not None
        leaders = entry.record.leaders
        if port is Port.HOST and packet.source >= leaders:
            return Status.OUT_OF_RANGE
        if port is Port.NET and not leaders <= packet.source < entry.total:
            return Status.OUT_OF_RANGE
        if not same_place(packet.sender, entry.contributors[packet.source].address):
            return Status.WRONG_SOURCE
        slot = self._slot(entry, packet)
        if packet.coll_tag != slot.turn:
            return Status.DUPLICATE if _before(packet.coll_tag, slot.turn) else Status.OUT_OF_WINDOW
        if slot.waiting or packet.source in slot.parts:
            return Status.DUPLICATE
        return Status.OK

    def _enter(self, slot: Slot, packet: Packet) -> None:
        """Takes a contribution in; it may fail the segment."""
        if not slot.parts:
            slot.collective, slot.opt_code, slot.data_type = packet.collective, packet.opt_code, packet.data_type
            slot.root, slot.length = packet.root, packet.length or 0
        status = self._failure(slot, packet)
        slot.parts[packet.source] = b"" if status is not Status.OK else packet.payload
        if slot.status is Status.OK:
            slot.status = status

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

    def _complete(self, entry: Entry, slot: Slot) -> list[Outgoing]:
        """Everyone is in: the result goes down at the root, the partial result goes up anywhere else."""
        self.folded += 1
        payload = b""
        if slot.status is not Status.OK:
            self.failed += 1
        elif slot.length:
            assert isinstance(slot.opt_code, Operator) and isinstance(slot.data_type, DataType)
            parts = [slot.parts.get(index) for index in range(self._config.leaves)]
            payload = fold_tree(slot.opt_code, slot.data_type, parts, len(parts))
        fields = dict(
            coll_tag=slot.turn,
            collective=slot.collective,
            opt_code=slot.opt_code,
            data_type=slot.data_type,
            root=slot.root,
            status=slot.status,
            payload=payload,
        )
        assert entry.record is not None
        if entry.record.parent is None:
            slot.move_on(self._config.window)
            return _copies(entry, fields)
        slot.waiting = True
        return up_to_parent(entry, **fields)

    # -------------------------------------------------------------------------------------------------------- DOWN

    def down(self, entry: Entry, packet: Packet) -> tuple[Status, list[Outgoing]]:
        """A result, at the network port."""
        cause = self._result_refusal(entry, packet)
        if cause is not Status.OK:
            return cause, []
        self._slot(entry, packet).move_on(self._config.window)
        return Status.OK, _copies(
            entry,
            dict(
                coll_tag=packet.coll_tag,
                collective=packet.collective,
                opt_code=packet.opt_code,
                data_type=packet.data_type,
                root=packet.root,
                status=packet.status,
                payload=packet.payload,
            ),
        )

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
        if not slot.waiting:
            return Status.OUT_OF_WINDOW
        return Status.BAD_LENGTH if (packet.length or 0) > self._config.segment_bytes else Status.OK


def _before(tag: int, turn: int) -> bool:
    """Whether ``tag`` is before ``turn`` modulo 2^32."""
    return (tag - turn) % (1 << 32) >= 1 << 31


def _copies(entry: Entry, fields: dict) -> list[Outgoing]:
    """A result for every contributor; after a deregistration's the entry is free."""
    copies = down_to_all(entry, **fields)
    if fields["collective"] is Collective.DEREGISTER and fields["status"] is Status.OK:
        close_after(entry, copies)
    return copies
