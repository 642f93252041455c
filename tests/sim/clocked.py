"""The function of the reference with a clock by hand, for tests that count ticks."""

import struct

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.config import PRESETS
from fanfold_sim.frames import Address, Packet, build, parse
from fanfold_sim.nic import Timing
from fanfold_sim.records import record, total
from fanfold_sim.reference.core import Core
from fanfold_sim.reference.outgoing import Envelopes, Outgoing

TINY = PRESETS["tiny"]
NIC = Address(0x02000000FF00, 0x0A0000FE, TINY.udp_port)
PARENT = Address(0x02000000EE00, 0x0A0000EE, 777)
NODE = 0x01020304
REGISTER = dict(collective=Collective.REGISTER, opt_code=Operator.SUM, data_type=DataType.UINT32, coll_tag=5)
#: the first segment on each of the two slots
FIRST, SECOND = 6, 7


def place(index: int) -> Address:
    """Where contributor ``index`` is."""
    return Address(0x020000000000 + index, 0x0A000000 + index, 5000 + index)


def absence(contributor: int, count: int, missing: int) -> bytes:
    """A whole fault, found by this NIC."""
    return struct.pack("<IHHQQ", NODE, contributor, count, missing, 0)


class Clocked:
    """A NIC's function with a clock by hand: leaders 0 and 1 and child 2. What it sends has left at once, or stays
    under way until ``leave``."""

    def __init__(self, *, parent: bool = False, holds: bool = False, **timing: int | bool):
        self.core = Core(TINY)
        self.core.deadlines.timing = Timing(**timing)
        self.parent = parent
        self.holds = holds
        self.held: list[Outgoing] = []

    @property
    def now(self) -> int:
        return self.core.deadlines.now

    def take(self, port: Port, **fields) -> list[Packet]:
        base = dict(receiver=NIC, comm_id=1, coll_tag_high32=9, coll_tag=FIRST)
        verdict = self.core.classify(port, build(Packet(**{**base, **fields})))
        assert verdict.packet is not None, verdict.reason
        return self._leave(self.core.accept(port, verdict.packet))

    def send(self, index: int, **fields) -> list[Packet]:
        port = Port.HOST if index < 2 else Port.NET
        return self.take(port, **{**dict(sender=place(index), source=index, payload=bytes(8)), **fields})

    def answer(self, **fields) -> list[Packet]:
        return self.take(Port.NET, **{**dict(sender=PARENT, source=3, direction=Direction.DOWN), **fields})

    def register(self, *indices: int, **says) -> list[Packet]:
        parent = PARENT if self.parent else None
        whole = dict(ranks=1, node=NODE, leaders=2, children=1, window=2, parent=parent, parent_index=3, parent_total=3)
        payload = record(**{**whole, **says})
        return [packet for index in indices for packet in self.send(index, payload=payload, **REGISTER)]

    def open(self, **says) -> "Clocked":
        packets = self.register(0, 1, 2, **says)
        if self.parent:
            packets = self.answer(payload=total(40), **REGISTER)
        assert [packet.status for packet in packets] == [Status.OK] * 3
        return self

    def wait(self, ticks: int) -> list[tuple[int, Packet]]:
        """What the NIC sends of its own in the ticks from now on, each packet with its tick."""
        found = []
        for _ in range(ticks):
            self.core.deadlines.now += 1
            for batch in self.core.overdue():
                found += [(self.now, packet) for packet in self._leave(batch)]
        return found

    def _leave(self, sends: list[Outgoing]) -> list[Packet]:
        self.held += sends
        if not self.holds:
            self.leave()
        frames = [Envelopes(TINY.udp_port).frame(each) for each in sends]
        return [parse(frame, each.remote.port) for frame, each in zip(frames, sends, strict=True)]

    def leave(self) -> None:
        for each in self.held:
            self.core.sent(each)
        self.held = []

    def counts(self, *names: str) -> tuple[int, ...]:
        counters = self.core.counters()
        return tuple(counters[name] for name in names)


def said(packets: list[Packet]) -> list[tuple]:
    """Who hears what."""
    return [(packet.source, packet.status, packet.payload) for packet in packets]


def when(found: list[tuple[int, Packet]]) -> list[tuple]:
    """Who hears what, in which tick."""
    return [(tick, packet.source, packet.status, packet.payload) for tick, packet in found]


def deregister(nic: Clocked) -> None:
    """All contributors end the communicator, with the first segment."""
    for index in range(3):
        nic.send(index, collective=Collective.DEREGISTER, payload=b"")
