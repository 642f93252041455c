"""The codes that travel in packets: what users call operators, types, collectives and statuses.

Everything else speaks in these enumerations, so this file imports nothing of the project. A code that came from
outside stays a plain number until it was checked (``known``), then becomes a member.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import enum  # type checkers know how members of Python's own enumerations behave; these behave alike
else:
    from amaranth.lib import enum

__all__ = ["Collective", "DataType", "Direction", "Operator", "Origin", "Port", "Status", "defined", "known"]


class Collective(enum.Enum, shape=8):  # type: ignore[call-arg]
    """What a packet takes part in; the names are MPI's (MPI 4.1, chapter 6)."""

    REGISTER = 0
    DEREGISTER = 1
    BARRIER = 2
    ALLREDUCE = 3
    REDUCE = 4
    BROADCAST = 5
    ALLGATHER = 6
    GATHER = 7
    SCATTER = 8
    REDUCE_SCATTER = 9
    ALLTOALL = 10


class Operator(enum.Enum, shape=8):  # type: ignore[call-arg]
    """Reduction operators (MPI 4.1, section 6.9.2)."""

    SUM = 0
    PROD = 1
    MIN = 2
    MAX = 3
    LAND = 4
    LOR = 5
    LXOR = 6
    BAND = 7
    BOR = 8
    BXOR = 9
    MINLOC = 10
    MAXLOC = 11


class DataType(enum.Enum, shape=8):  # type: ignore[call-arg]
    """Element types. Elements are packed and little-endian in the payload.

    The last three are pairs of a value and its index, for MINLOC and MAXLOC: the value first, the index behind it, as
    MPI_FLOAT_INT, MPI_2INT and MPI_DOUBLE_INT lie in memory (MPI 4.1, section 6.9.4). The last takes 16 bytes: four of
    padding follow its index, as in a C structure.
    """

    INT8 = 0
    INT16 = 1
    INT32 = 2
    INT64 = 3
    UINT8 = 4
    UINT16 = 5
    UINT32 = 6
    UINT64 = 7
    FLOAT16 = 8
    BFLOAT16 = 9
    FLOAT32 = 10
    FLOAT64 = 11
    FLOAT32_INT32 = 12
    INT32_INT32 = 13
    FLOAT64_INT32 = 14

    @property
    def element_bytes(self) -> int:
        """Bytes one element takes in the payload."""
        return _ELEMENT_BYTES[self.value]

    @property
    def floating(self) -> bool:
        """Whether an element is a floating-point number."""
        return DataType.FLOAT16.value <= self.value <= DataType.FLOAT64.value

    @property
    def pair(self) -> bool:
        """Whether an element is a value with its index."""
        return self.value >= DataType.FLOAT32_INT32.value


_ELEMENT_BYTES = (1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 8, 16)

_ON_PAIRS = (Operator.MINLOC, Operator.MAXLOC)
_ON_NUMBERS = (Operator.SUM, Operator.PROD, Operator.MIN, Operator.MAX)


def defined(operator: Operator, data_type: DataType) -> bool:
    """Whether MPI defines ``operator`` for elements of ``data_type`` (MPI 4.1, section 6.9.2).

    Pairs have MINLOC and MAXLOC, and nothing else has; logical and bitwise operators are for integers.
    """
    if data_type.pair or operator in _ON_PAIRS:
        return data_type.pair and operator in _ON_PAIRS
    return operator in _ON_NUMBERS or not data_type.floating


class Status(enum.Enum, shape=16):  # type: ignore[call-arg]
    """How a collective, or one packet of it, ended. 0 is success; everything else is a cause.

    A status travels in the header of a result (all leaders see it), or, for causes that concern one packet alone,
    shows in the counter of that cause.
    """

    OK = 0
    #: the communicator is not known, not open yet, or closed again
    NOT_OPEN = 1
    #: the contributor index is outside what the record announced, or arrived at the wrong port
    OUT_OF_RANGE = 2
    #: the packet did not come from where this contributor registered
    WRONG_SOURCE = 3
    #: this contributor's part of this segment is here already
    DUPLICATE = 4
    #: the sequence number is not one that may be sent now
    OUT_OF_WINDOW = 5
    #: operator, type, collective, root or length differ between contributors
    MISMATCH = 6
    #: this instance was not built for the operator, the type, their pair, or the collective
    UNSUPPORTED = 7
    #: the length is more than a segment, or no whole number of elements
    BAD_LENGTH = 8
    #: the table entry for this communicator id is taken
    NO_ROOM = 9
    #: the record differs from what the first contributor registered
    DISAGREE = 10
    #: the record asks for more than this instance has (contributors, window)
    TOO_LARGE = 11
    #: contributors did not come within the abort time
    TIMED_OUT = 12
    #: the parent NIC did not answer
    PEER_GONE = 13
    #: the segment is over, and its result is not kept any more
    EXPIRED = 14


class Direction(enum.Enum, shape=1):  # type: ignore[call-arg]
    """Towards the root of the tree (fan-in), or away from it (fan-out)."""

    UP = 0
    DOWN = 1


class Port(enum.Enum, shape=1):  # type: ignore[call-arg]
    """A side of the network card."""

    HOST = 0
    NET = 1


class Origin(enum.Enum, shape=3):  # type: ignore[call-arg]
    """Where a packet that enters the fold comes from: a port, or the NIC itself."""

    #: a port
    RECEIVED = 0
    #: the registry: the outcome of a registration
    ANNOUNCED = 1
    #: a timer: contributors of a segment did not come in time
    OVERDUE = 2
    #: a timer: the parent did not answer
    GIVEN_UP = 3
    #: a timer: the partial result is to be sent to the parent again
    REPEATED = 4


def known(code, members):
    """Whether ``code``, a value from outside, is one of the enumeration ``members``; an expression of one bit."""
    found = 0
    for member in members:
        found = found | (code == member.value)
    return found
