"""Trees of reference NICs over bad networks: never a wrong sum, never without an outcome."""

import dataclasses

import pytest
from lossy_tree import Chances, LossyTree

from fanfold.codes import Collective, Status
from fanfold.config import PRESETS
from fanfold_sim.nic import Timing
from fanfold_sim.records import PARENT, Fault, read_fault
from fanfold_sim.reference.nic import ReferenceNic

CONFIG = dataclasses.replace(PRESETS["tiny"], tick_bits=4)
#: ticks of 16 cycles after which a parent is asked again
RETRY = 40
#: parents of the nodes; abort times that grow towards the root; how often a parent is asked again: until it has waited
#: for all others, and for its own parent
TREES = {"star": ([None, 0, 0], [800, 400, 400], [0, 25, 25]), "chain": ([None, 0, 1], [1200, 800, 400], [0, 35, 60])}
LIMIT = 4_000_000


def tree(shape: str, chances: Chances, seed: int, segments: int = 30) -> LossyTree:
    parents, patience, limits = TREES[shape]
    timings = [Timing(retry_ticks=RETRY, retry_limit=limit, linger_ticks=4000) for limit in limits]
    return LossyTree(
        CONFIG, ReferenceNic, parents, chances, abort_ticks=patience, timings=timings, segments=segments, seed=seed
    )


@pytest.mark.parametrize("shape", TREES)
@pytest.mark.parametrize("loss", [0, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_what_the_network_does_is_made_good(shape, loss, seed):
    one = tree(shape, Chances(loss=loss, double=loss, damage=loss / 4, delay=1500 if seed % 2 else 200), seed)
    one.run(LIMIT)
    assert one.statuses() == {Status.OK: 6 * 32}
    counters = [nic.counters() for nic in one.nics]
    assert all(each["aborted"] == each["given_up"] == 0 for each in counters)
    assert sum(each["repeats"] for each in counters) > 0 or not loss
    assert [each["folded"] for each in counters] == [31] * 3 and [each["contributions"] for each in counters] == [
        31 * (2 + one.parents.count(node)) for node in range(3)
    ]


@pytest.mark.parametrize("shape", TREES)
@pytest.mark.parametrize("seed", range(4))
def test_late_leaders_get_an_outcome_like_everybody(shape, seed):
    one = tree(shape, Chances(loss=0.1, double=0.1, late=0.1), seed)
    one.run(LIMIT)
    statuses = one.statuses()
    assert statuses[Status.OK] > 0 and statuses[Status.TIMED_OUT] > 0
    assert set(statuses) <= {Status.OK, Status.TIMED_OUT, Status.EXPIRED}
    assert sum(nic.counters()["aborted"] for nic in one.nics) > 0


@pytest.mark.parametrize("shape", TREES)
@pytest.mark.parametrize("member", range(6))
def test_a_leader_that_stops_is_named_to_everybody_else(shape, member):
    one = tree(shape, Chances(loss=0.1, double=0.1), member, segments=6)
    one.members[member].stops = 4
    one.run(LIMIT)
    fault = Fault(node=member // 2, contributor=member % 2, count=1, missing=(member % 2,))
    for other in one.members[:member] + one.members[member + 1 :]:
        ends = {answer.coll_tag: answer for answer in other.outcomes}
        for number in range(8):
            answer = ends[(one.first + number) % (1 << 32)]
            assert answer.ok if number < 4 else (answer.status, read_fault(answer.payload)) == (Status.TIMED_OUT, fault)


@pytest.mark.parametrize("shape, node, named", [
    ("star", 1, Fault(node=0, contributor=2, count=1, missing=(2,))),
    ("star", 2, Fault(node=0, contributor=3, count=1, missing=(3,))),
    ("chain", 2, Fault(node=1, contributor=2, count=1, missing=(2,))),
])  # fmt: skip
def test_a_node_that_stops_is_named_by_its_parent(shape, node, named):
    one = tree(shape, Chances(loss=0.05), node, segments=20)
    for _ in range(400):
        one.step()
    one.dead.add(node)
    one.run(LIMIT)
    for member in one.members:
        if member.node == node:
            continue
        ended = [answer for answer in member.outcomes if not answer.ok]
        assert ended and {(answer.status, read_fault(answer.payload)) for answer in ended} == {
            (Status.TIMED_OUT, named)
        }


@pytest.mark.parametrize("shape", TREES)
def test_the_children_of_a_root_that_stops_are_told_that_it_is_gone(shape):
    one = tree(shape, Chances(loss=0.05), 0, segments=20)
    for _ in range(400):
        one.step()
    one.dead.add(0)
    one.run(LIMIT)
    for member in one.members[2:]:
        last = member.outcomes[-1]
        assert (last.status, last.collective) == (Status.PEER_GONE, Collective.DEREGISTER)
        assert read_fault(last.payload) == Fault(
            node=1 if shape == "chain" else member.node, contributor=PARENT, count=1
        )
