"""What a NIC remembers of a communicator: the entry of the context table, its contributors and its slots."""

import enum
from dataclasses import dataclass, field

from fanfold.codes import Collective, DataType, Operator, Port, Status

from ..frames import Address
from ..records import Record

__all__ = ["Contributor", "Entry", "Slot", "State", "same_place"]


class State(enum.Enum):
    """How far a context is."""

    FREE = enum.auto()
    #: some contributors are enrolled
    ENROLLING = enum.auto()
    #: all are enrolled, the parent has not answered
    WAITING = enum.auto()
    OPEN = enum.auto()


def same_place(one: Address, other: Address, *, queue: bool = True) -> bool:
    """Whether packets from both come from the same MAC, IP, port and, where it counts, host queue.

    VLAN tags are the way, not the place: they do not count.
    """
    return (
        one.mac == other.mac
        and one.ip == other.ip
        and one.port == other.port
        and (not queue or one.queue == other.queue)
    )


@dataclass(frozen=True, slots=True)
class Contributor:
    """An enrolled contributor: where its copies go."""

    port: Port
    address: Address


@dataclass(slots=True)
class Slot:
    """A place where one segment is folded at a time; ``turn`` is the sequence number it folds now, or folds next."""

    turn: int
    #: folded here and sent to the parent, whose result is not here yet
    waiting: bool = False
    status: Status | int = Status.OK
    #: who is in, and with what; a contribution that failed the segment is in with nothing
    parts: dict[int, bytes] = field(default_factory=dict)
    collective: Collective | int = 0
    opt_code: Operator | int = 0
    data_type: DataType | int = 0
    root: int = 0
    length: int = 0

    def move_on(self, window: int) -> None:
        """Makes the slot clean for the next segment that falls on it."""
        self.turn = (self.turn + window) % (1 << 32)
        self.waiting = False
        self.status = Status.OK
        self.parts = {}


@dataclass(slots=True)
class Entry:
    """One entry of the context table."""

    state: State = State.FREE
    comm_id: int = 0
    key: int = 0
    #: of the first registration: sequence number and the address of this NIC
    coll_tag: int = 0
    local_mac: int = 0
    local_ip: int = 0
    window: int = 0
    #: what the leaders said of the node, and the bytes that they must agree on; a child may come before them
    record: Record | None = None
    record_bytes: bytes = b""
    ranks: int = 0
    contributors: dict[int, Contributor] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)

    def is_of(self, comm_id: int, key: int) -> bool:
        """Whether the entry is taken, by this communicator."""
        return self.state is not State.FREE and self.comm_id == comm_id and self.key == key

    def is_at(self, mac: int, ip: int) -> bool:
        """Whether this is the NIC's address in the communicator."""
        return self.local_mac == mac and self.local_ip == ip

    @property
    def total(self) -> int:
        """Contributors that the leaders announced."""
        assert self.record is not None, "no leader has described the node"
        return self.record.leaders + self.record.children

    @property
    def complete(self) -> bool:
        """Whether everyone is enrolled."""
        return self.record is not None and len(self.contributors) == self.total

    def open(self, window: int) -> None:
        """Opens the context: its slots begin with the segment after the registration."""
        self.state = State.OPEN
        first = self.coll_tag + 1
        self.slots = [Slot((first + (number - first) % window) % (1 << 32)) for number in range(window)]
