"""A NIC on the cluster's clock: picoseconds instead of cycles, and no cycles spent while it is quiet.

A quiet NIC has no state that time changes, so the cycles until its next frame are left out: its own cycle counter (and
its waveform) runs only while it has work.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

from fanfold.codes import Port

from ..nic import Nic

__all__ = ["Accepted", "Left", "TimedNic"]

#: quiet cycles that are run before the first frame after a pause, so that waveforms show where it begins
_PAUSE = 2


@dataclass(frozen=True, slots=True)
class Left:
    """A frame that left the NIC; times are the ends of the cycles of its first and last beats."""

    port: Port
    frame: bytes
    queue: int
    bad: bool
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """A frame that is completely in: what was offered with it, and the ends of its first and last cycles."""

    port: Port
    token: Any
    first: int
    last: int


class TimedNic:
    """``nic`` with a clock of ``period`` picoseconds."""

    def __init__(self, nic: Nic, period: int):
        self.nic = nic
        self.period = period
        self._skipped = 0
        self._tokens: dict[Port, deque] = {port: deque() for port in Port}

    @property
    def quiet(self) -> bool:
        """Nothing waits, and nothing can come out."""
        return self.nic.quiet

    def offer(self, port: Port, frame: bytes, time: int, token: Any, queue: int = 0, bad: bool = False) -> int:
        """Offers ``frame`` from the first cycle that begins at ``time`` or later; when that is.

        Calls must be in order of time and not before what was run. ``token`` comes back when the frame is in.
        """
        cycle = -(-time // self.period)
        if self.nic.quiet:
            self._skipped = max(self._skipped, cycle - _PAUSE - self.nic.cycle)
        cycle = max(cycle - self._skipped, self.nic.cycle)
        self.nic.offer(port, frame, cycle=cycle, queue=queue, bad=bad)
        self._tokens[port].append(token)
        return (cycle + self._skipped) * self.period

    def run(self, until: int) -> tuple[list[Accepted], list[Left]]:
        """Runs the cycles that begin before ``until``: what went in, and what came out, each in order."""
        cycle = -(-until // self.period) - self._skipped
        departures = self.nic.run(cycle) if cycle > self.nic.cycle else []
        accepted = [
            Accepted(port, self._tokens[port].popleft(), self._end(first), self._end(last))
            for port, first, last in self.nic.accepted_cycles()
        ]
        left = [
            Left(one.port, one.frame, one.queue, one.bad, self._end(one.first_cycle), self._end(one.last_cycle))
            for one in departures
        ]
        return accepted, left

    def _end(self, cycle: int) -> int:
        return (cycle + self._skipped + 1) * self.period
