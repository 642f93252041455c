"""Nodes, their NICs in a tree, and the switch between them, run together at the grain of packets.

This file puts them together and says what each leader has to do; ``runner`` lets the time pass.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fanfold.codes import Collective, Direction, Port, Status
from fanfold.config import Config

from ..faults import Impairment, Injection, longest, timing_at
from ..frames import parse
from ..network import Channel, Switch, picoseconds
from ..nic import Nic, Timing
from ..topology import CoreGroup, Machine
from .addresses import Communicator, leader_address, nic_address
from .background import without_collectives
from .events import Agenda
from .fallback import SoftwareJob
from .leader_process import LeaderProcess
from .milestones import Milestone, latest, parts_of
from .node import Captures, Node, SimulationError
from .outcome import Outcome
from .parameters import HostParameters, NetworkParameters
from .runner import Runner
from .software import read_software
from .tenant import tenant_of
from .timed_nic import TimedNic
from .tree import NicTree
from .verdict import judge
from .workload import Workload, expected_result, first_mismatch, group_vectors

__all__ = ["Cluster", "Outcome", "Refused"]


class Refused(SimulationError):
    """The NICs do not take the communicator; nothing was done, and the collective can be done in software."""


class Cluster:
    """``nodes`` machines; ``make(node)`` makes the NIC of each. ``progress(done, total)`` is told of results seen.

    ``timing`` is what the NICs are told to wait for, each by its place in the tree (``timing_at``);
    nothing for ``None``.
    With an ``injection`` results may fail, and that is no error; wrong ones, and hangs, are.

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
        timing: Timing | None = None,
        injection: Injection | None = None,
    ):
        self.machine = machine
        self.groups = tuple(groups)
        self.config = config
        self.tree = NicTree.that_fits(nodes, len(groups), config.contributors)
        self.communicator = Communicator.made_up(seed)
        self.period = max(1, round(1e6 / network.nic_mhz))
        self.links: list[Channel] = []
        self.timing = timing
        self.injection = injection
        self.impairment = None if injection is None else Impairment(injection, self.period)
        self._host = host
        self._agenda = Agenda()
        #: is told of results seen, and how many there will be
        self.progress = progress or (lambda done, total: None)
        self._background_left = 0
        self._software_jobs = 0
        # a port moves what its link moves, or what a beat a cycle is, whichever is less
        self._port_gbps = min(network.link_gbps, 8000 * config.beat_bytes / self.period)
        self._switch = Switch(picoseconds(network.switch_ns), self._from_switch)
        self.nodes: list[Node] = []
        #: for each of the switch's ports, the node behind it
        self._behind: list[int] = []
        timed = 0 if timing is None else max(longest(self._timing(node, timing)) for node in range(nodes))
        self._runner = Runner(
            self._agenda, self.nodes, self.period, _look_ahead(host, network), timed << config.tick_bits
        )
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
        for mac in (address.mac, leader_address(number, 0, self.config).mac):
            self._switch.attach(mac, downlink)
            self._behind.append(number)
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
            impaired=self.injection is not None,
        )
        if self.timing is not None:
            nic.set_timing(self._timing(number, self.timing))
        if self.injection is not None:
            self._afflict(node, self.injection)
        self.links += [node.bus_in, node.bus_out, uplink, downlink]
        return node

    def _timing(self, node: int, timing: Timing) -> Timing:
        return timing_at(timing, self.tree.level(node), self.tree.height(node))

    def _afflict(self, node: Node, injection: Injection) -> None:
        """Tells a node's leaders what will happen to them."""
        for leader in node.leaders:
            who = node.number, leader.group.index
            leader.late = injection.late.get(who, 0) * self.period
            leader.dies_after = injection.dead.get(who)
            leader.repeats_after = injection.leaders_repeat * self.period
            node_dies_after = injection.dead_nodes.get(node.number)
            if node_dies_after is not None and (leader.dies_after is None or node_dies_after <= leader.dies_after):
                leader.dies_after, leader.when_it_dies = node_dies_after, node.die

    def _from_switch(self, port: int, frame: bytes, time: int, milestone: Milestone) -> None:
        node = self.nodes[self._behind[port]]
        if self.impairment is None:
            self._agenda.plan(time, node.from_wire, frame, milestone)
            return
        for arrival in self.impairment.pass_on(frame, self._goes_down(frame)):
            self._agenda.plan(time + arrival.delay, node.from_wire, arrival.frame, milestone, arrival.bad)

    def _goes_down(self, frame: bytes) -> bool:
        packet = parse(frame, self.config.udp_port) or read_software(frame, self.config.udp_port, self.communicator)
        return packet is not None and packet.direction is Direction.DOWN

    # ------------------------------------------------------------------------------------------------------- jobs

    def register(self) -> int:
        """Every leader registers; the ranks of the communicator. Raises ``Refused`` when one is refused."""
        self._move_tenants_in()
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
                    abort_ticks=0 if self.timing is None else self._timing(node.number, self.timing).abort_ticks,
                )
                leader.begin(
                    self._runner.now,
                    [b""],
                    lambda _, leader=leader, fields=fields: leader.protocol.register(**fields),
                    False,
                )
        try:
            self._run_jobs("the registration")
        except SimulationError:
            # who is refused tells the others in software: nothing that they wait for can come
            if not self._trouble():
                raise
        # who refused says more than who waited for those that were refused
        told = [answer.status for leader in self._living() for answer in leader.answers.values() if not answer.ok]
        if told:
            waited = (Status.TIMED_OUT, Status.PEER_GONE)
            trouble = self._trouble(next((status for status in told if status not in waited), told[0]))
            for leader in self._living():
                leader.abandon()
            raise Refused(f"the registration failed: {trouble}")
        ranks = {leader.answers[0].ranks for node in self.nodes for leader in node.leaders}
        expected = len(self.nodes) * len(self.machine.cores)
        if ranks != {expected}:
            raise SimulationError(f"registered ranks are {sorted(map(str, ranks))}: they must be {expected} everywhere")
        return expected

    def _move_tenants_in(self) -> None:
        """Where a NIC is to be full, another communicator registers first, and stays."""
        for number in sorted(self.injection.full) if self.injection is not None else ():
            node = self.nodes[number]
            tenant = tenant_of(self.communicator, number, node.address, self.config)
            node.post_tenant(self._runner.now, tenant, tenant.register(ranks=1, leaders=1, window=1))
            self._runner.run(lambda tenant=tenant: not tenant.unanswered, lambda: None, lambda: None)
            if tenant.ranks is None:
                raise SimulationError(f"node {number}: its NIC did not take the communicator that fills it")

    def deregister(self) -> str:
        """Every leader leaves, and the NICs forget the communicator; why not, where something was injected."""
        for node in self.nodes:
            for leader in node.leaders:
                leader.begin(self._runner.now, [b""], lambda _, leader=leader: leader.protocol.deregister(), False)
        self._run_jobs("the deregistration")
        if self.injection is None:
            self._insist("the deregistration")
        return self._trouble()

    def collective(self, workload: Workload) -> Outcome:
        """Runs one collective on all cores, all beginning now, and compares every core's result.

        Raises ``SimulationError`` when it hangs.
        """
        cores = len(self.machine.cores)
        vectors = [group_vectors(workload, self.groups, node.number * cores) for node in self.nodes]
        begun = self._runner.now
        for node in self.nodes:
            for leader, vector in zip(node.leaders, vectors[node.number], strict=True):
                build = self._builder(workload, leader.protocol)
                leader.begin(self._runner.now, _pieces(vector, self.config.segment_bytes), build)
        self._run_jobs(f"the {workload.collective.name.lower()}")
        end = latest(*(leader.end for leader in self._living()), Milestone(begun))
        segments = len(_pieces(vectors[0][0], self.config.segment_bytes))
        if self.injection is not None:
            wanted = _pieces(expected_result(workload, vectors, self.tree), self.config.segment_bytes)
            verdict = judge(self.nodes, self.tree, wanted, workload.data_type)
            return Outcome(None, verdict.wrong, end.time - begun, parts_of(end), segments, verdict)
        trouble = self._trouble() or self._early(workload)
        mismatch = None
        if not trouble:
            expected = expected_result(workload, vectors, self.tree)
            mismatch = first_mismatch(workload, self._results(workload), expected, cores)
        return Outcome(mismatch, trouble, end.time - begun, parts_of(end), segments)

    def collective_in_software(self, workload: Workload) -> Outcome:
        """The same collective by the hosts alone: NICs pass its frames through. Raises ``SimulationError``."""
        self._software_jobs += 1
        job = SoftwareJob(
            workload,
            self.machine,
            self.groups,
            self.tree,
            self.config,
            self.communicator,
            self._host,
            self._agenda,
            self._software_jobs,
        )
        return job.run(self.nodes, self._runner, self.progress)

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

    def _trouble(self, wanted: Status | int | None = None) -> str:
        """The first segment that ended with a status, or with ``wanted``: whose, and with which."""
        for node in self.nodes:
            for leader in node.leaders:
                for segment, answer in sorted(leader.answers.items()):
                    if not answer.ok and not leader.dead and wanted in (None, answer.status):
                        status = answer.status.name if isinstance(answer.status, Status) else answer.status
                        return f"node {node.number} leader {leader.group.index}, segment {segment}: {status}"
        return ""

    def _early(self, workload: Workload) -> str:
        """Nobody may have a result before everybody came: what a barrier is for, and what holds for all others too."""
        leaders = [leader for node in self.nodes for leader in node.leaders]
        last_came = max(leader.posted[0] for leader in leaders)
        first_left = min(leader.seen[0] for leader in leaders)
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
        # where results may be lost every segment ends by time, the last one when all before it did
        waits = None if self.injection is None else 2 + max(leader.segments for leader in leaders)
        self._runner.run(
            lambda: all(leader.done for leader in leaders),
            lambda: self._hung(what),
            lambda: self.progress(sum(len(leader.answers) for leader in leaders), total),
            waits,
        )
        self._runner.now = max([self._runner.now, *(leader.end.time for leader in leaders)])
        for node in self.nodes:
            node.forget()

    def drain(self) -> None:
        """Runs until every NIC is quiet, and all regular traffic should be out."""
        self._runner.run(lambda: False, lambda: None, lambda: None)
        for node in self.nodes:
            for stream in node.streams.values() if not node.dead else ():
                stream.close()

    def _living(self) -> list[LeaderProcess]:
        return [leader for node in self.nodes for leader in node.leaders if not leader.dead]

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
