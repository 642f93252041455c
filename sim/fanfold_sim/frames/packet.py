"""A collective packet and its addresses, as values."""

from dataclasses import dataclass, field

from fanfold.codes import Collective, DataType, Direction, Operator, Status
from fanfold.wire import VERSION

__all__ = ["DONT_FRAGMENT", "Address", "Packet"]

#: the flag in IPv4's ``fragment`` field
DONT_FRAGMENT = 0x4000


@dataclass(frozen=True, slots=True)
class Address:
    """Where packets come from and go to. ``tags`` are the VLAN tags on the way, outer first, each (protocol, control).

    ``queue`` is the host queue at the NIC; no frame carries it.
    """

    mac: int
    ip: int
    port: int
    tags: tuple[tuple[int, int], ...] = ()
    queue: int = 0


@dataclass(kw_only=True, slots=True)
class Packet:
    """A packet with a collective header. Names of header fields are those of the wire table.

    Codes are members of their enumeration; numbers that are no member are allowed, and ``parse`` leaves them numbers.
    What is ``None`` follows from the rest: ``tags`` are the sender's, ``length`` is that of the payload, ``error``
    says that ``status`` is not 0.
    """

    sender: Address
    receiver: Address
    coll_tag_high32: int = 0
    coll_tag: int = 0
    comm_id: int = 0
    opt_code: Operator | int = Operator.SUM
    data_type: DataType | int = DataType.INT32
    collective: Collective | int = Collective.ALLREDUCE
    direction: Direction | int = Direction.UP
    repeat: int = 0
    error: int | None = None
    version: int = VERSION
    source: int = 0
    root: int = 0
    status: Status | int = Status.OK
    length: int | None = None
    payload: bytes = b""

    #: the frame around it
    tags: tuple[tuple[int, int], ...] | None = None
    service: int = 0
    identification: int = 0
    fragment: int = DONT_FRAGMENT
    time_to_live: int = 64
    ip_options: bytes = b""
    #: ``None`` sends none (0), ``"correct"`` the one that belongs to the packet, a number that number
    udp_checksum: int | str | None = None
    #: what follows the payload in the frame: Ethernet padding
    trailer: bytes = b""
    #: as parsed: why the frame is damaged ("cut short", "wrong UDP checksum"), or nothing
    damage: str = field(default="", compare=False)
