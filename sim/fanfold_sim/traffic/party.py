"""A communicator in the midst of hostile traffic: who must send what next, and which packets could change its state."""

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from fanfold.codes import Collective, DataType, Direction, Operator, Port
from fanfold.config import Config

from ..frames import Address, Packet
from ..leader import Leader
from ..records import record, total
from .payloads import corner_payload

__all__ = ["Party"]

_TAGS = ((0x8100, 0x0064), (0x88A8, 0x2003))
_SEQUENCE = 1 << 32


class Party:
    """One communicator at a NIC: ``leaders`` at the host port, the other contributors as children at the network port,
    and a parent or not. Its packets come in *stages*: those of one stage come in at one port, and the NIC must be done
    with all of them before the next stage begins.
    """

    def __init__(self, config: Config, number: int, comm_id: int, leaders: int, contributors: int, parented: bool):
        self._config = config
        base = 0x0A000000 + (number % 4096 << 12)
        self.comm_id, self.key = comm_id, 0xC0DE0000 + number
        self.nic = Address(mac=0x02_0000_000000 + base, ip=base, port=config.udp_port)
        self.parent = Address(0x02_0000_100000 + base, base + 1, config.udp_port + 1, _TAGS[: number % 3])
        self._parented = parented
        self._leaders = leaders
        tag = (0, 1000, 0xFFFFFFFE)[number % 3]
        self.members = [
            Leader(
                Address(
                    mac=0x02_0000_200000 + base + 16 * index,
                    ip=base + 0x100 + 16 * index,
                    port=6000 + index if index < leaders else config.udp_port,
                    tags=_TAGS[: (number + index) % 3],
                    queue=(3 * index + number) % (1 << config.queue_bits) if index < leaders else 0,
                ),
                self.nic,
                comm_id,
                self.key,
                index,
                coll_tag=tag,
            )
            for index in range(contributors)
        ]
        self._stages: deque[tuple[Port, deque[Packet]]] = deque()
        self._first = tag  # sequence number of the window's first segment
        self._stages.extend(self._registration())
        #: its registrations, and the parent's answer
        self.registrations = [packet for _, packets in self._stages for packet in packets]

    # ----------------------------------------------------------------------------------------------- what it must send

    @property
    def port(self) -> Port:
        """Where the packets of this stage come in."""
        return self._stages[0][0] if self._stages else Port.HOST

    @property
    def due(self) -> Packet | None:
        """The next packet of this stage; ``None`` when it is over."""
        return self._stages[0][1][0] if self._stages and self._stages[0][1] else None

    @property
    def stages_left(self) -> int:
        """Stages of this window, or of the registration, that come after this one."""
        return max(0, len(self._stages) - 1)

    def sent(self) -> None:
        """The packet that was due is on its way."""
        self._stages[0][1].popleft()

    def go_on(self, choices: random.Random, *, leave: bool = False) -> None:
        """The NIC is done with this stage: the next one begins, perhaps of another window, or of the last segment."""
        if self._stages:
            self._stages.popleft()
        if not self._stages:
            shapes = (
                [{"collective": Collective.DEREGISTER}]
                if leave
                else [self._shape(choices) for _ in range(self._config.window)]
            )
            self._stages.extend(self._window(choices, shapes))

    def _registration(self) -> Iterator[tuple[Port, deque[Packet]]]:
        """Everyone enrols, one after another, and the parent answers."""
        payload = record(
            ranks=3,
            leaders=self._leaders,
            children=len(self.members) - self._leaders,
            window=self._config.window,
            parent=self.parent if self._parented else None,
            parent_index=5,
            parent_total=len(self.members),
        )
        fields = dict(collective=Collective.REGISTER, opt_code=Operator.SUM, data_type=DataType.UINT32)
        for member in self.members:
            yield self._port(member), deque([member.packet(**fields, payload=payload)])
            member.coll_tag = (member.coll_tag + 1) % _SEQUENCE
        if self._parented:
            yield Port.NET, deque([self.answer(self._first, **fields, payload=total(999))])

    def _window(self, choices: random.Random, shapes: list[dict]) -> Iterator[tuple[Port, deque[Packet]]]:
        """All contributions of one port, those of the other, and the parent's answers."""
        self._first = self.members[0].coll_tag
        ports = [Port.HOST, Port.NET]
        choices.shuffle(ports)
        for port in ports:
            members = [member for member in self.members if self._port(member) is port]
            left = [(member, iter(shapes)) for member in members]
            packets: deque[Packet] = deque()
            while left:
                member, mine = one = choices.choice(left)
                if (shape := next(mine, None)) is None:
                    left.remove(one)
                    continue
                packets.append(member.packet(**self._filled(choices, shape)))
                member.coll_tag = (member.coll_tag + 1) % _SEQUENCE
            if packets:
                yield port, packets
        if self._parented:
            answers = [
                self.answer((self._first + at) % _SEQUENCE, **self._filled(choices, shape))
                for at, shape in enumerate(shapes)
            ]
            yield Port.NET, deque(choices.sample(answers, len(answers)))

    def _shape(self, choices: random.Random) -> dict:
        """What a segment is: its collective, operator, type, and a payload of the right length."""
        if choices.random() < 0.2:
            return {"collective": Collective.BARRIER}
        operator, data_type = choices.choice(self._config.pairs)
        most, width = self._config.segment_bytes, self._config.beat_bytes
        length = choices.choice((0, 4, width, width + 4, choices.randrange(most), most))
        length = min(most, max(length - length % data_type.element_bytes, data_type.element_bytes if length else 0))
        return {"opt_code": operator, "data_type": data_type, "payload": bytes(length)}

    def _filled(self, choices: random.Random, shape: dict) -> dict:
        """The same with a payload of one sender, and a UDP checksum or none."""
        data_type = shape.get("data_type", DataType.UINT8)
        payload = corner_payload(choices, data_type, len(shape.get("payload", b"")))
        return {**shape, "payload": payload, "udp_checksum": choices.choice((None, "correct"))}

    def answer(self, tag: int, **fields) -> Packet:
        """What the parent sends down for a segment."""
        return Packet(
            sender=self.parent,
            receiver=self.nic,
            coll_tag_high32=self.key,
            coll_tag=tag,
            comm_id=self.comm_id,
            direction=Direction.DOWN,
            source=5,
            **fields,
        )

    def copy(self, choices: random.Random) -> Packet:
        """What the NIC itself sends for a segment of this window, to a member or to the parent."""
        tag = (self._first + choices.randrange(self._config.window)) % _SEQUENCE
        member = choices.choice(self.members)
        down = self.answer(tag, payload=choices.randbytes(4 * choices.randrange(4)))
        if self._parented and choices.random() < 0.5:
            return replace(down, sender=self.nic, receiver=self.parent, direction=Direction.UP)
        return replace(down, sender=self.nic, receiver=member.address, source=member.index)

    def _port(self, member: Leader) -> Port:
        return Port.HOST if member.index < self._leaders else Port.NET

    # ------------------------------------------------------------------------------------- what could change its state

    def minds_order(self, port: Port, packet: Packet) -> bool:
        """Whether it makes a difference what comes before ``packet`` at the *other* port, or how far the NIC has got.

        Most of what is refused is refused for what it is, whenever it comes.
        """
        if (packet.comm_id, packet.coll_tag_high32) != (self.comm_id, self.key):
            return False
        if packet.direction is Direction.DOWN:
            known = port is Port.NET and self._parented and _same(packet.sender, self.parent)
        else:
            mine = self.members[packet.source] if packet.source < len(self.members) else None
            known = mine is not None and self._port(mine) is port and _same(packet.sender, mine.address)
        if not known:
            return False
        in_window = (packet.coll_tag - self._first) % _SEQUENCE < self._config.window
        lawful = bool(self._stages) and port is self.port and in_window
        return not lawful or packet.collective is Collective.DEREGISTER


def _same(one: Address, other: Address) -> bool:
    return (one.mac, one.ip, one.port) == (other.mac, other.ip, other.port)
