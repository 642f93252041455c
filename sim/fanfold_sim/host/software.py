"""The collective without NICs that fold: what hosts do when their registration is refused.

The nodes form the tree that the NICs would have formed. The first leader of a node combines the other leaders' data
and what the child nodes' first leaders send it, in the order of the NIC (so the bits are the same), and sends that to
the parent node's; the result comes back the same way. Between nodes go ordinary UDP frames to another port, which the
NICs pass through. What is lost is sent again by the child, until it has the result.
"""

from collections.abc import Callable, Sequence
from typing import Any

from fanfold.codes import Direction
from fanfold.config import Config

from ..frames import Address, Packet, build, parse
from ..network import picoseconds
from .addresses import Communicator, leader_address
from .events import Agenda
from .milestones import Milestone, latest
from .parameters import HostParameters

__all__ = ["SOFTWARE_BYTES", "SoftwareLeader", "read_software", "software_address"]

#: data bytes of one frame at most
SOFTWARE_BYTES = 1024
#: when a child sends again, and how often at most
_REPEAT_NS, _MOST_REPEATS = 50_000, 200


def _port(udp_port: int) -> int:
    """The UDP port beside that of tagged packets: to NICs, frames to it are regular."""
    return udp_port ^ 2


def software_address(node: int, config: Config) -> Address:
    """Where the first leader of a node does collectives in software."""
    first = leader_address(node, 0, config)
    return Address(first.mac, first.ip, _port(config.udp_port))


def read_software(frame: bytes, udp_port: int, communicator: Communicator) -> Packet | None:
    """What a frame says to the collective in software of ``communicator``; ``None`` when it is none, or damaged."""
    packet = parse(frame, _port(udp_port))
    return packet if packet is not None and not packet.damage and communicator.owns(packet) else None


class SoftwareLeader:
    """The first leader of ``node``, in collective number ``job``. ``children`` are its child nodes in order, ``parent``
    the node above.

    ``mine`` are the node's pieces of the vector with what led to each: those of all leaders, combined in no way.
    ``combine(parts)`` is the order of the NIC. ``post(time, frame, size, milestone)`` takes what it sends. ``results``
    are the pieces of the result that are here, with what led to each.
    """

    def __init__(
        self,
        node: int,
        *,
        job: int,
        parent: int | None,
        children: Sequence[int],
        config: Config,
        communicator: Communicator,
        agenda: Agenda,
        parameters: HostParameters,
        mine: Sequence[tuple[Sequence[bytes], Milestone]],
        combine: Callable[[Sequence[bytes]], bytes],
        post: Callable[[int, bytes, int, Milestone], None],
    ):
        self.node = node
        self._job = job % (1 << 16)
        self.results: dict[int, tuple[bytes, Milestone]] = {}
        self._parent = parent
        self._children = tuple(children)
        self._config = config
        self._communicator = communicator
        self._agenda = agenda
        self._parameters = parameters
        self._mine = mine
        self._combine = combine
        self._post = post
        #: for each piece, what each child sent
        self._parts: list[dict[int, tuple[bytes, Milestone]]] = [{} for _ in mine]
        self._cpu = Milestone(0)
        for piece, (_, ready) in enumerate(mine):
            agenda.plan(ready.time, self._combine_if_complete, piece)

    @property
    def done(self) -> bool:
        """Every piece of the result is here."""
        return len(self.results) == len(self._mine)

    @property
    def waiting(self) -> str:
        """What is missing, in words."""
        missing = [piece for piece in range(len(self._mine)) if piece not in self.results]
        return f"{len(missing)} of {len(self._mine)} results, first that of piece {missing[0]}"

    def hear(self, time: int, frame: bytes, milestone: Milestone) -> None:
        """A frame of the collective is in the leader's memory."""
        packet = read_software(frame, self._config.udp_port, self._communicator)
        assert packet is not None, "the node hands on nothing else"
        if packet.root != self._job:
            return  # late, of an earlier collective, in which everyone has the result
        seen = self._spend(milestone.then(time, "delivery"), self._parameters.completion_ns, "delivery")
        if packet.direction is Direction.DOWN:
            self._take_result(packet.coll_tag, packet.payload, seen)
        elif packet.coll_tag in self.results:
            # its answer was lost
            self._send(packet.coll_tag, packet.source, Direction.DOWN, self.results[packet.coll_tag][0], seen)
        elif packet.source not in self._parts[packet.coll_tag]:
            self._parts[packet.coll_tag][packet.source] = packet.payload, seen
            self._combine_if_complete(time, packet.coll_tag)

    def _combine_if_complete(self, time: int, piece: int) -> None:
        mine, ready = self._mine[piece]
        parts = self._parts[piece]
        if piece in self.results or len(parts) < len(self._children) or ready.time > time:
            return
        here = latest(ready, *(milestone for _, milestone in parts.values()))
        size = len(mine[0])
        work = len(parts) * self._parameters.reduce_ns(size)
        combined = self._combine([*mine, *(parts[child][0] for child in self._children)])
        done = self._spend(here, work, "member_stage")
        if self._parent is None:
            self._take_result(piece, combined, done)
        else:
            self._send_up(done.time, piece, combined, done, _MOST_REPEATS)

    def _send_up(self, time: int, piece: int, data: bytes, milestone: Milestone, left: int) -> None:
        if piece in self.results or not left:
            return
        assert self._parent is not None
        again = milestone if milestone.time == time else milestone.then(time, "injection")
        self._send(piece, self._parent, Direction.UP, data, again)
        self._agenda.plan(time + picoseconds(_REPEAT_NS), self._send_up, piece, data, again, left - 1)

    def _take_result(self, piece: int, data: bytes, milestone: Milestone) -> None:
        if piece in self.results:
            return
        self.results[piece] = data, milestone
        for child in self._children:
            self._send(piece, child, Direction.DOWN, data, milestone)

    def _send(self, piece: int, node: int, direction: Direction, data: bytes, milestone: Milestone) -> None:
        posted = self._spend(milestone, self._parameters.post_ns, "injection")
        fields: dict[str, Any] = dict(coll_tag_high32=self._communicator.key, comm_id=self._communicator.comm_id)
        packet = Packet(
            sender=software_address(self.node, self._config),
            receiver=software_address(node, self._config),
            direction=direction,
            coll_tag=piece,
            source=self.node,
            root=self._job,
            payload=data,
            udp_checksum="correct",
            **fields,
        )
        self._post(posted.time, build(packet), len(data), posted)

    def _spend(self, after: Milestone, nanoseconds: float, part: str) -> Milestone:
        """The core does one thing at a time."""
        begin = latest(after, self._cpu)
        self._cpu = begin.then(begin.time + picoseconds(nanoseconds), part)
        return self._cpu
