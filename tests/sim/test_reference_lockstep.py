"""The reference and the hardware, side by side: the same frames, the same counters, and nearly the same cycles.

Traffic is spaced so that nothing races; then the clockwork of the reference is right to a cycle or two.
"""

import dataclasses

import pytest

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.config import PRESETS
from fanfold_sim.frames import Address, Packet, build
from fanfold_sim.leader import Leader
from fanfold_sim.nic import Departure, make_nic
from fanfold_sim.records import total

TINY = PRESETS["tiny"]
NIC = Address(0x02000000FF00, 0x0A0000FE, TINY.udp_port)
PARENT = Address(0x02000000EE00, 0x0A0000EE, TINY.udp_port, ((0x8100, 7),))

#: cycles that the reference's clock may be off when nothing races
TOLERANCE = 2


def _content(departure: Departure) -> tuple:
    return departure.port, departure.frame.hex(), departure.queue, departure.bad


class Pair:
    """A reference and a simulated NIC that are given the same frames."""

    def __init__(self):
        self.model, self.hardware = make_nic("reference", TINY), make_nic("amaranth", TINY)

    def give(self, port: Port, frame: bytes, *, queue: int = 0, bad: bool = False, until: int = 40) -> list[bytes]:
        """Offers a frame and runs on; both must do the same at the same time. What came out."""
        now = max(self.model.cycle, self.hardware.cycle)
        for nic in (self.model, self.hardware):
            nic.offer(port, frame, cycle=now, queue=queue, bad=bad)
        expected, seen = (nic.run(now + until) for nic in (self.model, self.hardware))
        assert [_content(one) for one in expected] == [_content(one) for one in seen]
        for one, other in zip(expected, seen, strict=True):
            assert one.last_cycle - one.first_cycle == other.last_cycle - other.first_cycle
            assert abs(one.first_cycle - other.first_cycle) <= TOLERANCE
        assert self.model.accepted_cycles() == self.hardware.accepted_cycles()
        return [departure.frame for departure in seen]

    def agree(self) -> dict[str, int]:
        """The counters of both, but those that are 0."""
        assert self.model.counters() == self.hardware.counters()
        return {name: count for name, count in self.model.counters().items() if count}


@pytest.fixture(scope="module")
def pair():
    both = Pair()
    yield both
    both.hardware.close()


def leader(index: int, comm_id: int, **options) -> Leader:
    tags = ((0x8100, 5),) if index else ()
    here = Address(0x020000000001 + index, 0x0A000001 + index, 5000 + index, tags, queue=index)
    return Leader(here, NIC, comm_id, 0xC0FFEE, index, **options)


def test_a_life_of_a_communicator_at_the_root(pair):
    leaders = [leader(0, 2, coll_tag=(1 << 32) - 2), leader(1, 2, coll_tag=(1 << 32) - 2)]
    child = Leader(Address(0x020000000101, 0x0A000101, 777), NIC, 2, 0xC0FFEE, 2, coll_tag=(1 << 32) - 2)
    places = [(Port.HOST, leaders[0], 0), (Port.HOST, leaders[1], 1), (Port.NET, child, 0)]

    def all_give(make) -> list[bytes]:
        gone = []
        for place, (port, one, queue) in enumerate(places):
            gone += pair.give(port, make(one), queue=queue, until=220 if place == 2 else 40)
        return gone

    answers = all_give(lambda one: one.register(ranks=3, leaders=2, children=1, window=2, parent_total=3))
    assert len(answers) == 3
    for length in (0, 4, 12, 128):
        payload = bytes(range(length))
        gone = all_give(lambda one, payload=payload: one.allreduce(payload, Operator.MAX, DataType.UINT32))
        assert [frame[-length:] for frame in gone if length] == [payload] * (3 if length else 0)
    checked = leaders[0].packet(payload=bytes(8), udp_checksum="correct", ip_options=b"\1" * 8)
    for port, frame, queue in (
        (Port.HOST, build(checked), 0),
        (Port.HOST, build(checked), 0),
        (Port.HOST, build(dataclasses.replace(checked, source=1)), 0),
        (Port.HOST, build(dataclasses.replace(checked, coll_tag=checked.coll_tag + 4)), 0),
        (Port.NET, build(checked), 0),
    ):
        assert pair.give(port, frame, queue=queue, until=60) == []
    assert pair.give(Port.HOST, build(checked), bad=True) == []
    for one in leaders:
        one.coll_tag = checked.coll_tag
    pair.give(Port.HOST, leaders[1].barrier(), queue=1)
    child.coll_tag = checked.coll_tag
    gone = pair.give(Port.NET, child.barrier(), until=220)
    assert [said.status for frame in gone if (said := child.hear(frame))] == [Status.MISMATCH]
    for one in leaders:
        one.coll_tag = child.coll_tag
    assert len(all_give(lambda one: one.deregister())) == 3
    counters = pair.agree()
    assert counters["folded"] == 6 and counters["closed"] == 1


def test_a_nic_below_another(pair):
    only = leader(0, 3)
    parent = dataclasses.replace(PARENT)
    [up] = pair.give(
        Port.HOST, only.register(ranks=1, leaders=1, window=1, parent=parent, parent_index=3, parent_total=4), until=200
    )
    assert up[:6] == PARENT.mac.to_bytes(6, "big")
    refused = pair.agree().get("refused_out_of_range", 0)
    assert pair.give(Port.NET, up, until=200) == [], "a switch sends it back, and it has an answer"
    assert pair.agree()["refused_out_of_range"] == refused + 1
    beside = leader(0, 3).packet(receiver=dataclasses.replace(NIC, mac=NIC.mac + 1), collective=Collective.REGISTER)
    for payload in (b"", up[-44:]):
        assert pair.give(Port.NET, build(dataclasses.replace(beside, payload=payload)), until=200) == []
    answer = Packet(
        sender=PARENT, receiver=NIC, coll_tag_high32=0xC0FFEE, comm_id=3, coll_tag=0, collective=Collective.REGISTER,
        opt_code=Operator.SUM, data_type=DataType.UINT32, direction=Direction.DOWN, payload=total(9),
    )  # fmt: skip
    [down] = pair.give(Port.NET, build(answer), until=200)
    assert only.hear(down).ranks == 9
    pair.give(Port.HOST, only.barrier(), until=200)
    result = dataclasses.replace(answer, collective=Collective.BARRIER, payload=b"", coll_tag=1)
    [down] = pair.give(Port.NET, build(result), until=200)
    assert only.hear(down).ok
    assert pair.give(Port.NET, build(result)) == []
    pair.agree()


def test_regular_frames(pair):
    for number, frame in enumerate((b"x", bytes(60), bytes.fromhex("ff" * 12 + "0806") + bytes(100), bytes(24))):
        for port in Port:
            assert pair.give(port, frame, queue=number, bad=number == 2, until=60) == [frame]
    pair.agree()
