"""A collective that the hosts do alone, because the NICs did not take their communicator: all nodes of it together.

What goes between nodes is ``software``; here is what goes on inside a node, in time: members to their leaders, leaders
to the first one, and the result back.
"""

from collections.abc import Callable, Sequence

import numpy as np

from fanfold.config import Config

from ..network import picoseconds
from ..topology import CoreGroup, Machine
from .addresses import Communicator
from .events import Agenda
from .milestones import Milestone, latest, parts_of
from .node import Node, SimulationError
from .outcome import Outcome
from .parameters import HostParameters
from .runner import Runner
from .software import SOFTWARE_BYTES, SoftwareLeader
from .tree import NicTree
from .workload import Workload, combine, expected_result, first_mismatch, group_vectors

__all__ = ["SoftwareJob"]


class SoftwareJob:
    """Collective ``number``, of ``workload``, on nodes that are each a ``machine`` with ``groups``, in a ``tree``."""

    def __init__(
        self,
        workload: Workload,
        machine: Machine,
        groups: Sequence[CoreGroup],
        tree: NicTree,
        config: Config,
        communicator: Communicator,
        parameters: HostParameters,
        agenda: Agenda,
        number: int,
    ):
        self._workload = workload
        self._machine = machine
        self._groups = groups
        self._tree = tree
        self._config = config
        self._communicator = communicator
        self._parameters = parameters
        self._agenda = agenda
        self._number = number

    def run(self, nodes: Sequence[Node], runner: Runner, progress: Callable[[int, int], None]) -> Outcome:
        """Runs it from now on, and compares every core's result. Raises ``SimulationError`` when it hangs."""
        workload, cores = self._workload, len(self._machine.cores)
        begun = runner.now
        vectors = [group_vectors(workload, self._groups, node.number * cores) for node in nodes]
        by = [self._first_leader(node, vectors[node.number], begun) for node in nodes]
        pieces = len(nodes) * self._pieces(vectors[0])

        def hung() -> None:
            slow = next(each for each in by if not each.done)
            raise SimulationError(f"the collective in software hangs: node {slow.node} waits for {slow.waiting}")

        runner.run(
            lambda: all(each.done for each in by),
            hung,
            lambda: progress(sum(len(each.results) for each in by), pieces),
        )
        results = np.zeros((len(nodes) * cores, workload.row_bytes), np.uint8)
        ends = []
        for each in by:
            data = b"".join(each.results[piece][0] for piece in sorted(each.results))
            results[each.node * cores : (each.node + 1) * cores] = np.frombuffer(data, np.uint8)
            last = latest(*(milestone for _, milestone in each.results.values()))
            ends.append(last.then(last.time + self._spread(), "distribution"))
        end = latest(*ends)
        runner.now = max(runner.now, end.time)
        expected = expected_result(workload, vectors, self._tree)
        mismatch = first_mismatch(workload, results, expected, cores)
        return Outcome(mismatch, "", end.time - begun, parts_of(end), len(by[0].results))

    def _pieces(self, vector: Sequence[bytes]) -> int:
        return max(1, -(-len(vector[0]) // self._size))

    @property
    def _size(self) -> int:
        return min(SOFTWARE_BYTES, self._config.segment_bytes)

    def _first_leader(self, node: Node, vector: Sequence[bytes], begun: int) -> SoftwareLeader:
        """Makes the part of one node, whose leaders hold ``vector`` once their members' data is in."""
        start = Milestone(begun)
        first, further = self._gather()
        mine = []
        for piece in range(self._pieces(vector)):
            at = slice(piece * self._size, (piece + 1) * self._size)
            ready = start.then(begun + first + (piece + 1) * further, "member_stage")
            mine.append(([part[at] for part in vector], ready))
        node.software = SoftwareLeader(
            node.number,
            job=self._number,
            parent=self._tree.parent(node.number),
            children=self._tree.children(node.number),
            config=self._config,
            communicator=self._communicator,
            agenda=self._agenda,
            parameters=self._parameters,
            mine=mine,
            combine=lambda parts: combine(self._workload, parts),
            post=node.post_software,
        )
        return node.software

    def _hops(self) -> list[float]:
        """From each other leader to the first, and then from the farthest member of any group to its leader."""
        machine, size = self._machine, min(self._size, self._workload.row_bytes)
        far = [self._parameters.hop_ns(machine.distance(each.leader, 0), size) for each in self._groups[1:]]
        members = [
            self._parameters.hop_ns(machine.distance(core, each.leader), size)
            for each in self._groups
            for core in each.members
        ]
        return [max(far, default=0.0), max(members, default=0.0)]

    def _messages(self) -> int:
        """Messages that one leader after another takes in: of the largest group's members, and of the other leaders."""
        return max(len(each.members) for each in self._groups) + len(self._groups) - 1

    def _gather(self) -> tuple[int, int]:
        """Until the first piece can be taken in, and the work for each piece, in ps."""
        size = min(self._size, self._workload.row_bytes)
        return picoseconds(sum(self._hops())), picoseconds(self._messages() * self._parameters.reduce_ns(size))

    def _spread(self) -> int:
        """From the first leader to the last core, in ps."""
        return picoseconds(sum(self._hops()) + 2 * self._messages() * self._parameters.message_ns)
