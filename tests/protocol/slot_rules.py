"""What all parts of the model of the slot protocol share: its size, its rules, its packets.

The model follows docs/protocol.md, section 3. It has no clock: what a timer does may happen at any moment, so every
choice of abort times and retry intervals is covered. It has no data either: a payload is the number of the segment that
it was made for, which tells a right one from a wrong one.

Segments are numbered 0 to ``segments`` - 1 here; on the wire their numbers count from ``first`` modulo ``numbers``, so
that they wrap, and the rules see nothing but the wire's.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = [
    "EXPIRED",
    "FAILED",
    "JUNK",
    "OK",
    "PEER_GONE",
    "TIMED_OUT",
    "Down",
    "Rules",
    "Size",
    "Step",
    "Up",
    "put",
    "say",
]

#: statuses; FAILED is any that a contribution brings or causes
OK, FAILED, TIMED_OUT, PEER_GONE, EXPIRED = "OK", "FAILED", "TIMED_OUT", "PEER_GONE", "EXPIRED"
#: what a damaged packet leaves in a store before its end says that it is damaged
JUNK = "junk"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules that can be broken on purpose; the defaults are the protocol's."""

    #: a contributor that is in does not enter again
    members_once: bool = True
    #: an answer is read from the slot of the segment that was asked for
    answers_own_slot: bool = True
    #: windows of slots of the result store
    result_windows: int = 2
    #: a segment is not aborted while results or answers of the context have not left
    abort_waits: bool = True
    #: a NIC does not give up a segment while its packet UP of it, or results or answers of the context, have not left
    give_up_waits: bool = True
    #: an error from above that ends a segment early is not taken while results or answers have not left
    early_end_waits: bool = True
    #: the sequence number is compared with the slot's turn
    turn_checked: bool = True


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much of everything."""

    leaders: int = 2
    children: int = 2
    window: int = 2
    segments: int = 3
    #: slots in use; the segments of the others do not take place
    slots: int = 2
    #: sequence numbers are modulo this; before and after must not meet within the segments of a run
    numbers: int = 16
    #: the first segment's number: two before the wrap
    first: int = 14
    #: how often a waiting NIC repeats
    repeats: int = 1
    #: contributions may fail their segment
    failing: bool = False
    #: damaged packets write into a store before they are forgotten
    damage: bool = False
    #: contributors may send what is over once more
    late_leaders: bool = True
    #: where what is to leave may have to wait: at a NIC's "host" and "net" port, "up" to its parent, at a "child"
    stalls: frozenset[str] = frozenset({"host", "net", "up", "child"})
    #: children keep what every segment ended with
    history: bool = False
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self):
        assert self.numbers % (2 * self.window) == 0, "a slot must keep its numbers across the wrap"
        assert self.segments + self.window < self.numbers // 2, "before and after would meet"

    def tag(self, segment: int) -> int:
        return (self.first + segment) % self.numbers

    def segment(self, tag: int) -> int:
        """The segment with this number, or the place after the last ones: for the checks, never for the rules."""
        return (tag - self.first) % self.numbers

    def runs(self, tag: int) -> bool:
        """Whether the segment with this number takes place."""
        segment = self.segment(tag)
        return segment < self.segments and segment % self.window < self.slots

    def plus(self, tag: int, windows: int = 1) -> int:
        return (tag + windows * self.window) % self.numbers

    def before(self, tag: int, turn: int) -> bool:
        return (tag - turn) % self.numbers >= self.numbers // 2

    def first_turns(self) -> tuple[int, ...]:
        """For each slot the first number that falls on it."""
        tags = [self.tag(segment) for segment in range(self.window)]
        return tuple(next(tag for tag in tags if tag % self.window == slot) for slot in range(self.window))


class Up(NamedTuple):
    """A packet towards the root."""

    tag: int
    repeat: bool
    failed: bool
    content: object


class Down(NamedTuple):
    """A packet away from the root."""

    tag: int
    status: str
    content: object


class Step(NamedTuple):
    """What one part does: to be read, the kind of step, the state after it, and what is wrong with it (None: nothing).

    Kinds: "host" (a leader or other contributor acts), "send" (something leaves), "timer", "packet".
    """

    what: str
    kind: str
    after: object
    wrong: str | None = None


def put(items: tuple, index: int, value) -> tuple:
    """``items`` with another value at ``index``."""
    return (*items[:index], value, *items[index + 1 :])


def say(packet: Up | Down, size: Size) -> str:
    """A packet for people."""
    other = "" if packet.content == size.segment(packet.tag) else f" with the payload of {packet.content}"
    if isinstance(packet, Up):
        return f"UP {size.segment(packet.tag)}{other}{' failed' * packet.failed}{', a repeat' * packet.repeat}"
    return f"DOWN {size.segment(packet.tag)}{other} {packet.status}"
