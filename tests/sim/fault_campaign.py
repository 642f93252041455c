"""Fault campaigns: collectives over four NICs in three levels, on links that lose, double, hold back and change frames.

Leader r contributes 100^r, so that the digits of a sum say how often each contribution is in it, and numbers that no
other collective has, so that a result of another one shows. Every result is compared with the sum in Python's whole
numbers, and by the cluster with the reference order. ``python fault_campaign.py --help`` runs one outside pytest.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from fanfold.codes import Collective, DataType, Operator
from fanfold.config import Config
from fanfold_sim.faults import Injection, exchange_cycles, timing_for
from fanfold_sim.host.cluster import Cluster
from fanfold_sim.host.parameters import PROFILES, NetworkParameters
from fanfold_sim.host.workload import Workload
from fanfold_sim.nic import Nic, make_nic
from fanfold_sim.topology import Machine, group_cores

#: two leaders a node and two children a NIC: node 0 has nodes 1 and 2 below it, node 1 has node 3
NODES, LEADERS = 4, 2
ALL = NODES * LEADERS
CONFIG = Config(
    beat_bytes=8,
    contributors=4,
    contexts=2,
    window=2,
    segment_bytes=128,
    operators=(Operator.SUM,),
    types=(DataType.INT64,),
    tick_bits=4,
)
MACHINE = Machine.regular("two cores", packages=1, domains=1, cores=LEADERS)
NETWORK = NetworkParameters()
#: the most pairs of numbers in a vector; 8 fill a segment
MOST_PAIRS = 20


def vector(leader: int, number: int, pairs: int) -> list[int]:
    """What ``leader`` contributes to collective ``number``: who it is, and which collective and element it is."""
    return [value for pair in range(pairs) for value in (100**leader, (number * MOST_PAIRS + pair) * (leader + 3))]


def how_often(total: int) -> list[int]:
    """How often each leader's contribution is in the sum of the first numbers of their pairs."""
    return [total // 100**leader % 100 for leader in range(ALL)]


def fault_in(payload: bytes, segment: int, number: int, pairs: int) -> str:
    """What is wrong with a segment of the result of collective ``number``, or nothing."""
    got = np.frombuffer(payload, "<i8").tolist()
    first = segment * CONFIG.segment_bytes // 8
    rows = [vector(leader, number, pairs)[first : first + CONFIG.segment_bytes // 8] for leader in range(ALL)]
    wanted = [sum(column) for column in zip(*rows, strict=True)]
    if got == wanted:
        return ""
    if len(got) == len(wanted) and (often := how_often(got[0])) != [1] * ALL:
        return f"leaders 0 to {ALL - 1} are in it {often} times"
    return f"it is {got[:2]}..., not {wanted[:2]}..."


@dataclass
class Tally:
    """What came of a campaign."""

    collectives: int = 0
    right: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    #: what the links did, and the NICs about it
    did: Counter[str] = field(default_factory=Counter)

    def __str__(self):
        did = ", ".join(f"{name} {count}" for name, count in sorted(self.did.items()))
        return f"{self.collectives} collectives, {self.right} right results, {self.failed.total()} failed ({did})"


def reference(config: Config) -> Nic:
    """A NIC played by the reference model."""
    return make_nic("reference", config)


def play(
    inject: str,
    collectives: int,
    tally: Tally,
    *,
    make: Callable[[Config], Nic] = reference,
) -> Counter[str]:
    """Registers on new NICs, runs ``collectives``, deregisters; why results failed.

    Raises ``AssertionError`` for a wrong result, naming the injection, and ``SimulationError`` for a hang.
    """
    injection = Injection.parse([inject])
    random_ = random.Random(f"campaign {injection.seed}")
    cluster = Cluster(
        MACHINE,
        group_cores(MACHINE, "core"),
        NODES,
        CONFIG,
        lambda node: make(CONFIG),
        host=PROFILES["kunpeng920"],
        network=NETWORK,
        seed=injection.seed,
        timing=timing_for(2, exchange_cycles(NETWORK, CONFIG), CONFIG.tick_bits),
        injection=injection,
    )
    failed: Counter[str] = Counter()
    try:
        assert cluster.register() == ALL, inject
        for number in range(collectives):
            pairs = random_.randint(1, MOST_PAIRS)
            rows = np.array([vector(leader, number, pairs) for leader in range(ALL)], "<i8")
            outcome = cluster.collective(Workload(Collective.ALLREDUCE, Operator.SUM, DataType.INT64, rows))
            assert not outcome.trouble, f"{inject}, collective {number}: {outcome.trouble}"
            tally.right += _check(cluster, outcome.segments, number, pairs, inject)
            failed += outcome.verdict.failed
            tally.collectives += 1
        cluster.deregister()
        cluster.drain()
        _count(cluster, tally)
    finally:
        cluster.close()
    tally.failed += failed
    return failed


def _check(cluster: Cluster, segments: int, number: int, pairs: int, inject: str) -> int:
    """Every leader that lives was told how each segment ended, and is right where it succeeded; how many did."""
    right = 0
    for node in cluster.nodes:
        for leader in node.leaders:
            if leader.dead:
                continue
            who = f"{inject}, collective {number}, node {node.number} leader {leader.group.index}"
            assert sorted(leader.answers) == list(range(segments)), f"{who}: it has answers to {sorted(leader.answers)}"
            for segment, answer in leader.answers.items():
                if answer.ok:
                    wrong = fault_in(answer.payload, segment, number, pairs)
                    assert not wrong, f"{who}, segment {segment}: {wrong}"
                    right += 1
    return right


def _count(cluster: Cluster, tally: Tally) -> None:
    impairment = cluster.impairment
    assert impairment is not None
    for found in (impairment.up, impairment.down):
        tally.did.update({name: count for name, count in vars(found).items() if count})
    for node in cluster.nodes:
        counters = node.nic.nic.counters()
        tally.did.update({name: counters[name] for name in ("repeats", "answered", "aborted", "given_up")})


def impaired(seed: int) -> str:
    """An injection of frames lost (up to 20 % each way), doubled, held back and changed."""
    random_ = random.Random(f"impaired {seed}")
    most = dict(loss=0.2, duplicate=0.2, reorder=0.3, corrupt=0.05)
    rates = [
        f"{kind}-{way}={random_.choice((0, rate / 4, rate)):g}" for kind, rate in most.items() for way in ("up", "down")
    ]
    more = random_.choice(("", "leaders-repeat=3000,", "reorder-cycles=5000,"))
    return f"{','.join(rates)},{more}seed={seed}"


def broken() -> Iterator[tuple[str, str]]:
    """Injections of leaders and nodes that stop or come too late, on good links and bad ones, and with what all reasons
    must end: who it was, named by the NIC beside it."""
    for links in ("", ",loss=0.2,duplicate=0.1,reorder=0.1"):
        for node in range(NODES):
            for leader in range(LEADERS):
                for what in ("dead={}.{}:7", "late={}.{}:120000"):
                    yield what.format(node, leader) + links, f"the NIC of node {node} missed its leader {leader}"
            yield f"dead-node={node}:7" + links, f"node {node}"


def campaign(
    collectives: int, *, simulator: str = "reference", each: int = 200, tell: Callable[[str], None] = lambda text: None
) -> Tally:
    """At least so many ``collectives`` on impaired links, ``each`` on new NICs: all must be right, none may fail.

    Raises as ``play`` does, and ``AssertionError`` when a result failed.
    """
    tally, begun = Tally(), time.monotonic()
    seed = 0
    while tally.collectives < collectives:
        inject = impaired(seed)
        failed = play(inject, min(each, collectives - tally.collectives), tally, make=partial(make_nic, simulator))
        assert not failed, f"{inject}: {failed}"
        seed += 1
        tell(f"{tally.collectives} of {collectives} collectives in {time.monotonic() - begun:.0f} s")
    return tally


def main() -> int:
    """A campaign, with progress; 1 when a result was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulator", default="reference", choices=("reference", "amaranth", "verilator"))
    parser.add_argument("--collectives", type=int, default=10_000)
    args = parser.parse_args()
    tell = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
    try:
        print(campaign(args.collectives, simulator=args.simulator, tell=tell))
    except AssertionError as wrong:
        print(f"WRONG: {wrong}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
