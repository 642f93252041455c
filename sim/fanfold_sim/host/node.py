"""One node: its leaders, the bus, its NIC, and the regular traffic through that NIC."""

from collections import Counter
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
from .errors import SimulationError
from .events import Agenda
from .leader_process import LeaderProcess
from .milestones import Milestone
from .parameters import HostParameters
from .software import SoftwareLeader, read_software
from .timed_nic import Accepted, Left, TimedNic

__all__ = ["Captures", "Node", "SimulationError"]


HOST, NET = Port["HOST"], Port["NET"]


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
    """Node ``number``; ``to_wire(time, frame, milestone)`` takes collective packets that are on their way to others.

    On links that are ``impaired`` packets come twice, late, and changed: what is then for nobody is counted in
    ``strays``, and no error.
    """

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
        impaired: bool = False,
    ):
        self.number = number
        self.address = address
        self.nic = nic
        self.uplink = uplink
        self.bus_in = Channel(f"node {number} host to NIC", parameters.bus_gbps, 0, overhead=0, shortest=0)
        self.bus_out = Channel(f"node {number} NIC to host", parameters.bus_gbps, 0, overhead=0, shortest=0)
        self.streams = {port: RegularStream(number, port) for port in Port}
        #: the whole node stands still
        self.dead = False
        #: packets that were for nobody any more, or for nobody at all: at leaders, and regular to the NIC
        self.strays = 0
        #: another communicator's leader, which the NIC serves too
        self.tenant: Leader | None = None
        #: takes part where the collective is done in software
        self.software: SoftwareLeader | None = None
        self._agenda = agenda
        self._parameters = parameters
        self._udp_port = config.udp_port
        self._communicator = communicator
        self._to_wire = to_wire
        self._captures = captures
        self._impaired = impaired
        #: frames that were changed on their way here
        self._changed: Counter[bytes] = Counter()
        #: frames of the collective in software that are in the NIC, with what led to them
        self._passing: dict[bytes, Milestone] = {}
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

    @property
    def busy(self) -> bool:
        """Whether the NIC has work."""
        return not (self.dead or self.nic.quiet)

    def die(self) -> None:
        """The node stands still from now on, with its NIC."""
        self.dead = True
        for leader in self.leaders:
            leader.die()

    def _inject(self, time: int, leader: LeaderProcess, frame: bytes, size: int, milestone: Milestone) -> None:
        """A leader has posted a packet: the NIC fetches it over the bus."""
        fetched = time + picoseconds(self._parameters.injection_ns(size, leader.far))
        self._agenda.plan(fetched, self._over_bus, leader, frame, milestone)

    def _over_bus(self, time: int, leader: LeaderProcess, frame: bytes, milestone: Milestone) -> None:
        # the latency of a fetch holds its own transfer, so an idle bus adds nothing
        end = self.bus_in.send(len(frame), time - self.bus_in.duration(len(frame)), time)
        self._agenda.plan(end, self._enter, HOST, frame, milestone, "injection", leader.protocol.address.queue)

    def from_wire(self, time: int, frame: bytes, milestone: Milestone, bad: bool = False) -> None:
        """A collective packet has come in from the network, ``bad`` when the MAC found its frame check wrong."""
        if bad:
            self._changed[frame] += 1
        self._enter(time, NET, frame, milestone, "wire", bad=bad)

    def _enter(
        self, time: int, port: Port, frame: bytes, milestone: Milestone, part: str, queue: int = 0, bad: bool = False
    ) -> None:
        if self.dead:
            return
        packet = parse(frame, self._udp_port)
        there = milestone.then(time, part)
        if packet is None:
            self._passing[frame] = there
        key = None if packet is None or bad else (_goes_down(packet), packet.coll_tag)
        self.nic.offer(port, frame, time, _Offered(frame, key, there), queue, bad)

    def post_software(self, time: int, frame: bytes, size: int, milestone: Milestone) -> None:
        """The first leader has posted a frame of the collective in software."""
        self._inject(time, self.leaders[0], frame, size, milestone)

    def post_tenant(self, time: int, tenant: Leader, frame: bytes) -> None:
        """Another communicator's leader sends ``frame``; ``tenant`` hears the answers."""
        self.tenant = tenant
        self._enter(time, HOST, frame, Milestone(time), "", tenant.address.queue)

    def enter_regular(self, time: int, port: Port, frame: bytes) -> None:
        """A regular frame comes in at ``port``."""
        if self.dead:
            return
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
        if left.bad and self._changed[left.frame]:
            # regular to the NIC, and thrown away by the host: its mark says that a byte is wrong
            self._changed[left.frame] -= 1
            self.strays += 1
            return
        packet = parse(left.frame, self._udp_port)
        if packet is None or not self._communicator.owns(packet) or packet.sender.mac != self.address.mac:
            self._regular_came_out(left, packet)
            return
        milestone = self._cause(packet, left.last).then(left.last, "nic")
        if left.port is NET:
            self._send(left, milestone)
        else:
            self._deliver(left, packet, milestone)

    def _send(self, left: Left, milestone: Milestone) -> None:
        arrival = self.uplink.send(len(left.frame), left.first, left.last)
        self._agenda.plan(arrival, self._to_wire, left.frame, milestone)

    def _regular_came_out(self, left: Left, packet: Packet | None) -> None:
        """A frame that the NIC did not make for this communicator."""
        if self.tenant is not None and self.tenant.hear(left.frame):
            return
        if self._impaired and packet is not None and self._communicator.owns(packet):
            self.strays += 1  # of the communicator, but it is not open here any more
        elif read_software(left.frame, self._udp_port, self._communicator) is not None:
            self._software_came_out(left)
        else:
            other = NET if left.port is HOST else HOST
            self.streams[other].leave(left.frame, left.bad)

    def _software_came_out(self, left: Left) -> None:
        milestone = self._passing.get(left.frame, Milestone(left.first)).then(left.last, "nic")
        if left.port is NET:
            self._send(left, milestone)
        elif self.software is not None:
            crossed = self.bus_out.send(len(left.frame), left.first, left.last)
            arrival = crossed + picoseconds(self._parameters.delivery_ns(len(left.frame)))
            self._agenda.plan(arrival, self.software.hear, left.frame, milestone)

    def _cause(self, packet: Packet, left: int) -> Milestone:
        # what goes down came from the parent, except at the root
        found = self._last_in.get((_goes_down(packet), packet.coll_tag)) or self._last_in.get((False, packet.coll_tag))
        if found is None and self._impaired:
            return Milestone(left)  # about a segment of a job that is over
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
        answer = None if leader.dead else leader.protocol.hear(frame)
        if answer is None and (self._impaired or leader.dead):
            self.strays += 1
            return
        if answer is None:
            raise SimulationError(
                f"node {self.number}: leader {leader.group.index} got a packet that it did not wait for"
            )
        leader.receive(time, answer, milestone.then(time, "delivery"))

    def forget(self) -> None:
        """A job is over: nothing refers to its segments any more."""
        self._last_in.clear()
        self._passing.clear()
