"""The wire's tables as ``struct`` formats, and codes by their numbers."""

from struct import Struct

from fanfold.codes import Collective, DataType, Direction, Operator, Status
from fanfold.wire import COLLECTIVE, ETHERNET, IPV4, UDP, VLAN, Layout

__all__ = [
    "COLLECTIVES",
    "COLLECTIVE_STRUCT",
    "DIRECTIONS",
    "ETHERTYPE_AT",
    "IPV4_STRUCT",
    "IP_CHECKSUM_AT",
    "OPERATORS",
    "STATUSES",
    "TYPES",
    "UDP_STRUCT",
    "VLAN_STRUCT",
    "code",
]

_LETTERS = {1: "B", 2: "H", 4: "I", 6: "6s"}


def _struct_of(layout: Layout) -> Struct:
    """The table's fields for ``struct``; MAC addresses as byte strings."""
    assert not layout.strings, f"{layout.name} mixes byte orders"
    order = {"big": ">", "little": "<"}[layout.order]
    return Struct(order + "".join(_LETTERS[one.bytes] for one in layout.fields))


VLAN_STRUCT, IPV4_STRUCT, UDP_STRUCT, COLLECTIVE_STRUCT = map(_struct_of, (VLAN, IPV4, UDP, COLLECTIVE))
ETHERTYPE_AT, IP_CHECKSUM_AT = ETHERNET.offset("ethertype"), IPV4.offset("checksum")

OPERATORS, TYPES, COLLECTIVES, STATUSES = (
    {member.value: member for member in members} for members in (Operator, DataType, Collective, Status)
)
DIRECTIONS = (Direction.UP, Direction.DOWN)


def code(value) -> int:
    """The number of a member of an enumeration, or the number that it is."""
    return value if isinstance(value, int) else value.value
