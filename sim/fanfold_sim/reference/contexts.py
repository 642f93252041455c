"""What a NIC remembers of a communicator: the entry of the context table, its contributors and its slots."""

import enum
from dataclasses import dataclass, field

from fanfold.codes import Collective, DataType, Operator, Port, Status

from ..frames import Address
from ..records import Record

__all__ = ["Contributor", "Entry", "Segment", "Slot", "State", "UnderWay", "same_place"]

_TAGS = 1 << 32


class State(enum.Enum):
    """How far a context is."""

    FREE = enum.auto()
    #: some contributors are enrolled
    ENROLLING = enum.auto()
    #: all are enrolled, the parent has not answered
    WAITING = enum.auto()
    OPEN = enum.auto()
    #: deregistered: its children may still ask for the last results, and a registration takes it over
    LINGERING = enum.auto()


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


@dataclass(frozen=True, slots=True)
class Segment:
    """What a packet about a segment says, whoever gets it: its codes, how it ended, and the payload."""

    collective: Collective | int
    opt_code: Operator | int
    data_type: DataType | int
    root: int
    status: Status | int = Status.OK
    payload: bytes = b""


@dataclass(slots=True)
class Slot:
    """A place where one segment is folded at a time; ``turn`` is the sequence number it folds now, or folds next."""

    turn: int
    #: ended here and sent to the parent, whose result is not here yet; how often it was sent again
    waiting: bool = False
    repeats: int = 0
    #: the first failure, and the payload that says who is at fault
    status: Status | int = Status.OK
    fault: bytes = b""
    #: who is in, and with what; a contribution that failed the segment is in with nothing
    parts: dict[int, bytes] = field(default_factory=dict)
    #: as the first contribution has them
    collective: Collective | int = 0
    opt_code: Operator | int = 0
    data_type: DataType | int = 0
    root: int = 0
    length: int = 0
    #: what went to the parent
    asked: Segment | None = None
    #: the result of the turn before
    last: Segment | None = None

    def segment(self, status: Status | int, payload: bytes) -> Segment:
        """The segment of this turn as it ends."""
        return Segment(self.collective, self.opt_code, self.data_type, self.root, status, payload)

    def move_on(self, window: int, last: Segment) -> None:
        """Makes the slot clean for the next segment that falls on it; only how this one ended is kept."""
        self.turn = (self.turn + window) % _TAGS
        self.waiting = False
        self.repeats = 0
        self.status, self.fault = Status.OK, b""
        self.parts = {}
        self.asked = None
        self.last = last


@dataclass(slots=True)
class UnderWay:
    """What was sent for a context and has not left completely: ``results`` for all its contributors, and ``singles``
    for one of them or for the parent. It outlives the context."""

    results: int = 0
    singles: int = 0

    def __bool__(self) -> bool:
        return self.results > 0 or self.singles > 0


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
    #: contributors that the first registration announced, and their places
    announced: int = 0
    places: range = range(0)
    #: of the first registration, until a leader says it
    abort_ticks: int = 0
    #: what the leaders said of the node, and the bytes that they must agree on; a child may come before them
    record: Record | None = None
    record_bytes: bytes = b""
    ranks: int = 0
    #: ranks of the whole communicator, once it is open
    total_ranks: int = 0
    #: how often the parent was asked again for the registration
    repeats: int = 0
    contributors: dict[int, Contributor] = field(default_factory=dict)
    slots: list[Slot] = field(default_factory=list)
    under_way: UnderWay = field(default_factory=UnderWay)

    @property
    def taken(self) -> bool:
        """Whether another communicator must keep out."""
        return self.state not in (State.FREE, State.LINGERING)

    def is_of(self, comm_id: int, key: int) -> bool:
        """Whether the entry is taken, by this communicator."""
        return self.taken and self.comm_id == comm_id and self.key == key

    def hears(self, comm_id: int, key: int) -> bool:
        """Whether packets of this communicator's segments concern the entry."""
        return self.state in (State.OPEN, State.LINGERING) and self.comm_id == comm_id and self.key == key

    def is_at(self, mac: int, ip: int) -> bool:
        """Whether this is the NIC's address in the communicator."""
        return self.local_mac == mac and self.local_ip == ip

    @property
    def total(self) -> int:
        """Contributors that the leaders announced."""
        assert self.record is not None, "no leader has described the node"
        return self.record.leaders + self.record.children

    @property
    def root(self) -> bool:
        """Whether this NIC is the root of the communicator's tree."""
        assert self.record is not None, "no leader has described the node"
        return self.record.parent is None

    @property
    def complete(self) -> bool:
        """Whether everyone is enrolled."""
        return self.record is not None and len(self.contributors) == self.total

    def open(self, window: int, total_ranks: int) -> None:
        """Opens the context: its slots begin with the segment after the registration."""
        self.state = State.OPEN
        self.total_ranks = total_ranks
        first = self.coll_tag + 1
        self.slots = [Slot((first + (number - first) % window) % _TAGS) for number in range(window)]
