"""Where the time goes: a leader's work by hand, milestones, the NIC on the cluster's clock, sizes and curves."""

import dataclasses

import pytest

from fanfold.codes import Collective, DataType, Operator, Port
from fanfold.config import PRESETS
from fanfold_sim.host.cluster import Cluster
from fanfold_sim.host.events import Agenda
from fanfold_sim.host.milestones import PARTS, Milestone, latest, parts_of
from fanfold_sim.host.parameters import PROFILES, HostParameters, NetworkParameters, by_size, with_settings
from fanfold_sim.host.rows import made_up_rows
from fanfold_sim.host.timed_nic import TimedNic
from fanfold_sim.host.workload import Workload
from fanfold_sim.nic import Departure, make_nic
from fanfold_sim.topology import Distance, Machine, group_cores

#: round numbers, so that sums can be done by hand
ROUND = HostParameters(
    profile="round",
    same_domain_ns=100,
    same_package_ns=200,
    other_package_ns=300,
    next_line_ns=1,
    message_ns=10,
    reduce_call_ns=20,
    reduce_byte_ns=0.5,
    post_ns=50,
    doorbell_ns=100,
    fetch_ns=((8, 400.0), (72, 464.0)),
    fetch_far_ns=1000,
    write_ns=((8, 80.0), (72, 144.0)),
    completion_ns=60,
)
NETWORK = NetworkParameters(nic_mhz=200)


def parts_ns(machine, by, nodes, workload, host=ROUND):
    config = PRESETS["tiny"]
    one = Cluster(
        machine,
        group_cores(machine, by),
        nodes,
        config,
        lambda node: make_nic("reference", config),
        host=host,
        network=NETWORK,
    )
    one.register()
    outcome = one.collective(workload)
    assert outcome.correct
    return {name: part / 1000 for name, part in outcome.parts.items()}


def test_the_parts_of_one_small_allreduce_by_hand():
    machine = Machine.regular("three", packages=1, domains=1, cores=3)
    rows = made_up_rows(DataType.INT32, 3, 8, 0)
    parts = parts_ns(machine, "socket", 1, Workload(Collective.ALLREDUCE, Operator.SUM, DataType.INT32, rows))
    # a member's software and hop; then two messages taken in and combined: software, call, 8 bytes
    assert parts["member_stage"] == 10 + 100 + 2 * (10 + 20 + 4)
    # posting, doorbell, fetch; up to a cycle of 5 ns until the NIC's next clock edge
    assert 50 + 100 + 400 <= parts["injection"] < 50 + 100 + 400 + 5
    assert parts["wire"] == 0
    # the frame of 72 bytes over the bus, the write, and seeing it
    assert parts["delivery"] == pytest.approx(80 + 60, abs=5)
    # the second member is told after the first
    assert parts["distribution"] == 2 * 10 + 100 + 10


def test_a_far_leader_is_fetched_later():
    machine = Machine.regular("two sockets", packages=2, domains=1, cores=1)
    barrier = Workload(Collective.BARRIER)
    near = parts_ns(machine, "socket", 1, barrier, dataclasses.replace(ROUND, fetch_far_ns=0))
    far = parts_ns(machine, "socket", 1, barrier)
    assert far["injection"] - near["injection"] == pytest.approx(1000, abs=5)


def test_the_wire_of_two_nodes():
    machine = Machine.regular("one", packages=1, domains=1, cores=1)
    parts = parts_ns(machine, "socket", 2, Workload(Collective.BARRIER))
    # up and down: two links and the switch, a frame of 64 bytes (88 with what the wire adds) once each way; its
    # beginning overlaps with its last beats in the NIC
    way = 2 * 110 + 250
    assert 2 * way <= parts["wire"] <= 2 * (way + 8 * 88 / 100)


def test_milestones_add_up_along_the_causes():
    start = Milestone(1000)
    member = start.then(1500, "member_stage")
    other = start.then(1400, "member_stage")
    posted = latest(member, other, None).then(1600, "injection")
    assert parts_of(posted) == {**dict.fromkeys(PARTS, 0), "member_stage": 500, "injection": 100}


def test_an_agenda_keeps_order():
    done = []
    agenda = Agenda()
    agenda.plan(5, lambda time: agenda.plan(5, lambda time: done.append("planned late")))
    agenda.plan(5, lambda time, name: done.append(name), "second")
    agenda.plan(3, lambda time, name: done.append(name), "first")
    agenda.plan(9, lambda time: done.append("too late"))
    agenda.work(9)
    assert done == ["first", "second", "planned late"]
    assert agenda.next == 9


class Recording:
    """A NIC that sends each frame back out of the other port 10 cycles after it came."""

    def __init__(self):
        self.cycle, self.offers, self.ran, self._in = 0, [], 0, []

    @property
    def quiet(self):
        return not self._in

    def offer(self, port, frame, *, cycle, queue=0, bad=False):
        assert cycle >= self.cycle
        self.offers.append(cycle)
        self._in.append((cycle, port, frame))
        self._accepted = [*getattr(self, "_accepted", []), (port, cycle, cycle)]

    def run(self, until):
        self.ran += until - self.cycle
        self.cycle = until
        out = [one for one in self._in if one[0] + 10 < until]
        self._in = [one for one in self._in if one not in out]
        return [Departure(Port.NET, frame, 0, False, cycle + 10, cycle + 10) for cycle, _, frame in out]

    def accepted_cycles(self):
        taken, self._accepted = getattr(self, "_accepted", []), []
        return taken


def test_a_quiet_nic_spends_no_cycles_and_keeps_the_clusters_time():
    nic = Recording()
    timed = TimedNic(nic, period=5000)
    timed.offer(Port.HOST, b"1", 12_000, "first")
    accepted, left = timed.run(100_000)
    assert [(one.token, one.first) for one in accepted] == [("first", 20_000)]
    assert [one.last for one in left] == [(3 + 10 + 1) * 5000]
    assert timed.quiet
    ran = nic.ran
    timed.offer(Port.HOST, b"2", 10**9, "second")
    accepted, left = timed.run(10**9 + 100_000)
    assert [one.last for one in left] == [10**9 + 11 * 5000]
    assert nic.ran - ran < 30


def test_curves():
    curve = ((8, 100.0), (16, 200.0), (32, 300.0))
    assert [by_size(curve, size) for size in (0, 8, 12, 16, 24, 32, 64)] == [100, 100, 150, 200, 250, 300, 500]


def test_every_profile_has_distances_in_order():
    for profile in PROFILES.values():
        hops = [profile.hop_ns(distance, 64) for distance in Distance]
        assert hops == sorted(hops)
        assert profile.hop_ns(Distance.SAME_DOMAIN, 65) == hops[0] + profile.next_line_ns


def test_settings():
    assert with_settings(ROUND, {"post_ns": 1.0, "link_ns": 2.0}).post_ns == 1.0
    with pytest.raises(ValueError, match="post_ns is -1: it must be from 0"):
        with_settings(ROUND, {"post_ns": -1.0})
    with pytest.raises(ValueError, match="link_gbps is 0: it must be more than 0"):
        with_settings(NETWORK, {"link_gbps": 0.0})
