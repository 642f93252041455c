"""Collectives in software, where NICs do not take the communicator: the same bits, by regular frames."""

import pytest

from fanfold.codes import Collective, DataType, Operator
from fanfold.config import Config
from fanfold_sim.faults import Injection
from fanfold_sim.host.addresses import Communicator
from fanfold_sim.host.cluster import Cluster, Refused
from fanfold_sim.host.node import SimulationError
from fanfold_sim.host.parameters import PROFILES, NetworkParameters
from fanfold_sim.host.rows import made_up_rows
from fanfold_sim.host.software import read_software
from fanfold_sim.host.workload import Workload
from fanfold_sim.nic import Timing, make_nic
from fanfold_sim.topology import Machine, group_cores

CONFIG = Config(beat_bytes=8, contributors=4, contexts=2, window=2, segment_bytes=128, tick_bits=4)
MACHINE = Machine.regular("small", packages=2, domains=1, cores=3)
CORES = 4 * len(MACHINE.cores)


def cluster(spec=None, timing=None, nodes=4):
    return Cluster(
        MACHINE,
        group_cores(MACHINE, "socket"),
        nodes,
        CONFIG,
        lambda node: make_nic("reference", CONFIG),
        host=PROFILES["kunpeng920"],
        network=NetworkParameters(),
        injection=None if spec is None else Injection.parse([spec]),
        timing=timing,
    )


def allreduce(seed=0, size=1000):
    rows = made_up_rows(DataType.FLOAT32, CORES, size, seed)
    return Workload(Collective.ALLREDUCE, Operator.SUM, DataType.FLOAT32, rows)


@pytest.mark.parametrize("node", range(4))
def test_a_full_table_anywhere(node):
    one = cluster(f"full={node}")
    with pytest.raises(Refused, match=r"the registration failed: node \d leader 0, segment 0: NO_ROOM"):
        one.register()
    for seed in range(2):
        outcome = one.collective_in_software(allreduce(seed))
        assert outcome.correct and outcome.segments == 8
        assert sum(outcome.parts.values()) == outcome.latency > 0
        assert all(part > 0 for part in outcome.parts.values())
    assert one.collective_in_software(Workload(Collective.BARRIER)).correct
    one.drain()
    for at, each in enumerate(one.nodes):
        counters = each.nic.nic.counters()
        assert counters["contributions"] == counters["folded"] == 0, "the NICs folded nothing"
        assert counters["opened"] == (at == node), "the other communicator's context only"
        assert all(stream.sent == 0 and not stream.difference for stream in each.streams.values())


@pytest.mark.parametrize("spec", ["loss=0.3", "loss=0.1,duplicate=0.3,reorder=0.5,corrupt=0.1"])
def test_on_bad_links(spec):
    one = cluster(f"full=1,{spec}")
    with pytest.raises(Refused):
        one.register()
    for seed in range(6):
        assert one.collective_in_software(allreduce(seed)).correct
    one.drain()


def test_a_registration_that_times_out():
    one = cluster("loss=1,seed=2", Timing(abort_ticks=100, retry_ticks=20, retry_limit=9))
    with pytest.raises(Refused, match="node 0 leader 0, segment 0: TIMED_OUT"):
        one.register()
    # the same links lose what software sends, too
    with pytest.raises(
        SimulationError, match="in software hangs: node 0 waits for 2 of 2 results, first that of piece 0"
    ):
        one.collective_in_software(allreduce(size=256))


def test_a_wrong_bit_is_found():
    one = cluster("full=0")
    with pytest.raises(Refused):
        one.register()
    node = one.nodes[0]
    post = node.post_software

    def spoil(time, frame, size, milestone):
        if read_software(frame, CONFIG.udp_port, one.communicator).receiver.mac & 0xFF == 2:
            # the checksum of UDP: none
            frame = frame[:40] + bytes(2) + frame[42:-1] + bytes([frame[-1] ^ 1])
        post(time, frame, size, milestone)

    node.post_software = spoil
    outcome = one.collective_in_software(allreduce())
    assert not outcome.correct and str(outcome.mismatch).startswith("node 2 core 0, element 31: ")


def test_its_frames_are_regular_and_of_nobody_else():
    communicator = Communicator.made_up(0)
    one = cluster("full=0")
    with pytest.raises(Refused):
        one.register()
    sent = []
    for each in one.nodes:
        each.post_software = lambda time, frame, size, milestone: sent.append(frame)
    with pytest.raises(SimulationError, match="hangs"):
        one.collective_in_software(allreduce())
    assert sent and all(read_software(frame, CONFIG.udp_port, communicator) for frame in sent)
    assert not any(read_software(frame, CONFIG.udp_port, Communicator.made_up(1)) for frame in sent)
    assert not any(read_software(frame, CONFIG.udp_port ^ 1, communicator) for frame in sent)


def test_who_refused_is_named_although_others_only_waited():
    one = cluster("full=3", Timing(abort_ticks=100, retry_ticks=20, retry_limit=30))
    with pytest.raises(Refused, match="the registration failed: node 3 leader 0, segment 0: NO_ROOM"):
        one.register()
    leaders = [leader for node in one.nodes[:3] for leader in node.leaders]
    statuses = {answer.status.name for leader in leaders for answer in leader.answers.values()}
    assert statuses == {"TIMED_OUT"}
