"""Nodes, their NICs in a tree, and the switch between them, run together at the grain of packets.

This file puts them together and says what each leader has to do; ``runner`` lets the time pass.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fanfold.codes import Collective, Port, Status
from fanfold.config import Config

from ..network import Channel, Switch, picoseconds
from ..nic import Nic
from ..topology import CoreGroup, Machine
from .addresses import Communicator, nic_address
from .background import without_collectives
from .events import Agenda
from .milestones import Milestone, latest, parts_of
from .node import Captures, Node, SimulationError
from .parameters import HostParameters, NetworkParameters
from .runner import Runner
from .timed_nic import TimedNic
from .tree import NicTree
from .workload import Mismatch, Workload, expected_result, first_mismatch, group_vectors

__all__ = ["Cluster", "Outcome"]


@dataclass(frozen=True)
class Outcome:
    """One collective: whether every core got what it must, and how long it took (ps)."""

    mismatch: Mismatch | None
    #: what else is wrong: a status, a barrier that let go too early
    trouble: str
    latency: int
    parts: dict[str, int]
    segments: int

    @property
    def correct(self) -> bool:
        """Every core has the reference's bits."""
        return self.mismatch is None and not self.trouble


class Cluster:
    """``nodes`` machines; ``make(node)`` makes the NIC of each. ``progress(done, total)`` is told of results seen.

    Raises ``ValueError`` when leaders and children do not fit the NICs.
    """

    def __init__(
        self,
        machine: Machine,
        groups: Sequence[CoreGroup],
        nodes: int,
        config: Config,
        make: Callable[[int], Nic],
        *,
        host: HostParameters,
        network: NetworkParameters,
        seed: int = 0,
        captures: Captures | None = None,
        progress: Callable[[int, int], None] | None = None,
    ):
        self.machine = machine
        self.groups = tuple(groups)
        self.config = config
        self.tree = NicTree.that_fits(nodes, len(groups), config.contributors)
        self.communicator = Communicator.made_up(seed)
        self.period = max(1, round(1e6 / network.nic_mhz))
        self.links: list[Channel] = []
        self._agenda = Agenda()
        self._progress = progress or (lambda done, total: None)
        self._background_left = 0
        # a port moves what its link moves, or what a beat a cycle is, whichever is less
        self._port_gbps = min(network.link_gbps, 8000 * config.beat_bytes / self.period)
        self._switch = Switch(picoseconds(network.switch_ns), self._from_switch)
        self.nodes: list[Node] = []
        self._runner = Runner(self._agenda, self.nodes, self.period, _look_ahead(host, network))
        try:
            for number in range(nodes):
                self.nodes.append(self._node(number, make(number), host, network, captures))
        except BaseException:
            self.close()
            raise

    def _node(
        self, number: int, nic: Nic, host: HostParameters, network: NetworkParameters, captures: Captures | None
    ) -> Node:
        address = nic_address(number, self.config)
        latency = picoseconds(network.link_ns)
        uplink = Channel(f"node {number} to switch", network.link_gbps, latency)
        downlink = Channel(f"switch to node {number}", network.link_gbps, latency)
        self._switch.attach(address.mac, downlink)
        node = Node(
            number,
            agenda=self._agenda,
            config=self.config,
            machine=self.machine,
            groups=self.groups,
            parameters=host,
            communicator=self.communicator,
            address=address,
            nic=TimedNic(nic, self.period),
            uplink=uplink,
            to_wire=self._switch.forward,
            captures=captures,
        )
        self.links += [node.bus_in, node.bus_out, uplink, downlink]
        return node

    def _from_switch(self, port: int, frame: bytes, time: int, milestone: Milestone) -> None:
        self._agenda.plan(time, self.nodes[port].from_wire, frame, milestone)

    # ------------------------------------------------------------------------------------------------------- jobs

    def register(self) -> int:
        """Every leader registers; the ranks of the communicator. Raises ``SimulationError`` when one is refused."""
        tree, window = self.tree, self.config.window
        for node in self.nodes:
            parent = tree.parent(node.number)
            for leader in node.leaders:
                fields = dict(
                    ranks=len(leader.group.cores),
                    leaders=len(self.groups),
                    window=window,
                    node=node.number,
                    children=len(tree.children(node.number)),
                    parent=None if parent is None else self.nodes[parent].address,
                    parent_index=0 if parent is None else len(self.groups) + tree.rank_among_siblings(node.number),
                    parent_total=0 if parent is None else len(self.groups) + len(tree.children(parent)),
                )
                leader.begin(
                    self._runner.now,
                    [b""],
                    lambda _, leader=leader, fields=fields: leader.protocol.register(**fields),
                    False,
                )
        self._run_jobs("the registration")
        self._insist("the registration")
        ranks = {leader.answers[0].ranks for node in self.nodes for leader in node.leaders}
        expected = len(self.nodes) * len(self.machine.cores)
        if ranks != {expected}:
            raise SimulationError(f"registered ranks are {sorted(map(str, ranks))}: they must be {expected} everywhere")
        return expected

    def deregister(self) -> None:
        """Every leader leaves, and the NICs forget the communicator."""
        for node in self.nodes:
            for leader in node.leaders:
                leader.begin(self._runner.now, [b""], lambda _, leader=leader: leader.protocol.deregister(), False)
        self._run_jobs("the deregistration")
        self._insist("the deregistration")

    def collective(self, workload: Workload) -> Outcome:
        """Runs one collective on all cores, all beginning now, and compares every core's result."""
        cores = len(self.machine.cores)
        vectors = [group_vectors(workload, self.groups, node.number * cores) for node in self.nodes]
        begun = self._runner.now
        for node in self.nodes:
            for leader, vector in zip(node.leaders, vectors[node.number], strict=True):
                build = self._builder(workload, leader.protocol)
                leader.begin(self._runner.now, _pieces(vector, self.config.segment_bytes), build)
        self._run_jobs(f"the {workload.collective.name.lower()}")
        end = latest(*(leader.end for node in self.nodes for leader in node.leaders))
        trouble = self._trouble() or self._early(workload)
        mismatch = None
        if not trouble:
            expected = expected_result(workload, vectors, self.tree)
            mismatch = first_mismatch(workload, self._results(workload), expected, cores)
        segments = len(_pieces(vectors[0][0], self.config.segment_bytes))
        return Outcome(mismatch, trouble, end.time - begun, parts_of(end), segments)

    def _builder(self, workload: Workload, protocol) -> Callable[[bytes], bytes]:
        if workload.collective is Collective.BARRIER:
            return lambda _: protocol.barrier()
        return lambda piece: protocol.allreduce(piece, workload.operator, workload.data_type)

    def _results(self, workload: Workload) -> np.ndarray:
        """The bytes that each core of the cluster holds, a row a core."""
        cores = len(self.machine.cores)
        results = np.zeros((len(self.nodes) * cores, workload.row_bytes), np.uint8)
        for node in self.nodes:
            for leader in node.leaders:
                payload = b"".join(leader.answers[segment].payload for segment in sorted(leader.answers))
                vector = np.frombuffer(payload, np.uint8)[: workload.row_bytes]
                for core in leader.group.cores:
                    results[node.number * cores + core, : len(vector)] = vector
        return results

    def _trouble(self) -> str:
        for node in self.nodes:
            for leader in node.leaders:
                for segment, answer in sorted(leader.answers.items()):
                    if not answer.ok:
                        status = answer.status.name if isinstance(answer.status, Status) else answer.status
                        return f"node {node.number} leader {leader.group.index}, segment {segment}: {status}"
        return ""

    def _early(self, workload: Workload) -> str:
        """Nobody may have a result before everybody came: what a barrier is for, and what holds for all others too."""
        leaders = [leader for node in self.nodes for leader in node.leaders]
        last_came = max(leader.first_posted or 0 for leader in leaders)
        first_left = min(leader.first_seen or 0 for leader in leaders)
        if first_left >= last_came:
            return ""
        return f"a leader left the {workload.collective.name.lower()} {last_came - first_left} ps before the last came"

    def _insist(self, what: str) -> None:
        if trouble := self._trouble():
            raise SimulationError(f"{what} failed: {trouble}")

    # ----------------------------------------------------------------------------------------- regular traffic

    def start_background(self, frames: Sequence[bytes], load: float) -> int:
        """Regular traffic through every NIC in both directions from now on, at ``load`` times the rate of its ports.

        Frames that are collectives of ours are left out; how many.
        """
        regular = without_collectives(frames, self.config.udp_port, self.communicator.owns)
        for node in self.nodes:
            for port in Port:
                pace = Channel("background", self._port_gbps * load, 0)
                self._background_left += len(regular)
                self._next_regular(self._runner.now, node, port, iter(regular), pace)
        return len(frames) - len(regular)

    def _next_regular(self, time: int, node: Node, port: Port, frames: Iterator[bytes], pace: Channel) -> None:
        frame = next(frames, None)
        if frame is None:
            return
        self._background_left -= 1
        node.enter_regular(time, port, frame)
        self._agenda.plan(pace.send(len(frame), time), self._next_regular, node, port, frames, pace)

    # ------------------------------------------------------------------------------------------------------- time

    def _run_jobs(self, what: str) -> None:
        leaders = [leader for node in self.nodes for leader in node.leaders]
        total = sum(leader.segments for leader in leaders)
        self._runner.run(
            lambda: all(leader.done for leader in leaders),
            lambda: self._hung(what),
            lambda: self._progress(sum(len(leader.answers) for leader in leaders), total),
        )
        self._runner.now = max([self._runner.now, *(leader.end.time for leader in leaders)])
        for node in self.nodes:
            node.forget()

    def drain(self) -> None:
        """Runs until every NIC is quiet, and all regular traffic should be out."""
        self._runner.run(lambda: False, lambda: None, lambda: None)
        for node in self.nodes:
            for stream in node.streams.values():
                stream.close()

    def _hung(self, what: str) -> None:
        for node in self.nodes:
            for leader in node.leaders:
                if not leader.done:
                    raise SimulationError(
                        f"{what} hangs: node {node.number} leader {leader.group.index} (core {leader.group.leader}) "
                        f"waits for {leader.waiting}"
                    )

    def close(self) -> None:
        """Frees the NICs; waveforms are complete afterwards."""
        for node in self.nodes:
            node.nic.nic.close()


def _look_ahead(host: HostParameters, network: NetworkParameters) -> int:
    """The shortest way from one NIC to another, or through a leader and back, in ps."""
    through_leader = host.delivery_ns(0) + host.completion_ns + host.post_ns + host.injection_ns(0, False)
    return picoseconds(min(network.link_ns, through_leader))


def _pieces(vector: bytes, segment_bytes: int) -> list[bytes]:
    """The segments of a vector; a vector of nothing is one empty segment."""
    return [vector[at : at + segment_bytes] for at in range(0, len(vector), segment_bytes)] or [b""]
