"""Payloads of registrations and their answers in plain Python, from the wire tables."""

from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields

from fanfold.wire import FAULT, FAULT_OF_ONE_BYTES, MAX_VLAN_TAGS, RECORD, TOTAL

from .frames import Address

__all__ = [
    "PARENT",
    "Fault",
    "Record",
    "absence",
    "fault",
    "read_fault",
    "read_record",
    "read_total",
    "record",
    "total",
]

#: in place of a contributor index: the parent of the NIC that found the fault
PARENT = 0xFFFF


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """The payload of a registration, as in the wire table; a NIC without ``parent`` is the root."""

    ranks: int
    leaders: int
    window: int
    node: int = 0
    children: int = 0
    parent: Address | None = None
    parent_index: int = 0
    parent_total: int = 0
    abort_ticks: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """The payload of a result that failed, as in the wire table; ``missing`` are contributor indices, empty where the
    fault is one contribution's."""

    node: int
    contributor: int
    count: int
    missing: tuple[int, ...] = ()


def record(
    *,
    ranks: int,
    leaders: int,
    window: int,
    node: int = 0,
    children: int = 0,
    parent: Address | None = None,
    parent_index: int = 0,
    parent_total: int = 0,
    abort_ticks: int = 0,
) -> bytes:
    """A registration's payload; ``parent`` is the address of the parent NIC, ``None`` at the root of the tree.

    Raises ``ValueError`` for a value that does not fit its field, or too many VLAN tags to the parent.
    """
    fields = dict(
        ranks=ranks,
        node=node,
        leaders=leaders,
        children=children,
        window=window,
        parent_index=parent_index,
        parent_total=parent_total,
        abort_ticks=abort_ticks,
    )
    if parent is None:
        return RECORD.pack(**fields, flags=1)
    if len(parent.tags) > MAX_VLAN_TAGS:
        raise ValueError(f"{len(parent.tags)} VLAN tags to the parent: {MAX_VLAN_TAGS} at most")
    outer, inner = [protocol << 16 | control for protocol, control in (*parent.tags, (0, 0), (0, 0))][:2]
    return RECORD.pack(
        **fields,
        parent_tags=len(parent.tags),
        parent_mac=parent.mac,
        parent_ip=parent.ip,
        parent_port=parent.port,
        parent_outer=outer,
        parent_inner=inner,
    )


def read_record(payload: bytes) -> Record:
    """The record in a registration's payload; raises ``ValueError`` when it is too short."""
    fields = RECORD.unpack(payload)
    parent = None
    if not fields["flags"] & 1:
        numbers = (fields["parent_outer"], fields["parent_inner"])[: fields["parent_tags"]]
        tags = tuple((number >> 16, number & 0xFFFF) for number in numbers)
        parent = Address(fields["parent_mac"], fields["parent_ip"], fields["parent_port"], tags)
    named = {field.name: fields[field.name] for field in dataclass_fields(Record) if field.name != "parent"}
    return Record(**named, parent=parent)


def total(ranks: int) -> bytes:
    """The payload of the answer to a registration: the ranks of the whole communicator."""
    return TOTAL.pack(ranks=ranks)


def read_total(payload: bytes) -> int:
    """The ranks in the answer to a registration; raises ``ValueError`` when it is too short."""
    return TOTAL.unpack(payload)["ranks"]


def fault(node: int, contributor: int) -> bytes:
    """The payload of a result that one contribution made fail; raises ``ValueError`` for what does not fit."""
    return FAULT.pack(node=node, contributor=contributor, count=1)[:FAULT_OF_ONE_BYTES]


def absence(node: int, missing: Iterable[int]) -> bytes:
    """The payload of a result that failed because contributors did not come, at least one; ``PARENT`` alone: the
    parent did not answer."""
    indices = sorted(missing)
    bits = sum(1 << index for index in indices if index != PARENT)
    return FAULT.pack(node=node, contributor=indices[0], count=len(indices), missing=bits)


def read_fault(payload: bytes) -> Fault:
    """The fault in a failed result's payload, whole or of one contribution; raises ``ValueError`` for other sizes."""
    if len(payload) not in (FAULT_OF_ONE_BYTES, FAULT.bytes):
        raise ValueError(f"{len(payload)} bytes are no fault: it has {FAULT_OF_ONE_BYTES} or {FAULT.bytes}")
    fields = FAULT.unpack(payload.ljust(FAULT.bytes, b"\0"))
    missing = tuple(index for index in range(8 * 16) if fields["missing"] >> index & 1)
    return Fault(node=fields["node"], contributor=fields["contributor"], count=fields["count"], missing=missing)
