"""The configuration of one Fanfold instance: everything that sizes the hardware, and what follows from it.

A block takes the whole object only where it composes others; everything is derived here and nowhere else, so nothing
is sized by hand twice.
"""

from dataclasses import asdict, dataclass, fields, replace

from .codes import DataType, Operator, defined

__all__ = ["DEFAULT_OPERATORS", "DEFAULT_TYPES", "MOST_HEADER_BYTES", "PRESETS", "Config"]

#: bytes of a tagged frame's headers at most: with two VLAN tags and ten words of IP options
MOST_HEADER_BYTES = 64 + 2 * 4 + 10 * 4

#: what an instance has unless it is told: all but what takes multipliers, and 64-bit floating point
DEFAULT_OPERATORS = tuple(each for each in Operator if each is not Operator.PROD)
DEFAULT_TYPES = tuple(each for each in DataType if each not in (DataType.FLOAT64, DataType.FLOAT64_INT32))


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes and options of one instance.

    Raises ``ValueError`` naming the parameter, its value and what is allowed.
    """

    #: bytes of one beat on every stream: 8, 16, 32 or 64
    beat_bytes: int = 64
    #: contributors of one communicator at this NIC (local leaders + child NICs): 2 to 128
    contributors: int = 8
    #: communicators that can be open at once: a power of two, 2 to 256
    contexts: int = 4
    #: segments that a contributor may have unanswered: a power of two, 2 to 64
    window: int = 8
    #: payload bytes of one segment at most: a multiple of 64, 128 to 8192
    segment_bytes: int = 1024
    #: reduction operators of this instance; the default leaves out what goes with none of the types
    operators: tuple[Operator, ...] = DEFAULT_OPERATORS
    #: element types of this instance; the default leaves out what goes with none of the operators
    types: tuple[DataType, ...] = DEFAULT_TYPES
    #: pipeline registers of the floating-point adder: 3 to 10
    adder_stages: int = 8
    #: width in bits of the host queue number (tid/tdest): 1 to 16
    queue_bits: int = 8
    #: UDP port that tagged packets are sent to
    udp_port: int = 49169
    #: one tick of the timers is 2 to the power of this many cycles: 4 to 20
    tick_bits: int = 10
    #: contributors of all communicators together: a power of two, room for one communicator of all contributors to
    #: room for as many of these as there are contexts; 0 for the latter
    places: int = 0
    #: bytes of the longest frame that the network sends, without frame check: the receive buffer has room for two
    frame_bytes: int = 9216
    #: segments that may wait for the fold at each port: a power of two, 4 to 256
    waiting_segments: int = 32
    #: whether packets are counted by contributor too, not by context alone: it takes 160 bits for each of them
    telemetry: bool = True

    def __post_init__(self):
        self._one_of("beat_bytes", (8, 16, 32, 64))
        self._between("contributors", 2, 128)
        self._power_of_two("contexts", 2, 256)
        self._power_of_two("window", 2, 64)
        self._between("segment_bytes", 128, 8192)
        if self.segment_bytes % 64:
            raise ValueError(f"segment_bytes is {self.segment_bytes}: it must be a multiple of 64")
        self._some_of("operators", Operator)
        self._some_of("types", DataType)
        self._have_use("operators", DEFAULT_OPERATORS, lambda each: any(defined(each, kind) for kind in self.types))
        self._have_use("types", DEFAULT_TYPES, lambda each: any(defined(operator, each) for operator in self.operators))
        self._between("adder_stages", 3, 10)
        self._between("queue_bits", 1, 16)
        self._between("udp_port", 1, 65535)
        self._between("tick_bits", 4, 20)
        if self.places != 0 or isinstance(self.places, bool):
            self._power_of_two("places", self.leaves, self.contexts * self.leaves)
        self._between("frame_bytes", 256, 16384)
        self._power_of_two("waiting_segments", 4, 256)
        self._one_of("telemetry", (False, True))
        object.__setattr__(self, "telemetry", bool(self.telemetry))
        if self.frame_bytes < self.segment_bytes + MOST_HEADER_BYTES:
            raise ValueError(
                f"frame_bytes is {self.frame_bytes}: a segment of {self.segment_bytes} bytes and its headers take up "
                f"to {self.segment_bytes + MOST_HEADER_BYTES}"
            )

    def _between(self, name, low, high):
        value = getattr(self, name)
        if not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{name} is {value!r}: it must be a whole number from {low} to {high}")

    def _one_of(self, name, allowed):
        value = getattr(self, name)
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}: it must be one of {', '.join(map(str, allowed))}")

    def _power_of_two(self, name, low, high):
        self._between(name, low, high)
        value = getattr(self, name)
        if value & (value - 1):
            raise ValueError(f"{name} is {value}: it must be a power of two from {low} to {high}")

    def _some_of(self, name, allowed):
        chosen = getattr(self, name)
        names = ", ".join(member.name.lower() for member in allowed)
        if not chosen:
            raise ValueError(f"{name} is empty: choose at least one of {names}")
        for member in chosen:
            if member not in tuple(allowed):
                raise ValueError(f"{name} has {member!r}: it must be one of {names}")
        if len(set(chosen)) != len(chosen):
            raise ValueError(f"{name} names one of its members twice")

    def _have_use(self, name, default, useful):
        chosen = getattr(self, name)
        if chosen is default:
            object.__setattr__(self, name, tuple(member for member in chosen if useful(member)))
            return
        for member in chosen:
            if not useful(member):
                other = "types" if name == "operators" else "operators"
                given = ", ".join(each.name.lower() for each in getattr(self, other))
                raise ValueError(
                    f"{name} has {member.name.lower()}: it is not defined with any of the {other} ({given}); leave it "
                    f"out, or add one that it goes with"
                )

    @property
    def pairs(self) -> tuple[tuple[Operator, DataType], ...]:
        """What this instance folds: its operators with its types, where they go together."""
        return tuple((operator, each) for operator in self.operators for each in self.types if defined(operator, each))

    @property
    def levels(self) -> int:
        """Levels of the fold's binary tree: each halves the contributors."""
        return (self.contributors - 1).bit_length()

    @property
    def leaves(self) -> int:
        """Leaves of the fold's tree: contributors rounded up to a power of two."""
        return 1 << self.levels

    @property
    def pool_places(self) -> int:
        """Places for contributors of all contexts: ``places``, or all that contexts and contributors can fill."""
        return self.places or self.contexts * self.leaves

    @property
    def segment_beats(self) -> int:
        """Beats of the largest segment."""
        return self.segment_bytes // self.beat_bytes

    @property
    def frame_beats(self) -> int:
        """Beats of the longest frame."""
        return -(-self.frame_bytes // self.beat_bytes)

    @property
    def waiting_beats(self) -> int:
        """Payload beats that may wait for the fold at each port."""
        return max(64, self.waiting_segments * self.segment_beats)

    @property
    def fold_slots(self) -> int:
        """Slots in which segments are folded: a window for each context."""
        return self.contexts * self.window

    @property
    def result_slots(self) -> int:
        """Slots that keep results readable: two windows for each context."""
        return 2 * self.fold_slots

    def as_dict(self) -> dict:
        """The configuration as JSON-ready values."""
        plain = asdict(self)
        plain["operators"] = [member.name.lower() for member in self.operators]
        plain["types"] = [member.name.lower() for member in self.types]
        return plain

    @classmethod
    def from_dict(cls, plain: dict) -> "Config":
        """The inverse of ``as_dict``; raises ``ValueError`` on an unknown name."""
        names = {field.name for field in fields(cls)}
        for name in plain:
            if name not in names:
                raise ValueError(f"unknown configuration option {name!r}: known are {', '.join(sorted(names))}")
        chosen = dict(plain)
        for name, members in (("operators", Operator), ("types", DataType)):
            if name in chosen:
                chosen[name] = tuple(_member(members, name, text) for text in chosen[name])
        return cls(**chosen)


def _member(members, option, text):
    try:
        return members[text.upper()]
    except KeyError:
        allowed = ", ".join(member.name.lower() for member in members)
        raise ValueError(f"{option} has {text!r}: known are {allowed}") from None


#: what most programs reduce: instances with a name have no more, so that they are small and quick to build
_COMMON = Config(
    operators=(Operator.SUM, Operator.MIN, Operator.MAX), types=(DataType.INT32, DataType.UINT32, DataType.FLOAT32)
)

#: configurations with a name: ``tiny`` and ``small`` for tests, ``numa`` for a leader a NUMA domain, ``cores`` for a
#: leader a core
PRESETS = {
    "tiny": replace(_COMMON, beat_bytes=8, contributors=4, contexts=2, window=2, segment_bytes=128),
    "small": replace(_COMMON, beat_bytes=16, contributors=4, contexts=2, window=4, segment_bytes=256),
    "numa": _COMMON,
    "cores": replace(_COMMON, contributors=128, contexts=2, window=4),
}
