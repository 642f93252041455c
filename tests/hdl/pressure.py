"""Collectives as fast as their windows allow, with what is refused among them, beside regular frames that are timed."""

import random
from dataclasses import dataclass, field, replace

from fanfold.codes import Collective, DataType, Direction, Operator, Port
from fanfold.config import Config
from fanfold.control.description import by_name
from fanfold_sim.frames import Address, Packet, build
from fanfold_sim.leader import Leader
from fanfold_sim.records import total
from fanfold_sim.simulators.verilator import VerilatorNic

__all__ = ["LONG_WINDOWS", "WIDE", "Pressure", "longest_packet"]

#: long windows and a short receive buffer: what has to wait does not fit into it
LONG_WINDOWS = Config(
    beat_bytes=8,
    contributors=8,
    contexts=4,
    window=8,
    segment_bytes=1024,
    operators=(Operator.SUM,),
    types=(DataType.INT32,),
    frame_bytes=1536,
)
WIDE = Config(
    beat_bytes=64,
    contributors=4,
    contexts=2,
    window=2,
    segment_bytes=256,
    operators=(Operator.SUM, Operator.MAX),
    types=(DataType.UINT8, DataType.INT32),
)
#: cycles that run at a time
_STEP = 10
_REGULAR_BYTES = (60, 61, 100)


def longest_packet(config: Config) -> int:
    """Beats of the longest packet that a NIC builds for an address without VLAN tags."""
    return -(-(64 + config.segment_bytes) // config.beat_bytes)


@dataclass
class Pressure:
    """A NIC with communicators of ``leaders`` and ``children``, one in each context but for ``spare`` ones.

    ``delays`` are the cycles of each regular frame from its place on an unhindered wire to its departure, by the port
    at which it left, and ``passed`` are these frames; ``answered`` counts the answers to leaders and children,
    ``others`` are the frames that are neither.
    """

    config: Config
    leaders: int
    children: int = 0
    spare: int = 0
    parent: Address | None = None
    passed: dict[Port, list[bytes]] = field(default_factory=lambda: {port: [] for port in Port})
    delays: dict[Port, list[int]] = field(default_factory=lambda: {port: [] for port in Port})
    answered: int = 0
    others: list = field(default_factory=list)

    def __post_init__(self):
        self.nic = VerilatorNic(self.config)
        self._free = dict.fromkeys(Port, 0)
        self._choices = random.Random(1)
        self._sent: dict[bytes, int] = {}
        self._serial = 0
        self.groups = [self._group(number) for number in range(self.config.contexts - self.spare)]
        for group in self.groups:
            for member in group:
                self.send(self.port(member), self.registration(member), member.address.queue)
                self.run(300)
            if self.parent:
                self.send(Port.NET, build(self._parents_answer(group[0])))
                self.run(300)
        assert self.answered == sum(map(len, self.groups))

    def _group(self, number: int) -> list[Leader]:
        here = Address(0x02000000FF00 + number, 0x0A0000FE + number, self.config.udp_port)
        return [
            Leader(
                Address(
                    0x020000001000 + 256 * number + index,
                    0x0A001000 + 256 * number + index,
                    5000 if index < self.leaders else self.config.udp_port,
                    queue=index if index < self.leaders else 0,
                ),
                here,
                number,
                7 + number,
                index,
            )
            for index in range(self.leaders + self.children)
        ]

    def registration(self, member: Leader) -> bytes:
        window = self.config.window
        total = self.leaders + self.children  # where the member is a child
        return member.register(
            ranks=1, leaders=self.leaders, children=self.children, window=window, parent=self.parent, parent_total=total
        )

    def _parents_answer(self, member: Leader) -> Packet:
        return Packet(
            sender=self.parent,
            receiver=member.nic_address,
            coll_tag_high32=member.key,
            comm_id=member.comm_id,
            collective=Collective.REGISTER,
            opt_code=Operator.SUM,
            data_type=DataType.UINT32,
            direction=Direction.DOWN,
            payload=total(len(self.groups[0])),
        )

    def port(self, member: Leader) -> Port:
        return Port.HOST if member.index < self.leaders else Port.NET

    def send(self, port: Port, frame: bytes, queue: int = 0, cycle: int = 0) -> int:
        """The next frame at a port, behind the one before, or when it is due; its first cycle on an unhindered wire."""
        first = max(cycle, self.nic.cycle, self._free[port])
        self._free[port] = first - (-len(frame) // self.config.beat_bytes)
        self.nic.offer(port, frame, cycle=first, queue=queue)
        return first

    def regular(self, port: Port, cycle: int = 0) -> bytes:
        """A regular frame, all different."""
        frame = b"\x02" + self._serial.to_bytes(8, "big") + bytes(self._choices.choice(_REGULAR_BYTES) - 9)
        self._serial += 1
        self._sent[frame] = self.send(port, frame, cycle=cycle)
        return frame

    def run(self, cycles: int) -> None:
        """Runs, and sorts what leaves."""
        for left in self.nic.run(self.nic.cycle + cycles):
            if left.frame in self._sent:
                self.passed[left.port].append(left.frame)
                self.delays[left.port].append(left.first_cycle - self._sent.pop(left.frame))
                continue
            answers = [member.hear(left.frame) for group in self.groups for member in group]
            heard = [answer for answer in answers if answer is not None]
            assert all(answer.ok for answer in heard)
            self.answered += len(heard)
            if not heard:
                self.others.append(left)

    def contribute(self, members: list[Leader], ports: tuple[Port, ...] = tuple(Port)) -> None:
        """Everyone sends whose window allows it, while the wire is free."""
        for member in self._choices.sample(members, len(members)):
            port = self.port(member)
            if port in ports and member.may_send and self._free[port] < self.nic.cycle + 3 * _STEP:
                payload = bytes(self.config.segment_bytes)
                self.send(port, member.allreduce(payload, Operator.SUM, DataType.INT32), member.address.queue)

    def offend(self, members: list[Leader]) -> None:
        """Someone sends what is refused: again, too early, from elsewhere, or to register once more."""
        member = self._choices.choice(members)
        good = member.packet(payload=bytes(self.config.segment_bytes))
        wrong = self._choices.choice(
            (
                replace(good, coll_tag=(good.coll_tag - 1) % (1 << 32)),
                replace(good, coll_tag=(good.coll_tag + 3 * self.config.window) % (1 << 32)),
                replace(good, sender=replace(good.sender, ip=1)),
                replace(good, source=0x7FFF),
                replace(good, direction=Direction.DOWN),
            )
        )
        self.send(self.port(member), build(wrong), member.address.queue)

    def flood(self, cycles: int, gap: tuple[int, int]) -> dict[Port, int]:
        """Whole segments that are refused for their sequence number, back to back at both ports but for regular frames
        ``gap`` cycles apart; how many of them were sent."""
        begun = self.nic.cycle
        due = dict.fromkeys(Port, begun)
        sent = dict.fromkeys(Port, 0)
        members = {port: [each for each in self.groups[0] if self.port(each) is port] for port in Port}
        while self.nic.cycle < begun + cycles:
            for port in Port:
                while self._free[port] < self.nic.cycle + 2 * _STEP:
                    if due[port] <= self._free[port]:
                        self.regular(port)
                        due[port] += self._choices.randrange(*gap)
                    else:
                        member = self._choices.choice(members[port])
                        good = member.packet(payload=bytes(self.config.segment_bytes))
                        early = replace(good, coll_tag=(good.coll_tag + 3 * self.config.window) % (1 << 32))
                        self.send(port, build(early), member.address.queue)
                        sent[port] += 1
            self.run(_STEP)
        self.settle()
        return sent

    def everything(self, cycles: int, gap: tuple[int, int], collectives: bool, stalled: bool = False) -> None:
        """Regular frames ``gap`` cycles apart at both ports for a while, with or without collectives in between.

        With ``stalled`` one member of the first communicator is silent in the first half; then the host releases the
        communicator, whose segments never end.
        """
        begun = self.nic.cycle
        due = dict.fromkeys(Port, begun)
        members = [member for group in self.groups for member in group]
        working = [member for member in members if not (stalled and member is members[0])]
        released = not stalled
        while self.nic.cycle < begun + cycles:
            for port in Port:
                while due[port] < self.nic.cycle + 2 * _STEP:
                    self.regular(port, due[port])
                    due[port] += self._choices.randrange(*gap)
            if collectives:
                if not released and self.nic.cycle > begun + cycles // 2:
                    self.nic.write_register(by_name(self.config)["release"].address, 0)
                    released = True
                    working = [member for member in members if member not in self.groups[0]]
                self.contribute(working)
                if self._choices.random() < 0.05:
                    self.offend(working)
            self.run(_STEP)
        self.settle()

    def settle(self) -> None:
        """Runs until nothing moves any more."""
        for _ in range(600):
            self.run(200)
            if self.nic.quiet:
                return
        raise TimeoutError("the NIC does not get quiet")
