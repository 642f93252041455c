"""Payloads of registrations and their answers in plain Python, from the wire tables."""

from dataclasses import dataclass

from fanfold.wire import MAX_VLAN_TAGS, RECORD, TOTAL

from .frames import Address

__all__ = ["Record", "read_record", "read_total", "record", "total"]


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


def record(
    *,
    ranks: int,
    leaders: int,
    window: int,
    node: int = 0,
    children: int = 0,
    parent: Address | None = None,
    parent_index: int = 0,
) -> bytes:
    """A registration's payload; ``parent`` is the address of the parent NIC, ``None`` at the root of the tree.

    Raises ``ValueError`` for a value that does not fit its field, or too many VLAN tags to the parent.
    """
    fields = dict(ranks=ranks, node=node, leaders=leaders, children=children, window=window, parent_index=parent_index)
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
    named = {name: fields[name] for name in ("ranks", "leaders", "window", "node", "children", "parent_index")}
    return Record(**named, parent=parent)


def total(ranks: int) -> bytes:
    """The payload of the answer to a registration: the ranks of the whole communicator."""
    return TOTAL.pack(ranks=ranks)


def read_total(payload: bytes) -> int:
    """The ranks in the answer to a registration; raises ``ValueError`` when it is too short."""
    return TOTAL.unpack(payload)["ranks"]
