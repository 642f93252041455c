"""Three NICs at a switch that sends every frame to every port: each folds what is its own and leaves the rest alone."""

from dataclasses import dataclass, field

import pytest

from fanfold.codes import DataType, Operator, Port, Status
from fanfold.config import PRESETS
from fanfold_sim.frames import Address
from fanfold_sim.leader import Answer, Leader
from fanfold_sim.nic import Nic, make_nic
from fanfold_sim.toolchain import has_compiler

TINY = PRESETS["tiny"]
MAKERS = [
    "reference",
    pytest.param(
        "verilator", marks=pytest.mark.skipif(not has_compiler(), reason="Verilated models need a C++ compiler")
    ),
]
COMM_ID, KEY = 5, 0xC0FFEE
#: cycles that all NICs run before frames are exchanged, and how often that may happen until all are quiet
_STEP, _STEPS = 40, 400


@dataclass
class Node:
    """A NIC and its two leaders; what came out at its host port for nobody there."""

    number: int
    nic: Nic
    address: Address
    leaders: list[Leader] = field(default_factory=list)
    answers: list[Answer | None] = field(default_factory=lambda: [None, None])
    strange: list[bytes] = field(default_factory=list)

    def hear(self, frame: bytes, queue: int) -> None:
        for at, leader in enumerate(self.leaders):
            if queue == leader.address.queue and (answer := leader.hear(frame)):
                self.answers[at] = answer
                return
        self.strange.append(frame)


class Segment:
    """NIC 0 is the root, the others are its children: contributors 2 and 3. All frames are on one wire."""

    def __init__(self, maker: str, addressed: bool):
        self.frames: list[bytes] = []
        self.nodes = [self._node(number, make_nic(maker, TINY), addressed) for number in range(3)]

    def _node(self, number: int, nic: Nic, addressed: bool) -> Node:
        address = Address(mac=0x0200_0000_00F0 + number, ip=0x0A00_00F0 + number, port=TINY.udp_port)
        node = Node(number, nic, address)
        for index in range(2):
            here = Address(
                0x0200_0000_0010 * (number + 1) + index, 0x0A00_0010 * (number + 1) + index, 5000, queue=index
            )
            node.leaders.append(Leader(here, address, COMM_ID, KEY, index))
        if addressed:
            nic.set_local_mac(address.mac)
        return node

    def register(self, node: Node) -> None:
        """Both leaders of a node register."""
        root = self.nodes[0]
        place = (
            dict(children=2)
            if node is root
            else dict(parent=root.address, parent_index=node.number + 1, parent_total=4, children=0)
        )
        for leader in node.leaders:
            self.offer(node, leader, leader.register(ranks=10, leaders=2, window=2, node=node.number, **place))

    def offer(self, node: Node, leader: Leader, frame: bytes) -> None:
        node.nic.offer(Port.HOST, frame, cycle=node.nic.cycle, queue=leader.address.queue)

    def settle(self) -> None:
        """Runs until nothing moves; every frame on the wire comes to every NIC, its sender among them."""
        for _ in range(_STEPS):
            sent = []
            for node in self.nodes:
                for left in node.nic.run(node.nic.cycle + _STEP):
                    assert not left.bad
                    if left.port is Port.NET:
                        sent.append(left.frame)
                    else:
                        node.hear(left.frame, left.queue)
            for frame in sent:
                for node in self.nodes:
                    node.nic.offer(Port.NET, frame, cycle=node.nic.cycle)
            self.frames += sent
            if not sent and all(node.nic.quiet for node in self.nodes):
                return
        raise AssertionError("the segment does not come to rest")

    def close(self) -> None:
        for node in self.nodes:
            node.nic.close()


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_all_reduce_over_a_wire_that_all_share(maker, order):
    segment = Segment(maker, addressed=True)
    nodes = segment.nodes
    for number in order:
        segment.register(nodes[number])
        segment.settle()
    assert [answer and answer.ranks for node in nodes for answer in node.answers] == [60] * 6

    for turn in range(3):
        vectors = [[turn + 100 * number + index, 7] for number in range(3) for index in range(2)]
        total = b"".join(sum(column).to_bytes(4, "little") for column in zip(*vectors, strict=True))
        for node in nodes:
            for index, leader in enumerate(node.leaders):
                payload = b"".join(value.to_bytes(4, "little") for value in vectors[2 * node.number + index])
                segment.offer(node, leader, leader.allreduce(payload, Operator.SUM, DataType.UINT32))
        segment.settle()
        assert [answer and answer.payload for node in nodes for answer in node.answers] == [total] * 6

    for node in nodes:
        for leader in node.leaders:
            segment.offer(node, leader, leader.deregister())
    segment.settle()
    for node in nodes:
        mine = node.address.mac.to_bytes(6, "big")
        assert node.strange == [frame for frame in segment.frames if frame[:6] != mine], "what is for others passes"
        counters = node.nic.counters()
        assert not {name: count for name, count in counters.items() if name.startswith("refused_") and count}
        assert counters["net_unmatched"] == len(node.strange) > 0
        assert (counters["opened"], counters["folded"], counters["closed"]) == (1, 4, 1)
    segment.close()


def test_without_its_address_a_nic_takes_another_ones_registrations():
    """The first child's registration enrols at the second as well, whose own leaders then do not fit beside it."""
    segment = Segment("reference", addressed=False)
    for number in (1, 2):
        segment.register(segment.nodes[number])
        segment.settle()
    assert [answer and answer.status for answer in segment.nodes[2].answers] == [Status.OUT_OF_RANGE] * 2
    segment.close()
