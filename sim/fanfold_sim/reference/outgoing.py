"""What a NIC sends (docs/protocol.md, section 4): packets with their addresses, until an egress builds the frame."""

from dataclasses import dataclass

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.wire import COLLECTIVE

from ..frames import Address, Packet, build, flags_byte, pack_header
from .contexts import Entry

__all__ = ["Closing", "Envelopes", "Outgoing", "close_after", "down_to_all", "up_to_parent"]


@dataclass(slots=True)
class Closing:
    """An entry that becomes free when the ``remaining`` copies of its last result have left."""

    entry: Entry
    remaining: int


@dataclass(slots=True)
class Outgoing:
    """One packet that the NIC sends at ``port`` from ``local`` to ``remote``.

    Copies that end a context share ``closing``: when all have left, the entry becomes free.
    """

    port: Port
    local: tuple[int, int]
    remote: Address
    direction: Direction
    source: int
    key: int
    coll_tag: int
    comm_id: int
    collective: Collective | int
    opt_code: Operator | int
    data_type: DataType | int
    root: int
    status: Status | int
    payload: bytes
    closing: Closing | None = None


def down_to_all(entry: Entry, **fields) -> list[Outgoing]:
    """A copy for every contributor of ``entry``, in index order; ``fields`` are those of the packet it is made from."""
    local = (entry.local_mac, entry.local_ip)
    return [
        Outgoing(
            port=contributor.port,
            local=local,
            remote=contributor.address,
            direction=Direction.DOWN,
            source=index,
            key=entry.key,
            comm_id=entry.comm_id,
            **fields,
        )
        for index, contributor in sorted(entry.contributors.items())
    ]


def close_after(entry: Entry, copies: list[Outgoing]) -> None:
    """Frees ``entry`` when the last of ``copies`` has left."""
    closing = Closing(entry, len(copies))
    for copy in copies:
        copy.closing = closing


def up_to_parent(entry: Entry, **fields) -> list[Outgoing]:
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
            comm_id=entry.comm_id,
            **fields,
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
        """The frame of ``outgoing``; a failed packet has no payload."""
        failed = outgoing.status is not Status.OK
        payload = b"" if failed else outgoing.payload
        kind = (outgoing.local, outgoing.remote, len(payload))
        outer = self._outer.get(kind)
        if outer is None:
            if len(self._outer) >= self.KEPT:
                self._outer.clear()
            outer = self._outer[kind] = self._outer_headers(*kind)
        header = pack_header(
            outgoing.key,
            outgoing.coll_tag,
            outgoing.comm_id,
            outgoing.opt_code,
            outgoing.data_type,
            outgoing.collective,
            flags_byte(outgoing.direction, error=failed),
            outgoing.source,
            outgoing.root,
            outgoing.status,
            len(payload),
        )
        return outer + header + payload

    def _outer_headers(self, local: tuple[int, int], remote: Address, length: int) -> bytes:
        sender = Address(*local, self._udp_port)
        whole = build(Packet(sender=sender, receiver=remote, tags=remote.tags, payload=bytes(length)))
        return whole[: -length - COLLECTIVE.bytes]
