"""Clusters on the reference NIC: every core's bits, registration over trees, windows, and what goes wrong is found."""

import dataclasses
import struct
from collections import Counter

import numpy as np
import pytest

from fanfold.codes import Collective, DataType, Direction, Operator, Port, defined
from fanfold.config import PRESETS, Config
from fanfold_sim.frames import build, parse
from fanfold_sim.host.background import synthetic_frames
from fanfold_sim.host.cluster import Cluster
from fanfold_sim.host.node import SimulationError
from fanfold_sim.host.parameters import PROFILES, NetworkParameters
from fanfold_sim.host.rows import made_up_rows
from fanfold_sim.host.tree import NicTree
from fanfold_sim.host.workload import Workload
from fanfold_sim.nic import make_nic
from fanfold_sim.topology import MACHINES, Machine, group_cores

SMALL = Machine.regular("small", packages=2, domains=1, cores=2)
TINY = PRESETS["tiny"]
EVERYTHING = dataclasses.replace(TINY, operators=tuple(Operator), types=tuple(DataType))


def cluster(machine=SMALL, by="numa", nodes=2, config=TINY, wrap=lambda node, nic: nic, **options):
    return Cluster(
        machine,
        group_cores(machine, by),
        nodes,
        config,
        lambda node: wrap(node, make_nic("reference", config)),
        host=options.pop("host", PROFILES["kunpeng920"]),
        network=options.pop("network", NetworkParameters()),
        **options,
    )


def allreduce(cores, size=8, operator=Operator.SUM, data_type=DataType.FLOAT32, seed=1):
    return Workload(Collective.ALLREDUCE, operator, data_type, made_up_rows(data_type, cores, size, seed, operator))


def run(one, workload):
    one.register()
    outcome = one.collective(workload)
    one.deregister()
    one.drain()
    assert sum(outcome.parts.values()) == outcome.latency
    assert all(part >= 0 for part in outcome.parts.values())
    assert all(node.nic.nic.counters()["closed"] == 1 for node in one.nodes)
    return outcome


@pytest.mark.parametrize("data_type", list(DataType), ids=lambda kind: kind.name)
def test_every_operator_and_type(data_type):
    one = cluster(config=EVERYTHING)
    one.register()
    for operator in (operator for operator in Operator if defined(operator, data_type)):
        outcome = one.collective(allreduce(8, 304, operator, data_type))
        assert outcome.correct, (operator, outcome.mismatch, outcome.trouble)
        assert outcome.segments == 3
    one.deregister()
    one.drain()


@pytest.mark.parametrize("by", ["socket", "numa", "core"])
@pytest.mark.parametrize("nodes", [1, 2, 3, 9])
def test_trees_of_nics(by, nodes):
    config = Config(beat_bytes=8, contributors=6, contexts=2, window=2, segment_bytes=128)
    one = cluster(by=by, nodes=nodes, config=config)
    assert run(one, allreduce(4 * nodes, 1000)).correct


@pytest.mark.parametrize("by", ["socket", "numa", "core"])
def test_nodes_of_96_cores(by):
    config = PRESETS["cores" if by == "core" else "numa"]
    one = cluster(MACHINES["kunpeng920-96"], by, 2, config)
    assert one.register() == 192
    outcome = one.collective(allreduce(192, 1024))
    assert outcome.correct
    assert one.collective(Workload(Collective.BARRIER)).correct
    one.deregister()
    one.drain()
    assert (outcome.parts["member_stage"] == 0) == (by == "core")


def test_the_expected_bits_are_those_of_the_tree_and_not_of_another_order():
    """Four leaders and a child at the root: ((l0+l1)+(l2+l3)) + child, in float32, with rows that tell orders apart."""
    rows = np.array([[1e8], [1.0], [-1e8], [3.0], [0.25], [2**-30], [5e7], [-5e7]], np.float32)
    one = cluster(by="core", nodes=2, config=Config(contributors=5, beat_bytes=8))
    one.register()
    workload = Workload(Collective.ALLREDUCE, Operator.SUM, DataType.FLOAT32, rows)
    assert one.collective(workload).correct

    def tree(values):
        add = np.float32.__add__
        return add(add(values[0], values[1]), add(values[2], values[3]))

    expected = tree(rows[:4, 0]) + tree(rows[4:, 0])
    answer = one.nodes[1].leaders[3].answers[0].payload
    assert answer == np.float32(expected).tobytes()
    plain = rows[0, 0]
    for value in rows[1:, 0]:
        plain = plain + value
    assert answer != np.float32(plain).tobytes()


@pytest.mark.parametrize("slow", ["same_domain_ns", "fetch_far_ns"])
def test_bits_do_not_depend_on_who_is_late(slow):
    late = dataclasses.replace(PROFILES["kunpeng920"], **{slow: 5000.0})
    payloads, latencies = set(), set()
    for host in (PROFILES["kunpeng920"], late):
        one = cluster(by="socket", host=host)
        one.register()
        outcome = one.collective(allreduce(8, 64))
        assert outcome.correct
        latencies.add(outcome.latency)
        payloads.update(leader.answers[0].payload for node in one.nodes for leader in node.leaders)
    assert len(payloads) == 1
    assert len(latencies) == 2


def test_a_barrier_lets_nobody_go_early():
    one = cluster(by="core", nodes=3, config=Config(beat_bytes=8, contributors=5, window=2, segment_bytes=128))
    outcome = run(one, Workload(Collective.BARRIER))
    assert outcome.correct
    assert outcome.segments == 1


def test_several_collectives_and_the_window():
    """Never more than a window of segments of one leader without an answer, and the window is used."""
    most = Counter()

    class Watched:
        def __init__(self, node, nic):
            self.node, self.nic, self.open = node, nic, {}

        def __getattr__(self, name):
            return getattr(self.nic, name)

        def offer(self, port, frame, **options):
            packet = parse(frame, TINY.udp_port)
            if port is Port.HOST:
                waiting = self.open.setdefault(packet.source, set())
                waiting.add(packet.coll_tag)
                most[self.node] = max(most[self.node], len(waiting))
            self.nic.offer(port, frame, **options)

        def run(self, until):
            departures = self.nic.run(until)
            for one in departures:
                packet = parse(one.frame, TINY.udp_port)
                if one.port is Port.HOST and packet.direction is Direction.DOWN:
                    self.open[packet.source].discard(packet.coll_tag)
            return departures

    one = cluster(wrap=Watched)
    one.register()
    for seed in range(3):
        assert one.collective(allreduce(8, 2048, seed=seed)).correct
    one.deregister()
    assert set(most.values()) == {TINY.window}


def test_regular_traffic_beside_a_collective():
    one = cluster(nodes=3)
    one.register()
    frames = synthetic_frames(80, seed=3, udp_port=TINY.udp_port)
    # what a NIC takes for a collective of ours is no regular traffic
    mine = one.nodes[0].leaders[0].protocol.packet(collective=Collective.BARRIER)
    assert one.start_background([*frames, build(mine)], load=1.0) == 1
    assert one.collective(allreduce(12, 512)).correct
    one.deregister()
    one.drain()
    for node in one.nodes:
        for stream in node.streams.values():
            assert (stream.sent, stream.identical, stream.difference) == (80, 80, "")


class Tampering:
    """A NIC that does something wrong to what leaves."""

    def __init__(self, nic, tamper):
        self.nic, self.tamper = nic, tamper

    def __getattr__(self, name):
        return getattr(self.nic, name)

    def run(self, until):
        return [one for one in map(self.tamper, self.nic.run(until)) if one is not None]


def tampering(tamper, at_node=1):
    return lambda node, nic: Tampering(nic, tamper) if node == at_node else nic


def test_a_wrong_bit_is_found_and_placed():
    def flip(one):
        packet = parse(one.frame, TINY.udp_port)
        if one.port is Port.HOST and packet.collective is Collective.ALLREDUCE and packet.source == 1:
            frame = bytearray(one.frame)
            frame[64 + 4] ^= 1
            return dataclasses.replace(one, frame=bytes(frame))
        return one

    workload = allreduce(8, 16, data_type=DataType.UINT32)
    outcome = run(cluster(wrap=tampering(flip)), workload)
    right = int(workload.rows[:, 1].astype(np.uint64).sum()) & 0xFFFFFFFF
    assert not outcome.correct
    assert str(outcome.mismatch) == (
        f"node 1 core 2, element 1: expected {right} ({right:#010x}), got {right ^ 1} ({right ^ 1:#010x}) "
        "(2 elements differ in all)"
    )


@pytest.mark.parametrize("byte", [0, 8, 15], ids=["value", "index", "padding"])
def test_a_wrong_pair_is_found_and_shown(byte):
    def flip(one):
        packet = parse(one.frame, TINY.udp_port)
        if one.port is Port.HOST and packet.collective is Collective.ALLREDUCE and packet.source == 1:
            frame = bytearray(one.frame)
            frame[64 + 16 + byte] ^= 1
            return dataclasses.replace(one, frame=bytes(frame))
        return one

    workload = allreduce(8, 32, Operator.MAXLOC, DataType.FLOAT64_INT32)
    workload.rows["value"][:, 1] = -0.5
    outcome = run(cluster(config=EVERYTHING, wrap=tampering(flip)), workload)
    got = {
        0: "-0.5000000000000001 (0xbfe0000000000001) at index 0 (0x00000000)",
        8: "-0.5 (0xbfe0000000000000) at index 1 (0x00000001)",
        15: "-0.5 (0xbfe0000000000000) at index 0 (0x00000000), padding 00 00 00 01",
    }[byte]
    expected = "-0.5 (0xbfe0000000000000) at index 0 (0x00000000)"
    assert str(outcome.mismatch) == (
        f"node 1 core 2, element 1: expected {expected}, got {got} (2 elements differ in all)"
    )


def test_a_status_is_trouble():
    def fail(one):
        packet = parse(one.frame, TINY.udp_port)
        if one.port is Port.HOST and packet.collective is Collective.ALLREDUCE:
            frame = bytearray(one.frame)
            frame[60:62] = struct.pack(">H", 6)
            return dataclasses.replace(one, frame=bytes(frame))
        return one

    outcome = run(cluster(wrap=tampering(fail)), allreduce(8))
    assert outcome.trouble == "node 1 leader 0, segment 0: MISMATCH"


def test_a_lost_packet_is_a_hang_with_a_name():
    def lose(one):
        packet = parse(one.frame, TINY.udp_port)
        lost = one.port is Port.HOST and packet.collective is Collective.ALLREDUCE and packet.source == 1
        return None if lost else one

    one = cluster(wrap=tampering(lose))
    one.register()
    with pytest.raises(SimulationError, match=r"allreduce hangs: node 1 leader 1 \(core 2\) waits for 1 of 1 results"):
        one.collective(allreduce(8))


def test_a_wrong_queue_is_found():
    def elsewhere(one):
        return dataclasses.replace(one, queue=one.queue ^ 1) if one.port is Port.HOST else one

    with pytest.raises(SimulationError, match="came out to queue"):
        cluster(wrap=tampering(elsewhere)).register()


def test_damaged_regular_traffic_is_found():
    def damage(one):
        if parse(one.frame, TINY.udp_port) is None and one.port is Port.NET:
            return dataclasses.replace(one, frame=one.frame[:-1] + bytes([one.frame[-1] ^ 0x80]))
        return one

    one = cluster(wrap=tampering(damage))
    one.register()
    one.start_background([bytes(100)], 0.5)
    one.deregister()
    one.drain()
    assert one.nodes[1].streams[Port.HOST].difference == (
        "node 1, in at the host port: frame 0, byte 99: expected 0x00, got 0x80"
    )
    assert one.nodes[1].streams[Port.NET].identical == 1


def test_leaders_that_do_not_fit():
    with pytest.raises(ValueError, match="a node has 4 leaders, and a NIC takes 4 contributors: 2 nodes need room"):
        cluster(by="core", nodes=2)
    with pytest.raises(ValueError, match="a node has 4 leaders, but a NIC takes 2 contributors"):
        NicTree.that_fits(1, 4, 2)


@pytest.mark.parametrize(("nodes", "fanout"), [(1, 0), (2, 1), (5, 1), (7, 2), (10, 3)])
def test_a_tree_reaches_every_node_once(nodes, fanout):
    tree = NicTree(nodes, fanout)
    children = [child for node in range(nodes) for child in tree.children(node)]
    assert sorted(children) == list(range(1, nodes))
    for node in range(nodes):
        for place, child in enumerate(tree.children(node)):
            assert (tree.parent(child), tree.rank_among_siblings(child)) == (node, place)
        assert len(tree.children(node)) <= fanout
    assert tree.parent(0) is None


class Restless:
    """A NIC that is never quiet."""

    quiet = False

    def __init__(self, nic):
        self.nic = nic

    def __getattr__(self, name):
        return getattr(self.nic, name)


@pytest.mark.parametrize("lost", [False, True])
def test_a_nic_that_never_falls_quiet_ends_the_run_all_the_same(lost):
    def lose(one):
        return None if lost and parse(one.frame, TINY.udp_port).collective is Collective.ALLREDUCE else one

    one = cluster(wrap=lambda node, nic: Restless(Tampering(nic, lose)))
    one.register()
    if lost:
        with pytest.raises(SimulationError, match="allreduce hangs: node 0 leader 0"):
            one.collective(allreduce(8))
        return
    assert one.collective(allreduce(8)).correct
    one.deregister()
    one.drain()
