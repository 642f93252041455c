"""One node: its leaders, the bus, its NIC, and the regular traffic through that NIC."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fanfold.codes import Direction, Port
from fanfold.config import Config

from ..frames import Address, Packet, parse
from ..leader import Leader
from ..network import Channel, picoseconds
from ..topology import CoreGroup, Machine
from .addresses import Communicator, leader_address
from .background import RegularStream
from .events import Agenda
from .leader_process import LeaderProcess
from .milestones import Milestone
from .parameters import HostParameters
from .timed_nic import Accepted, Left, TimedNic

__all__ = ["Captures", "Node", "SimulationError"]


HOST, NET = Port["HOST"], Port["NET"]


class SimulationError(RuntimeError):
    """The simulated system did something that it must never do: it hangs, or delivers to the wrong place."""


def _goes_down(packet: Packet) -> bool:
    return packet.direction is Direction.DOWN


class Captures(Protocol):
    """Takes what crosses the NICs' ports."""

    def write(self, node: int, port: Port, inwards: bool, frame: bytes, time: int) -> None:
        """``frame`` went into (``inwards``) or came out of the NIC of ``node``, its last beat at ``time`` ps."""


@dataclass(frozen=True, slots=True)
class _Offered:
    """What goes into the NIC with a frame: for collectives, whether it goes down, its segment, and what led to it."""

    frame: bytes
    key: tuple[bool, int] | None = None
    milestone: Milestone | None = None


class Node:
    """Node ``number``; ``to_wire(time, frame, milestone)`` takes collective packets that are on their way to others."""

    def __init__(
        self,
        number: int,
        *,
        agenda: Agenda,
        config: Config,
        machine: Machine,
        groups: Sequence[CoreGroup],
        parameters: HostParameters,
        communicator: Communicator,
        address: Address,
        nic: TimedNic,
        uplink: Channel,
        to_wire: Callable[[int, bytes, Milestone], None],
        captures: Captures | None = None,
    ):
        self.number = number
        self.address = address
        self.nic = nic
        self.uplink = uplink
        self.bus_in = Channel(f"node {number} host to NIC", parameters.bus_gbps, 0, overhead=0, shortest=0)
        self.bus_out = Channel(f"node {number} NIC to host", parameters.bus_gbps, 0, overhead=0, shortest=0)
        self.streams = {port: RegularStream(number, port) for port in Port}
        self._agenda = agenda
        self._parameters = parameters
        self._udp_port = config.udp_port
        self._communicator = communicator
        self._to_wire = to_wire
        self._captures = captures
        #: for each direction (down or not) and segment, the last packet that went into the NIC for it
        self._last_in: dict[tuple[bool, int], tuple[int, Milestone]] = {}
        self.leaders = [
            LeaderProcess(agenda, parameters, machine, group, self._protocol(group.index, config), self._inject)
            for group in groups
        ]

    def _protocol(self, index: int, config: Config) -> Leader:
        communicator = self._communicator
        return Leader(
            leader_address(self.number, index, config),
            self.address,
            communicator.comm_id,
            communicator.key,
            index,
            coll_tag=communicator.coll_tag,
        )

    # ------------------------------------------------------------------------------------------------ into the NIC

    def _inject(self, time: int, leader: LeaderProcess, frame: bytes, size: int, milestone: Milestone) -> None:
        """A leader has posted a packet: the NIC fetches it over the bus."""
        fetched = time + picoseconds(self._parameters.injection_ns(size, leader.far))
        self._agenda.plan(fetched, self._over_bus, leader, frame, milestone)

    def _over_bus(self, time: int, leader: LeaderProcess, frame: bytes, milestone: Milestone) -> None:
        # the latency of a fetch holds its own transfer, so an idle bus adds nothing
        end = self.bus_in.send(len(frame), time - self.bus_in.duration(len(frame)), time)
        self._agenda.plan(end, self._enter, HOST, frame, milestone, "injection", leader.protocol.address.queue)

    def from_wire(self, time: int, frame: bytes, milestone: Milestone) -> None:
        """A collective packet has come in from the network."""
        self._enter(time, NET, frame, milestone, "wire")

    def _enter(self, time: int, port: Port, frame: bytes, milestone: Milestone, part: str, queue: int = 0) -> None:
        packet = parse(frame, self._udp_port)
        assert packet is not None, "the host builds and forwards well-formed packets only"
        key = (_goes_down(packet), packet.coll_tag)
        self.nic.offer(port, frame, time, _Offered(frame, key, milestone.then(time, part)), queue)

    def enter_regular(self, time: int, port: Port, frame: bytes) -> None:
        """A regular frame comes in at ``port``."""
        self.streams[port].offer(frame)
        self.nic.offer(port, frame, time, _Offered(frame))

    # ---------------------------------------------------------------------------------------------- out of the NIC

    def went_in(self, accepted: Accepted) -> None:
        """The NIC has taken a frame."""
        offered: _Offered = accepted.token
        if self._captures:
            self._captures.write(self.number, accepted.port, True, offered.frame, accepted.last)
        if offered.key is not None and offered.milestone is not None:
            before = self._last_in.get(offered.key)
            if before is None or before[0] <= accepted.last:
                self._last_in[offered.key] = (accepted.last, offered.milestone)

    def came_out(self, left: Left) -> None:
        """The NIC has sent a frame."""
        if self._captures:
            self._captures.write(self.number, left.port, False, left.frame, left.last)
        packet = parse(left.frame, self._udp_port)
        if packet is None or not self._communicator.owns(packet) or packet.sender.mac != self.address.mac:
            other = NET if left.port is HOST else HOST
            self.streams[other].leave(left.frame, left.bad)
            return
        milestone = self._cause(packet).then(left.last, "nic")
        if left.port is NET:
            arrival = self.uplink.send(len(left.frame), left.first, left.last)
            self._agenda.plan(arrival, self._to_wire, left.frame, milestone)
        else:
            self._deliver(left, packet, milestone)

    def _cause(self, packet: Packet) -> Milestone:
        # what goes down came from the parent, except at the root
        found = self._last_in.get((_goes_down(packet), packet.coll_tag)) or self._last_in.get((False, packet.coll_tag))
        if found is None:
            raise SimulationError(f"node {self.number}: its NIC sent segment {packet.coll_tag} that nothing led to")
        return found[1]

    def _deliver(self, left: Left, packet: Packet, milestone: Milestone) -> None:
        index: Any = packet.source
        if index >= len(self.leaders) or self.leaders[index].protocol.address.queue != left.queue:
            raise SimulationError(
                f"node {self.number}: a packet for contributor {index} came out to queue {left.queue}"
            )
        crossed = self.bus_out.send(len(left.frame), left.first, left.last)
        arrival = crossed + picoseconds(self._parameters.delivery_ns(len(packet.payload)))
        self._agenda.plan(arrival, self._in_memory, self.leaders[index], left.frame, milestone)

    def _in_memory(self, time: int, leader: LeaderProcess, frame: bytes, milestone: Milestone) -> None:
        answer = leader.protocol.hear(frame)
        if answer is None:
            raise SimulationError(
                f"node {self.number}: leader {leader.group.index} got a packet that it did not wait for"
            )
        leader.receive(time, answer, milestone.then(time, "delivery"))

    def forget(self) -> None:
        """A job is over: nothing refers to its segments any more."""
        self._last_in.clear()
