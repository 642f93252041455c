"""What a NIC sends (docs/protocol.md, section 4): packets with their addresses, until an egress builds the frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fanfold.codes import Direction, Port, Status
from fanfold.wire import COLLECTIVE

from ..frames import Address, Packet, build, flags_byte, pack_header
from .contexts import Entry, Segment

__all__ = ["Decision", "Delivery", "Envelopes", "Outgoing", "down_to_all", "down_to_one", "refusal", "up_to_parent"]


@dataclass(slots=True)
class Delivery:
    """Packets of one decision that are under way, ``remaining`` of them: a result for all contributors, or a
    ``single`` packet. ``closes``: the entry is over when they have left."""

    entry: Entry
    remaining: int
    single: bool
    closes: bool = False

    def __post_init__(self):
        self._count(1)

    def left(self) -> bool:
        """One of the packets has left; whether it was the last."""
        self.remaining -= 1
        if not self.remaining:
            self._count(-1)
        return not self.remaining

    def _count(self, step: int) -> None:
        if self.single:
            self.entry.under_way.singles += step
        else:
            self.entry.under_way.results += step


@dataclass(slots=True)
class Outgoing:
    """One packet that the NIC sends at ``port`` from ``local`` to ``remote``.

    A refused registration's answer is no ``delivery``: it takes a way of its own.
    """

    port: Port
    local: tuple[int, int]
    remote: Address
    direction: Direction
    source: int
    key: int
    coll_tag: int
    comm_id: int
    segment: Segment
    repeat: bool = False
    delivery: Delivery | None = None


class Decision(NamedTuple):
    """What becomes of a packet: why it is refused, what is sent because of it, and the name of an event to count."""

    cause: Status = Status.OK
    sends: Sequence[Outgoing] = ()
    counts_as: str = ""


def down_to_all(entry: Entry, coll_tag: int, segment: Segment, *, closes: bool = False) -> list[Outgoing]:
    """A copy for every contributor of ``entry``, in index order; with ``closes`` the entry is over when they left."""
    delivery = Delivery(entry, len(entry.contributors), single=False, closes=closes)
    return [_down(entry, index, coll_tag, segment, delivery) for index in sorted(entry.contributors)]


def down_to_one(entry: Entry, index: int, coll_tag: int, segment: Segment) -> list[Outgoing]:
    """An answer to contributor ``index`` alone."""
    return [_down(entry, index, coll_tag, segment, Delivery(entry, 1, single=True))]


def refusal(entry: Entry, index: int, segment: Segment) -> Outgoing:
    """The end of a registration as contributor ``index`` hears of it: what refuses one, after it was accepted."""
    return _down(entry, index, entry.coll_tag, segment, None)


def _down(entry: Entry, index: int, coll_tag: int, segment: Segment, delivery: Delivery | None) -> Outgoing:
    contributor = entry.contributors[index]
    return Outgoing(
        port=contributor.port,
        local=(entry.local_mac, entry.local_ip),
        remote=contributor.address,
        direction=Direction.DOWN,
        source=index,
        key=entry.key,
        coll_tag=coll_tag,
        comm_id=entry.comm_id,
        segment=segment,
        delivery=delivery,
    )


def up_to_parent(entry: Entry, coll_tag: int, segment: Segment, *, repeat: bool = False) -> list[Outgoing]:
    """The one packet to the parent NIC of ``entry``."""
    assert entry.record is not None and entry.record.parent is not None, "a root has no parent"
    return [
        Outgoing(
            port=Port.NET,
            local=(entry.local_mac, entry.local_ip),
            remote=entry.record.parent,
            direction=Direction.UP,
            source=entry.record.parent_index,
            key=entry.key,
            coll_tag=coll_tag,
            comm_id=entry.comm_id,
            segment=segment,
            repeat=repeat,
            delivery=Delivery(entry, 1, single=True),
        )
    ]


class Envelopes:
    """Builds the frames of outgoing packets; keeps outer headers, which are the same for all packets of a length."""

    #: outer headers that are kept at most
    KEPT = 4096

    def __init__(self, udp_port: int):
        self._udp_port = udp_port
        self._outer: dict[tuple[tuple[int, int], Address, int], bytes] = {}

    def frame(self, outgoing: Outgoing) -> bytes:
        """The frame of ``outgoing``."""
        segment = outgoing.segment
        kind = (outgoing.local, outgoing.remote, len(segment.payload))
        outer = self._outer.get(kind)
        if outer is None:
            if len(self._outer) >= self.KEPT:
                self._outer.clear()
            outer = self._outer[kind] = self._outer_headers(*kind)
        header = pack_header(
            outgoing.key,
            outgoing.coll_tag,
            outgoing.comm_id,
            segment.opt_code,
            segment.data_type,
            segment.collective,
            flags_byte(outgoing.direction, outgoing.repeat, error=segment.status is not Status.OK),
            outgoing.source,
            segment.root,
            segment.status,
            len(segment.payload),
        )
        return outer + header + segment.payload

    def _outer_headers(self, local: tuple[int, int], remote: Address, length: int) -> bytes:
        sender = Address(*local, self._udp_port)
        whole = build(Packet(sender=sender, receiver=remote, tags=remote.tags, payload=bytes(length)))
        return whole[: -length - COLLECTIVE.bytes]
