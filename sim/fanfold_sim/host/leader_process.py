"""A leader core at work: takes in its members' data, posts segments, sees results, hands them to its members.

It is one core, so it does one thing at a time. In order of urgency: see a result that has come, post a segment that is
ready and may go, hand a result to the members, combine the next segment. What it says to the NIC is
``fanfold_sim.leader``; this file knows only when. It may be told to be late, to die, and to repeat.
"""

from collections import deque
from collections.abc import Callable, Sequence

from ..leader import Answer, Leader
from ..network import picoseconds
from ..topology import CoreGroup, Machine
from .errors import SimulationError
from .events import Agenda
from .milestones import Milestone, latest
from .parameters import HostParameters

__all__ = ["LeaderProcess"]

#: repeats of one packet after which a leader waits silently
_MOST_REPEATS = 100


class LeaderProcess:
    """The leader of ``group``. ``inject(time, leader, frame, size, milestone)`` takes what it has posted."""

    def __init__(
        self,
        agenda: Agenda,
        parameters: HostParameters,
        machine: Machine,
        group: CoreGroup,
        protocol: Leader,
        inject: Callable[[int, "LeaderProcess", bytes, int, Milestone], None],
    ):
        self.group = group
        self.protocol = protocol
        self.far = machine.cores[group.leader].package != parameters.nic_package
        self._agenda = agenda
        self._parameters = parameters
        self._distances = [machine.distance(core, group.leader) for core in group.members]
        self._inject = inject
        #: ps by which it begins each collective later than it might
        self.late = 0
        #: segments that it contributes until it dies, ``when_it_dies`` is called then; never for ``None``
        self.dies_after: int | None = None
        self.when_it_dies: Callable[[], None] = lambda: None
        self.dead = False
        #: ps after which it repeats a packet that has no result; 0: never
        self.repeats_after = 0
        #: packets that it repeated
        self.repeats = 0
        self._contributed = 0
        self._wake: int | None = None
        self._pieces: Sequence[bytes] = ()
        self._start(Milestone(0))

    def _start(self, start: Milestone) -> None:
        #: results of this job, by segment
        self.answers: dict[int, Answer] = {}
        #: the last that happened in this group for this job
        self.end = start
        #: when the leader posted each segment, and saw each result
        self.posted: dict[int, int] = {}
        self.seen: dict[int, int] = {}
        self._begun = self._cpu = self._credit = start
        self._arrived: deque[tuple[Answer, Milestone]] = deque()
        self._to_distribute: deque[tuple[int, Milestone]] = deque()
        self._combined: deque[tuple[int, Milestone]] = deque()
        self._distributed = self._passed = 0

    def begin(
        self, time: int, pieces: Sequence[bytes], build: Callable[[bytes], bytes], with_members: bool = True
    ) -> None:
        """Begins a job at ``time``: ``pieces`` are the group's segments; ``build`` makes the frame of the next one.

        Without members (registrations) the leader acts alone, and at once.
        """
        start = Milestone(time)
        if with_members and self.late:
            start = start.then(time + self.late, "member_stage")
        self._start(start)
        self._pieces = pieces
        self._counts = with_members
        self._build = build
        self._others = self._distances if with_members else []
        self._next_to_combine = 0
        self._first_tag = self.protocol.coll_tag
        self._members_ready = self._member_times(start.time)
        self._plan(start.time)

    def abandon(self) -> None:
        """Ends the job as it is: nothing is awaited any more."""
        self._pieces = ()
        self._distributed = self._passed = 0
        self._combined.clear()

    def die(self) -> None:
        """Nothing is done from now on."""
        self.dead = True

    @property
    def done(self) -> bool:
        """Every core of the group has every segment's result, and the leader has come to every segment; or it died."""
        return self.dead or self._distributed == self._passed == len(self._pieces)

    @property
    def segments(self) -> int:
        """Segments of this job."""
        return len(self._pieces)

    @property
    def waiting(self) -> str:
        """What is missing, in words."""
        missing = [segment for segment in range(len(self._pieces)) if segment not in self.answers]
        return f"{len(missing)} of {len(self._pieces)} results"

    def receive(self, time: int, answer: Answer, milestone: Milestone) -> None:
        """A result is in the leader's memory. Raises ``SimulationError`` when it is of no segment of this job."""
        if self.dead:
            return
        segment = (answer.coll_tag - self._first_tag) % (1 << 32)
        if segment >= len(self._pieces):
            raise SimulationError(f"leader {self.group.index} has a result of segment {segment}, which nobody began")
        self._arrived.append((answer, milestone))
        self._work(time)

    # ------------------------------------------------------------------------------------------------ the one core

    def _work(self, time: int) -> None:
        if self.dead:
            return
        if time >= self._cpu.time and not self._do_one(time):
            return
        self._plan(self._cpu.time)

    def _plan(self, time: int) -> None:
        if self._wake is None or time < self._wake:
            self._wake = time
            self._agenda.plan(time, self._woken)

    def _woken(self, time: int) -> None:
        if time == self._wake:
            self._wake = None
            self._work(time)

    def _do_one(self, time: int) -> bool:
        """Does the most urgent thing; whether there may be more once the core is free again."""
        if self._arrived:
            self._see(*self._arrived.popleft())
        elif self._combined and self.protocol.is_over:
            self._combined.popleft()
            self.protocol.skip()
            self._passed += 1
        elif self._combined and self._counts and self._contributed == self.dies_after:
            self.die()
            self.when_it_dies()
            return False
        elif self._combined and self.protocol.may_send:
            self._post(time, *self._combined.popleft())
        elif self._to_distribute:
            self._distribute(*self._to_distribute.popleft())
        elif self._next_to_combine < len(self._pieces):
            ready = self._members_ready[self._next_to_combine]
            if ready > time:
                self._plan(ready)
                return False
            self._combine(ready)
        else:
            return False
        return True

    def _see(self, answer: Answer, milestone: Milestone) -> None:
        begin = latest(milestone, self._cpu)
        self._cpu = begin.then(begin.time + picoseconds(self._parameters.completion_ns), "delivery")
        self._credit = self._cpu
        segment = (answer.coll_tag - self._first_tag) % (1 << 32)
        self.seen[segment] = self._cpu.time
        self.answers[segment] = answer
        self._to_distribute.append((segment, self._cpu))

    def _post(self, time: int, segment: int, ready: Milestone) -> None:
        piece = self._pieces[segment]
        # what the posting waited for: the core, the segment's data, or the result that made room in the window
        begin = latest(ready, self._cpu, self._credit)
        self._cpu = begin.then(max(time, begin.time) + picoseconds(self._parameters.post_ns), "injection")
        self.posted[segment] = self._cpu.time
        self._passed += 1
        self._contributed += self._counts
        posted, tag = self._cpu, self.protocol.coll_tag
        self._inject(posted.time, self, self._build(piece), len(piece), posted)
        if self.repeats_after:
            self._agenda.plan(
                self._cpu.time + self.repeats_after, self._repeat, tag, len(piece), self._cpu, _MOST_REPEATS
            )

    def _repeat(self, time: int, tag: int, size: int, posted: Milestone, left: int) -> None:
        """The result has not come in time. The core's own time for this is left out: it only waits."""
        if self.dead or not left or tag not in self.protocol.unanswered:
            return
        self.repeats += 1
        again = posted.then(time, "injection")
        self._inject(time, self, self.protocol.repeat(tag), size, again)
        self._agenda.plan(time + self.repeats_after, self._repeat, tag, size, again, left - 1)

    def _distribute(self, segment: int, seen: Milestone) -> None:
        """One message to each member, one after the other."""
        message = picoseconds(self._parameters.message_ns)
        begin = latest(seen, self._cpu)
        time, size = begin.time, len(self.answers[segment].payload)
        self.end = latest(self.end, seen)
        for distance in self._others:
            time += message
            arrival = time + picoseconds(self._parameters.hop_ns(distance, size)) + message
            self.end = latest(self.end, begin.then(arrival, "distribution"))
        self._cpu = begin.then(time, "distribution")
        self._distributed += 1

    # ---------------------------------------------------------------------------------------------- the member stage

    def _member_times(self, start: int) -> list[int]:
        """For each segment, from when on the leader can combine it without waiting for a member in between.

        Every member writes its segments one after the other, as fast as lines travel.
        """
        parameters, times, sending = self._parameters, [], start
        message = picoseconds(parameters.message_ns)
        for piece in self._pieces:
            sending += message
            work = self._combine_time(len(piece)) // max(1, len(self._others))
            end = start
            for distance in self._others:
                arrival = sending + picoseconds(parameters.hop_ns(distance, len(piece)))
                end = max(end, arrival) + work
            times.append(end - work * len(self._others))
            sending += picoseconds(parameters.next_line_ns * (len(piece) // 64))
        return times

    def _combine_time(self, size: int) -> int:
        return len(self._others) * picoseconds(self._parameters.reduce_ns(size))

    def _combine(self, ready: int) -> None:
        segment = self._next_to_combine
        self._next_to_combine += 1
        begin = latest(self._begun.then(ready, "member_stage"), self._cpu)
        self._cpu = begin.then(begin.time + self._combine_time(len(self._pieces[segment])), "member_stage")
        self._combined.append((segment, self._cpu))
