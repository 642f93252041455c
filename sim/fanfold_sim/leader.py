"""The leader's side of the protocol: builds what a leader core sends to its NIC and reads what comes back.

It knows no time: who uses it sends the frames, when ``may_send`` allows, repeats what it thinks lost, and hands it what
comes.
"""

import dataclasses
from dataclasses import dataclass

from fanfold.codes import Collective, DataType, Direction, Operator, Status
from fanfold.wire import FAULT, FAULT_OF_ONE_BYTES

from .frames import Address, Packet, build, parse
from .records import Fault, read_fault, read_total, record

__all__ = ["Answer", "Leader"]

_TAGS = 1 << 32


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for segment ``coll_tag``: success with a payload, or a status that says why not.

    A status other than 0 may come before the segment was sent: the others did not wait for this leader. ``ranks`` is
    the size of the communicator, in the answer to a registration that succeeded.
    """

    collective: Collective | int
    coll_tag: int
    status: Status | int
    payload: bytes
    ranks: int | None = None

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.status is Status.OK

    @property
    def fault(self) -> Fault | None:
        """Who was at fault, if it failed and the NIC that found it says so."""
        if self.ok or len(self.payload) not in (FAULT_OF_ONE_BYTES, FAULT.bytes):
            return None
        return read_fault(self.payload)


class Leader:
    """One leader core of one communicator: contributor ``index`` at the NIC with ``nic_address``.

    ``address`` is where its packets come from, with the VLAN tags they carry and its host queue. Segments are numbered
    from ``coll_tag`` on, which is the registration.
    """

    def __init__(
        self, address: Address, nic_address: Address, comm_id: int, key: int, index: int, *, coll_tag: int = 0
    ):
        self.address = address
        self.nic_address = nic_address
        self.comm_id = comm_id
        self.key = key
        self.index = index
        #: sequence number of the next packet
        self.coll_tag = coll_tag
        #: segments that it may have unanswered, as registered
        self.window = 1
        #: ranks of the communicator, once the registration is answered
        self.ranks: int | None = None
        #: what was sent and has no result yet
        self._unanswered: dict[int, Packet] = {}
        #: segments that ended without this leader, which has still to come to them
        self._over: set[int] = set()

    @property
    def may_send(self) -> bool:
        """Whether the window allows another segment: the one a window before must have its result."""
        return all((self.coll_tag - tag) % _TAGS < self.window for tag in self._unanswered)

    @property
    def unanswered(self) -> frozenset[int]:
        """Sequence numbers that were sent and have no result yet."""
        return frozenset(self._unanswered)

    # -------------------------------------------------------------------------------------------------- what it sends

    def packet(self, **fields) -> Packet:
        """A packet from this leader to its NIC with the next sequence number; ``fields`` override. Changes nothing."""
        base = dict(
            sender=self.address,
            receiver=self.nic_address,
            coll_tag_high32=self.key,
            coll_tag=self.coll_tag,
            comm_id=self.comm_id,
            source=self.index,
        )
        return Packet(**{**base, **fields})

    def register(
        self,
        *,
        ranks: int,
        leaders: int,
        window: int,
        node: int = 0,
        children: int = 0,
        parent: Address | None = None,
        parent_index: int = 0,
        parent_total: int = 0,
        abort_ticks: int = 0,
    ) -> bytes:
        """The registration: the node's record, and the ``ranks`` that this leader stands for."""
        payload = record(
            ranks=ranks,
            leaders=leaders,
            window=window,
            node=node,
            children=children,
            parent=parent,
            parent_index=parent_index,
            parent_total=parent_total,
            abort_ticks=abort_ticks,
        )
        self.window = window
        return self._send(
            collective=Collective.REGISTER, opt_code=Operator.SUM, data_type=DataType.UINT32, payload=payload
        )

    def allreduce(self, payload: bytes, operator: Operator, data_type: DataType) -> bytes:
        """The next segment of an all-reduce."""
        return self._send(collective=Collective.ALLREDUCE, opt_code=operator, data_type=data_type, payload=payload)

    def barrier(self) -> bytes:
        """The next segment: everyone is here."""
        return self._send(collective=Collective.BARRIER)

    def deregister(self) -> bytes:
        """The last segment: the communicator is freed."""
        return self._send(collective=Collective.DEREGISTER)

    def repeat(self, coll_tag: int) -> bytes:
        """Once more what was sent for a segment, marked as a repeat. Raises ``KeyError`` when its result is here."""
        return build(dataclasses.replace(self._unanswered[coll_tag], repeat=1))

    @property
    def is_over(self) -> bool:
        """Whether the next segment has failed already: ``skip`` it."""
        return self.coll_tag in self._over

    def skip(self) -> None:
        """Sends nothing for the next segment. Raises ``KeyError`` when it is not over."""
        self._over.remove(self.coll_tag)
        self.coll_tag = (self.coll_tag + 1) % _TAGS

    def _send(self, **fields) -> bytes:
        packet = self.packet(**fields)
        self._unanswered[self.coll_tag] = packet
        self._over.discard(self.coll_tag)
        self.coll_tag = (self.coll_tag + 1) % _TAGS
        return build(packet)

    # -------------------------------------------------------------------------------------------------- what it hears

    def hear(self, frame: bytes) -> Answer | None:
        """What a frame says to this leader; ``None`` when it is for someone else, damaged, or awaited by nobody."""
        packet = parse(frame, self.address.port)
        if packet is None or packet.damage or not self._is_mine(packet):
            return None
        if packet.coll_tag in self._unanswered:
            del self._unanswered[packet.coll_tag]
        elif self._is_ahead(packet.coll_tag) and packet.status is not Status.OK and packet.coll_tag not in self._over:
            self._over.add(packet.coll_tag)
        else:
            return None
        ranks = None
        if packet.collective is Collective.REGISTER and packet.status is Status.OK:
            ranks = self.ranks = read_total(packet.payload)
        return Answer(packet.collective, packet.coll_tag, packet.status, packet.payload, ranks)

    def _is_ahead(self, coll_tag: int) -> bool:
        """Whether a segment has not been sent yet."""
        return (coll_tag - self.coll_tag) % _TAGS < _TAGS // 2

    def _is_mine(self, packet: Packet) -> bool:
        here = dataclasses.replace(self.address, tags=(), queue=0)
        there = (packet.sender.mac, packet.sender.ip, packet.sender.port)
        return (
            packet.receiver == here
            and there == (self.nic_address.mac, self.nic_address.ip, self.nic_address.port)
            and packet.direction is Direction.DOWN
            and (packet.comm_id, packet.coll_tag_high32, packet.source) == (self.comm_id, self.key, self.index)
        )
