"""The reference NIC at work: whole collectives, one NIC and a tree of them, frames passed by hand."""

import dataclasses
import itertools
import re
import struct
import time

import pytest

from fanfold.codes import Collective, DataType, Operator, Port, Status
from fanfold.config import PRESETS, Config
from fanfold.wire import HEADER_BYTES, RECORD
from fanfold_sim.frames import Address, parse
from fanfold_sim.leader import Leader
from fanfold_sim.nic import Timing, make_nic
from fanfold_sim.reference.nic import ReferenceNic

TINY = PRESETS["tiny"]
NIC = Address(0x02000000FF00, 0x0A0000FE, TINY.udp_port)
KEY, COMM = 0xC0FFEE00, 4


def leaders_of(count: int, nic: Address = NIC, **options) -> list[Leader]:
    return [
        Leader(
            Address(nic.mac - 256 + index, nic.ip - 100 + index, 5000 + index, queue=index),
            nic,
            COMM,
            KEY,
            index,
            **options,
        )
        for index in range(count)
    ]


def settle(nic: ReferenceNic) -> list:
    """Everything that comes out until nothing moves."""
    gone = []
    for _ in range(1000):
        if nic.quiet:
            return gone
        gone += nic.run(nic.cycle + 100)
    raise AssertionError("the NIC never gets quiet")


def give(nic: ReferenceNic, port: Port, frame: bytes, queue: int = 0, bad: bool = False) -> list:
    nic.offer(port, frame, cycle=nic.cycle, queue=queue, bad=bad)
    return settle(nic)


def give_all(nic: ReferenceNic, leaders: list[Leader], frames: list[bytes]) -> list:
    gone = []
    for leader, frame in zip(leaders, frames, strict=True):
        gone += give(nic, Port.HOST, frame, leader.address.queue)
    return gone


def hear_all(leaders: list[Leader], departures: list) -> list:
    """What each leader hears; every departure must be for exactly one of them, at its queue."""
    heard = {}
    for departure in departures:
        assert departure.port is Port.HOST and not departure.bad
        [(leader, answer)] = [(one, said) for one in leaders if (said := one.hear(departure.frame)) is not None]
        assert departure.queue == leader.address.queue
        heard[leader.index] = answer
    return [heard.get(leader.index) for leader in leaders]


def opened(nic: ReferenceNic, count: int, **options) -> list[Leader]:
    leaders = leaders_of(count, **options)
    frames = [leader.register(ranks=10 + leader.index, leaders=count, window=2) for leader in leaders]
    answers = hear_all(leaders, give_all(nic, leaders, frames))
    assert [answer.ranks for answer in answers] == [sum(range(10, 10 + count))] * count
    return leaders


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def test_two_leaders_at_one_root():
    nic = ReferenceNic(TINY)
    leaders = opened(nic, 2)
    gone = give(nic, Port.HOST, leaders[0].allreduce(floats(1, 2), Operator.SUM, DataType.FLOAT32), 0)
    assert gone == []
    gone = give(nic, Port.HOST, leaders[1].allreduce(floats(3, 5), Operator.SUM, DataType.FLOAT32), 1)
    answers = hear_all(leaders, gone)
    assert [answer.payload for answer in answers] == [floats(4, 7)] * 2
    assert all(answer.ok and answer.collective is Collective.ALLREDUCE and answer.coll_tag == 1 for answer in answers)
    packet = parse(gone[0].frame, 5000)
    assert (packet.source, packet.opt_code, packet.data_type) == (0, Operator.SUM, DataType.FLOAT32)
    assert (packet.sender, packet.time_to_live, packet.fragment) == (NIC, 64, 0x4000)
    assert (packet.udp_checksum, packet.error, packet.repeat) == (None, 0, 0)
    counters = {name: count for name, count in nic.counters().items() if count}
    assert counters == {"host_tagged": 4, "host_copies": 4, "opened": 1, "contributions": 2, "folded": 1}


def test_the_bits_do_not_depend_on_the_order_of_arrival():
    values = (1e8, 1.0, -1e8, 0.5)  # in the tree 1e8 and -1e8 swallow their partners; one after another 0.5 is left
    seen = set()
    for order in itertools.permutations(range(4)):
        nic = ReferenceNic(TINY)
        leaders = opened(nic, 4)
        frames = [leader.allreduce(floats(values[leader.index]), Operator.SUM, DataType.FLOAT32) for leader in leaders]
        gone = list(itertools.chain(*(give(nic, Port.HOST, frames[index], index) for index in order)))
        seen |= {answer.payload for answer in hear_all(leaders, gone)}
    assert seen == {floats(0)}


def test_a_barrier_and_a_deregistration_then_another_registration():
    nic = ReferenceNic(TINY)
    leaders = opened(nic, 2)
    assert all(answer.ok for answer in hear_all(leaders, give_all(nic, leaders, [one.barrier() for one in leaders])))
    answers = hear_all(leaders, give_all(nic, leaders, [one.deregister() for one in leaders]))
    assert [answer.collective for answer in answers] == [Collective.DEREGISTER] * 2
    assert nic.counters()["closed"] == 1
    stray = leaders[0].barrier()
    gone = give(nic, Port.HOST, stray, 0)
    assert [(one.port, one.frame) for one in gone] == [(Port.NET, stray)]
    assert nic.counters()["host_unmatched"] == nic.counters()["host_regular"] == 1
    opened(nic, 2, coll_tag=77)
    assert nic.counters()["opened"] == 2


def test_sequence_numbers_go_round():
    nic = ReferenceNic(TINY)
    leaders = opened(nic, 2, coll_tag=(1 << 32) - 3)
    tags = []
    for _ in range(6):
        answers = hear_all(leaders, give_all(nic, leaders, [one.barrier() for one in leaders]))
        assert all(answer.ok for answer in answers)
        tags.append(answers[0].coll_tag)
    assert tags == [0xFFFFFFFE, 0xFFFFFFFF, 0, 1, 2, 3]


def test_segments_of_a_window_complete_in_any_order():
    nic = ReferenceNic(TINY)
    leaders = opened(nic, 2)
    first, second = ([one.barrier() for one in leaders] for _ in range(2))
    assert not leaders[0].may_send
    give(nic, Port.HOST, first[0], 0)
    done = give_all(nic, leaders, second)
    assert [answer.coll_tag for answer in hear_all(leaders, done)] == [2, 2]
    assert not leaders[0].may_send
    done = give(nic, Port.HOST, first[1], 1)
    assert [answer.coll_tag for answer in hear_all(leaders, done)] == [1, 1]
    assert leaders[0].may_send


@dataclasses.dataclass
class Tree:
    """A root NIC with two leaders and one child NIC with two: frames between them are passed by hand."""

    root: ReferenceNic
    child: ReferenceNic
    root_leaders: list[Leader]
    child_leaders: list[Leader]

    ROOT_NIC = NIC
    CHILD_NIC = Address(0x02000001FF00, 0x0A0001FE, TINY.udp_port)
    WAY_UP = ((0x8100, 0x2005),)

    @classmethod
    def planted(cls) -> "Tree":
        return cls(ReferenceNic(TINY), ReferenceNic(TINY), leaders_of(2), leaders_of(2, cls.CHILD_NIC))

    def registrations(self) -> tuple[list[bytes], list[bytes]]:
        above = dict(parent=dataclasses.replace(self.ROOT_NIC, tags=self.WAY_UP), parent_index=2, parent_total=3)
        return (
            [one.register(ranks=1, leaders=2, children=1, window=2) for one in self.root_leaders],
            [one.register(ranks=3, leaders=2, window=2, node=7, **above) for one in self.child_leaders],
        )

    def up(self, gone: list) -> list:
        """One frame from the child to the root; what comes out there."""
        [frame] = gone
        assert frame.port is Port.NET
        return give(self.root, Port.NET, frame.frame)

    def split(self, gone: list) -> tuple[list, list]:
        """Of what left the root: copies at the host port, copies at the network port."""
        return [one for one in gone if one.port is Port.HOST], [one for one in gone if one.port is Port.NET]

    def down(self, gone: list) -> tuple[list, list]:
        """What the leaders of both NICs hear of the root's copies."""
        here, [to_child] = self.split(gone)
        there = give(self.child, Port.NET, to_child.frame)
        return hear_all(self.root_leaders, here), hear_all(self.child_leaders, there)

    def all(self, frames_root: list[bytes], frames_child: list[bytes]) -> tuple[list, list]:
        """Everyone sends, the child's first; everyone hears."""
        partial = give_all(self.child, self.child_leaders, frames_child)
        assert self.up(partial) == []
        return self.down(give_all(self.root, self.root_leaders, frames_root))

    def open(self) -> "Tree":
        here, there = self.all(*self.registrations())
        assert [answer.ranks for answer in here + there] == [8] * 4
        return self


def test_a_tree_registers_folds_and_closes_and_a_child_may_come_before_the_leaders():
    tree = Tree.planted().open()
    parts = [
        [one.allreduce(floats(10.0 ** (one.index + shift)), Operator.MAX, DataType.FLOAT32) for one in leaders]
        for shift, leaders in ((0, tree.root_leaders), (2, tree.child_leaders))
    ]
    here, there = tree.all(*parts)
    assert {answer.payload for answer in here + there} == {floats(1000)}
    here, there = tree.all(*([one.deregister() for one in ones] for ones in (tree.root_leaders, tree.child_leaders)))
    assert all(answer.ok for answer in here + there)
    assert tree.root.counters()["closed"] == tree.child.counters()["closed"] == 1
    assert tree.child.counters()["results"] == 2 and tree.root.counters()["net_copies"] == 3


def test_what_goes_up_and_down_a_tree_has_the_addresses_of_the_registrations():
    tree = Tree.planted()
    here, there = tree.registrations()
    partial = give_all(tree.child, tree.child_leaders, there)
    packet = parse(partial[0].frame, TINY.udp_port)
    assert packet.tags == Tree.WAY_UP and packet.source == 2 and packet.receiver == Tree.ROOT_NIC
    assert (packet.sender.mac, packet.sender.ip) == (Tree.CHILD_NIC.mac, Tree.CHILD_NIC.ip)
    assert (packet.opt_code, packet.data_type) == (Operator.SUM, DataType.UINT32)
    assert packet.payload[:4] == struct.pack("<I", 6) and len(packet.payload) == RECORD.bytes
    tree.up(partial)
    _, [to_child] = tree.split(give_all(tree.root, tree.root_leaders, here))
    answer = parse(to_child.frame, TINY.udp_port)
    assert answer.tags == Tree.WAY_UP and answer.receiver.mac == Tree.CHILD_NIC.mac and answer.source == 2


def test_a_mismatch_below_is_an_error_at_every_leader_above():
    tree = Tree.planted().open()
    one, other = tree.child_leaders
    below = [
        one.allreduce(floats(1), Operator.SUM, DataType.FLOAT32),
        other.allreduce(floats(1), Operator.MAX, DataType.FLOAT32),
    ]
    above = [one.allreduce(floats(1), Operator.SUM, DataType.FLOAT32) for one in tree.root_leaders]
    here, there = tree.all(above, below)
    assert [answer.status for answer in here + there] == [Status.MISMATCH] * 4
    assert all(answer.payload == struct.pack("<IHH", 7, 1, 1) for answer in here + there), "leader 1 of node 7"
    for nic in (tree.root, tree.child):
        assert nic.counters()["failed_segments"] == nic.counters()["folded"] == 1
    again = [[one.barrier() for one in ones] for ones in (tree.root_leaders, tree.child_leaders)]
    here, there = tree.all(*again)
    assert all(answer.ok for answer in here + there)


def test_regular_frames_pass_both_ways_untouched():
    nic = ReferenceNic(TINY)
    frames = [bytes([number]) * (1 + number * 7) for number in range(40)]
    for number, frame in enumerate(frames):
        nic.offer(Port.HOST, frame, cycle=0, queue=number % 4, bad=number % 5 == 0)
        nic.offer(Port.NET, frame, cycle=3, queue=1)
    gone = settle(nic)
    to_net = [(one.frame, one.queue, one.bad) for one in gone if one.port is Port.NET]
    assert to_net == [(frame, number % 4, number % 5 == 0) for number, frame in enumerate(frames)]
    assert [one.frame for one in gone if one.port is Port.HOST] == frames
    assert nic.counters()["host_regular"] == nic.counters()["net_regular"] == 40
    cycles = nic.accepted_cycles()
    assert len(cycles) == 80 and nic.accepted_cycles() == []
    first = [(start, end) for port, start, end in cycles if port is Port.HOST]
    assert first[0] == (0, 0) and first[1] == (1, 1) and first[2] == (2, 3)


def test_damaged_packets_change_nothing():
    nic = ReferenceNic(TINY)
    leaders = opened(nic, 2)
    frame = leaders[0].barrier()
    assert give(nic, Port.HOST, frame, 0, bad=True) == []
    wrong = frame[:40] + b"\x12\x34" + frame[42:]
    assert give(nic, Port.HOST, wrong, 0) == []
    whole = leaders[1].allreduce(floats(1), Operator.SUM, DataType.FLOAT32)
    assert give(nic, Port.HOST, whole[:-1], 1) == []
    counters = nic.counters()
    assert counters["host_damaged"] == 3 and counters["contributions"] == 0 and counters["host_tagged"] == 5


def test_every_core_its_own_leader():
    config = Config(beat_bytes=64, contributors=96, contexts=2, window=2)
    nic = ReferenceNic(config)
    leaders = leaders_of(96)
    frames = [one.register(ranks=1, leaders=96, window=2) for one in leaders]
    assert {answer.ranks for answer in hear_all(leaders, give_all(nic, leaders, frames))} == {96}
    frames = [one.allreduce(struct.pack("<i", one.index), Operator.SUM, DataType.INT32) for one in leaders]
    answers = hear_all(leaders, give_all(nic, leaders, frames))
    assert {answer.payload for answer in answers} == {struct.pack("<i", 95 * 48)}


def test_departures_take_their_beats_and_come_in_order():
    nic = ReferenceNic(TINY)
    opened(nic, 4)
    leaders = leaders_of(4)
    for leader in leaders:
        leader.coll_tag = 1
    for leader in leaders:
        frame = leader.allreduce(bytes(128), Operator.SUM, DataType.INT32)
        nic.offer(Port.HOST, frame, cycle=nic.cycle, queue=leader.index)
    gone = settle(nic)
    beats = (HEADER_BYTES + 128) // 8
    assert [one.last_cycle - one.first_cycle + 1 for one in gone] == [beats] * 4
    assert all(later.first_cycle == earlier.last_cycle + 1 for earlier, later in itertools.pairwise(gone))


def test_the_interface_refuses_what_it_says():
    with pytest.raises(ValueError, match=r"waves is 'x\.vcd'"):
        make_nic("reference", TINY, waves="x.vcd")
    nic = make_nic("reference", TINY)
    with pytest.raises(ValueError, match="the frame is empty"):
        nic.offer(Port.HOST, b"", cycle=0)
    with pytest.raises(ValueError, match="queue is 256: it must be from 0 to 255"):
        nic.offer(Port.HOST, b"x", cycle=0, queue=256)
    nic.run(10)
    assert nic.cycle == 10 and nic.quiet
    with pytest.raises(ValueError, match="cycle is 9"):
        nic.offer(Port.HOST, b"x", cycle=9)
    nic.close()


@pytest.mark.parametrize(
    "member, value, most",
    [
        ("abort_ticks", 1 << 32, 0xFFFFFFFF),
        ("abort_ticks", -1, 0xFFFFFFFF),
        ("retry_ticks", 1 << 16, 0xFFFF),
        ("retry_limit", 1.5, 0xFFFF),
        ("linger_ticks", "3", 0xFFFF),
        ("measure", 2, 1),
    ],
)
def test_timing_says_what_does_not_fit(member, value, most):
    with pytest.raises(
        ValueError, match=re.escape(f"{member} is {value!r}: it must be a whole number from 0 to {most}")
    ):
        Timing(**{member: value})


def test_it_is_fast_enough_to_be_an_oracle():
    nic = ReferenceNic(PRESETS["numa"])
    leaders = opened(nic, 4)
    rounds = 300
    began = time.perf_counter()
    for _ in range(rounds):
        for leader in leaders:
            frame = leader.allreduce(bytes(64), Operator.SUM, DataType.INT32)
            nic.offer(Port.HOST, frame, cycle=nic.cycle, queue=leader.index)
        nic.run(nic.cycle + 200)
    seconds = time.perf_counter() - began
    assert nic.counters()["folded"] == rounds
    assert 4 * rounds / seconds > 2000
