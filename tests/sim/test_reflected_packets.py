"""A switch sends a NIC's own packets back to it: they are regular, and none of them is folded again.

The direction follows the port, never the tag alone. A NIC that does not know its address refuses registrations.
"""

import dataclasses

import pytest

from fanfold.codes import DataType, Direction, Operator, Port
from fanfold.config import PRESETS
from fanfold_sim.frames import Address, Packet, build, parse
from fanfold_sim.leader import Leader
from fanfold_sim.reference.core import Core
from fanfold_sim.reference.outgoing import Envelopes

TINY = PRESETS["tiny"]
NIC = Address(mac=0x0200_0000_00FE, ip=0x0A00_00FE, port=TINY.udp_port)
PARENT = Address(mac=0x0200_0000_00AA, ip=0x0A00_00AA, port=TINY.udp_port)
CHILD = Address(mac=0x0200_0000_00CC, ip=0x0A00_00CC, port=TINY.udp_port)
LEADER = Address(mac=0x0200_0000_0001, ip=0x0A00_0001, port=5000, queue=3)
DATA = bytes(range(8))


class Nic:
    """A NIC with a leader and a child, under a parent whose contributor 1 it is, as is its own child here."""

    def __init__(self, local_mac: int = 0):
        self.core = Core(TINY)
        self.core.local_mac = local_mac
        self.leader, self.child = Leader(LEADER, NIC, 1, 0xF01D, 0), Leader(CHILD, NIC, 1, 0xF01D, 1)

    def take(self, port: Port, frame: bytes) -> list[tuple[Port, bytes]]:
        """What the NIC sends because of ``frame``."""
        packet = self.core.classify(port, frame, queue=LEADER.queue if port is Port.HOST else 0).packet
        outgoing = self.core.accept(port, packet) if packet else []
        for each in outgoing:
            self.core.sent(each)
        return [(each.port, Envelopes(TINY.udp_port).frame(each)) for each in outgoing]

    def refused(self) -> int:
        return sum(count for name, count in self.core.counters().items() if name.startswith("refused_"))

    def send_back(self, sent: list[tuple[Port, bytes]], refused: bool = False) -> None:
        """What went to the network comes back, and is regular, or ``refused``."""
        frames = [frame for port, frame in sent if port is Port.NET]
        assert frames, "nothing went to the network"
        before = self.refused(), self.core.counters()["folded"], self.core.counters()["net_unmatched"]
        for frame in frames:
            assert self.take(Port.NET, frame) == [], "a packet of its own has an answer"
        after = self.refused(), self.core.counters()["folded"], self.core.counters()["net_unmatched"]
        assert after == (before[0] + len(frames) * refused, before[1], before[2] + len(frames) * (not refused))


def answer(sent: list[tuple[Port, bytes]], payload: bytes) -> bytes:
    """The parent's answer to the one packet that went up."""
    [(port, frame)] = sent
    up = parse(frame, TINY.udp_port)
    assert up is not None and port is Port.NET and up.direction is Direction.UP
    kept = {name: getattr(up, name) for name in ("coll_tag_high32", "coll_tag", "comm_id", "opt_code", "data_type")}
    down = Packet(
        sender=PARENT,
        receiver=dataclasses.replace(up.sender, tags=()),
        collective=up.collective,
        direction=Direction.DOWN,
        source=up.source,
        payload=payload,
        **kept,
    )
    return build(down)


@pytest.mark.parametrize("local_mac", (0, NIC.mac))
def test_nothing_that_comes_back_does_harm(local_mac):
    nic = Nic(local_mac)
    record = dict(leaders=1, children=1, parent=PARENT, parent_index=1)
    assert nic.take(Port.HOST, nic.leader.register(ranks=4, window=2, **record)) == []
    registered = nic.take(Port.NET, nic.child.register(ranks=4, leaders=1, window=2, parent_total=2))
    nic.send_back(registered, refused=not local_mac)
    opened = nic.take(Port.NET, answer(registered, (8).to_bytes(4, "little")))
    nic.send_back(opened, refused=not local_mac)
    assert nic.core.counters()["opened"] == 1
    for turn in range(3):
        assert nic.take(Port.NET, nic.child.allreduce(DATA, Operator.SUM, DataType.UINT32)) == []
        folded = nic.take(Port.HOST, nic.leader.allreduce(DATA, Operator.SUM, DataType.UINT32))
        nic.send_back(folded)
        results = nic.take(Port.NET, answer(folded, DATA))
        nic.send_back(results)
        assert [port for port, _ in results] == [Port.HOST, Port.NET]
        assert nic.core.counters()["results"] == turn + 1


def test_a_result_from_the_host_is_refused():
    nic = Nic()
    down = nic.leader.packet(direction=Direction.DOWN, payload=DATA)
    assert nic.take(Port.HOST, build(dataclasses.replace(down, collective=0))) == []
    assert nic.core.counters()["refused_wrong_source"] == 1
