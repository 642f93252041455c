"""A tree of NICs over a network that loses, doubles, delays and damages frames; leaders that are late, or stop.

Each leader reduces a vector from which one reads who is in the sum, how often, and of which segment it is.
"""

import random
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from fanfold.codes import Collective, DataType, Operator, Port, Status
from fanfold.config import Config
from fanfold_sim.frames import Address, build
from fanfold_sim.leader import Answer, Leader
from fanfold_sim.nic import Nic, Timing

__all__ = ["Chances", "LossyTree", "Member"]

LEADERS = 2
#: cycles that pass between looks at the network and the leaders
_STEP = 16
#: cycles after which a leader asks again what has no outcome, and that it is late at most
_ASKS_AGAIN, _LATEST = 40_000, 20_000


@dataclass(frozen=True)
class Chances:
    """What happens to each frame in the network, and to each segment of a leader: chances from 0 to 1."""

    loss: float = 0
    double: float = 0
    damage: float = 0
    late: float = 0
    #: cycles that a frame takes at most
    delay: int = 200


@dataclass
class Member:
    """A leader of a node: what it sent last of each segment that has no outcome, when, and all outcomes."""

    node: int
    index: int
    leader: Leader
    #: of its packets, the first of which is the registration: that many are sent before it stops
    stops: int | None = None
    wakes: int = 0
    sent: dict[int, tuple[int, dict]] = field(default_factory=dict)
    outcomes: list[Answer] = field(default_factory=list)


class LossyTree:
    """``parents`` names the parent of each node, or none for the root; each has two leaders, an abort time, and its
    ``timings``. They register, reduce ``segments`` times, and deregister, with sequence numbers from ``first`` on."""

    def __init__(
        self,
        config: Config,
        make: Callable[[Config], Nic],
        parents: list[int | None],
        chances: Chances,
        *,
        abort_ticks: list[int],
        timings: list[Timing],
        segments: int,
        seed: int,
        first: int = 0xFFFFFFF0,
    ):
        self.rng = random.Random(seed)
        self.config, self.chances, self.segments = config, chances, segments
        self.parents, self.abort_ticks = parents, abort_ticks
        self.nics = [make(config) for _ in parents]
        self.addresses = [
            Address(0x0200_00F0_0000 + node, 0x0AF0_0001 + node, config.udp_port) for node in range(len(parents))
        ]
        self.dead: set[int] = set()
        self.members = []
        for node, nic in enumerate(self.nics):
            nic.set_local_mac(self.addresses[node].mac)
            nic.set_timing(timings[node])
            for index in range(LEADERS):
                here = Address(0x0200_0000_0000 + 16 * node + index, 0x0A00_0000 + 16 * node + index, 5000, queue=index)
                leader = Leader(here, self.addresses[node], 3, 0xF01D, index, coll_tag=first)
                self.members.append(Member(node, index, leader))
        self.first = first
        self.now = 0
        self._flying: list[tuple[int, int, int, bytes, bool]] = []
        self._flown = 0

    def total(self, segment: int) -> bytes:
        """What segment ``segment`` must add up to."""
        everyone = sum(1 << 4 * number for number in range(len(self.members)))
        return struct.pack("<III", everyone, len(self.members), len(self.members) * segment)

    def run(self, limit: int) -> None:
        """Runs until every leader that does not stop has all its outcomes; fails after ``limit`` cycles."""
        while not all(self._done(member) for member in self.members):
            assert self.now < limit, f"no outcome: {[len(member.outcomes) for member in self.members]}"
            self.step()

    def step(self) -> None:
        """Some cycles of all: leaders, network, NICs."""
        for member in self.members:
            self._act(member)
        while self._flying and self._flying[0][0] <= self.now:
            _, _, node, frame, bad = heappop(self._flying)
            if node not in self.dead:
                self.nics[node].offer(Port.NET, frame, cycle=self.now, bad=bad)
        self.now += _STEP
        for node, nic in enumerate(self.nics):
            for gone in nic.run(self.now):
                if node in self.dead:
                    continue
                if gone.port is Port.NET:
                    self._fly(gone.frame)
                else:
                    self._hear(node, gone.queue, gone.frame)

    def _fly(self, frame: bytes) -> None:
        [node] = [at for at, address in enumerate(self.addresses) if address.mac == int.from_bytes(frame[:6], "big")]
        if self.rng.random() < self.chances.loss:
            return
        for _ in range(1 + (self.rng.random() < self.chances.double)):
            self._flown += 1
            bad = self.rng.random() < self.chances.damage
            arrives = self.now + self.rng.randrange(self.chances.delay)
            heappush(self._flying, (arrives, self._flown, node, frame, bad))

    # ------------------------------------------------------------------------------------------------------ the leaders

    def _done(self, member: Member) -> bool:
        if member.node in self.dead or member.stops is not None:
            return True
        return len(member.outcomes) == self.segments + 2 or self._unregistered(member)

    def _unregistered(self, member: Member) -> bool:
        """Whether it has heard that there is no communicator."""
        return bool(member.outcomes) and not member.outcomes[0].ok

    def _hear(self, node: int, index: int, frame: bytes) -> None:
        member = self.members[LEADERS * node + index]
        answer = member.leader.hear(frame)
        if answer is None:
            return
        member.sent.pop(answer.coll_tag, None)  # a segment may have ended before its part was sent
        member.outcomes.append(answer)
        segment = (answer.coll_tag - self.first) % (1 << 32)
        if answer.ok and answer.collective is Collective.ALLREDUCE:
            assert answer.payload == self.total(segment), f"segment {segment} at node {node}: {answer.payload.hex()}"

    def _act(self, member: Member) -> None:
        """Sends what may be sent, and asks for what has no outcome for long."""
        if member.node in self.dead or self.now < member.wakes or self._unregistered(member):
            return
        leader = member.leader
        for tag, (sent, fields) in member.sent.items():
            if self.now - sent > _ASKS_AGAIN:
                self._offer(member, build(leader.packet(coll_tag=tag, repeat=1, **fields)))
                member.sent[tag] = self.now, fields
                return
        while leader.is_over:
            leader.skip()
        number = (leader.coll_tag - self.first) % (1 << 32)
        stopped = member.stops is not None and number >= member.stops
        if stopped or number == self.segments + 2 or not leader.may_send or (number and not member.outcomes):
            return
        if number == self.segments + 1 and member.sent:
            return
        if self.rng.random() < self.chances.late:
            member.wakes = self.now + self.rng.randrange(_LATEST)
            return
        tag = leader.coll_tag
        frame, fields = self._packet(member, number)
        self._offer(member, frame)
        member.sent[tag] = self.now, fields

    def _offer(self, member: Member, frame: bytes) -> None:
        self.nics[member.node].offer(Port.HOST, frame, cycle=self.now, queue=member.index)

    def _packet(self, member: Member, number: int) -> tuple[bytes, dict]:
        """The ``number``th packet of a leader, and what its repeats say."""
        leader = member.leader
        if number == 0:
            return leader.register(**self._record(member.node)), {}
        if number == self.segments + 1:
            return leader.deregister(), dict(collective=Collective.DEREGISTER)
        mine = LEADERS * member.node + member.index
        payload = struct.pack("<III", 1 << 4 * mine, 1, number)
        codes = dict(operator=Operator.SUM, data_type=DataType.UINT32)
        frame = leader.allreduce(payload, **codes)
        return frame, dict(payload=payload, opt_code=Operator.SUM, data_type=DataType.UINT32)

    def _record(self, node: int) -> dict:
        parent = self.parents[node]
        siblings = [each for each, above in enumerate(self.parents) if above == parent]
        says = dict(ranks=1, leaders=LEADERS, window=self.config.window, node=node, children=self.parents.count(node))
        if parent is not None:
            says.update(
                parent=self.addresses[parent],
                parent_index=LEADERS + siblings.index(node),
                parent_total=LEADERS + self.parents.count(parent),
            )
        return dict(**says, abort_ticks=self.abort_ticks[node])

    def statuses(self) -> Counter:
        """How often which outcome was heard."""
        return Counter(Status(answer.status) for member in self.members for answer in member.outcomes)
