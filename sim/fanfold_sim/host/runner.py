"""Lets the time pass for NICs and hosts together.

The NICs advance in windows that are no longer than the shortest way from one NIC to another, or through a leader and
back: whatever leaves one inside a window can reach the next only after it. Between windows the host's events are
worked off. When every NIC is quiet, time jumps to the next event.
"""

from collections.abc import Callable, Sequence

from .events import Agenda
from .node import Node
from .timed_nic import Left

__all__ = ["Runner"]

#: cycles in which the NICs may be busy without anything going in or out; the largest instance needs a few thousand
_PATIENCE = 20_000
#: cycles of a window at most, so that a NIC that falls quiet does not run on for long
_WINDOW_CYCLES = 32


class Runner:
    """Runs ``nodes`` and ``agenda``; ``period`` is the NICs' clock and ``look_ahead`` the shortest way, in ps.

    ``timed`` is for how many cycles a NIC may wait before one of its timers ends.
    """

    def __init__(self, agenda: Agenda, nodes: Sequence[Node], period: int, look_ahead: int, timed: int = 0):
        #: the time up to which everything has happened
        self.now = 0
        self._agenda = agenda
        self._nodes = nodes
        self._period = period
        self._patience = _PATIENCE + timed
        self._window = max(period, min(look_ahead, _WINDOW_CYCLES * period))

    def run(
        self, done: Callable[[], bool], stuck: Callable[[], None], tell: Callable[[], None], waits: int | None = None
    ) -> None:
        """Runs until ``done``; calls ``stuck`` when nothing can happen any more, nothing has for long, or it takes
        longer than ``waits`` times as long as all timers.

        ``tell`` is called once a window.
        """
        idle = 0
        end = None if waits is None else self.now + waits * self._patience * self._period
        while not done():
            tell()
            due = self._agenda.next
            if end is not None and self.now > end:
                return stuck()
            if not any(node.busy for node in self._nodes):
                if due is None:
                    return stuck()
                self.now = max(self.now, due)
            until = self.now + self._window
            self._agenda.work(until)
            moved = self._run_nics(until)
            idle = 0 if moved or due is not None else idle + self._window // self._period
            if idle > self._patience:
                return stuck()
            self.now = until
        tell()
        return None

    def _run_nics(self, until: int) -> bool:
        """Runs the NICs that are not quiet, and hands on what came out in order of time; whether anything moved."""
        departures: list[tuple[int, int, int, Left]] = []
        moved = False
        for node in self._nodes:
            if not node.busy:
                continue
            accepted, left = node.nic.run(until)
            moved = moved or bool(accepted)
            for taken in accepted:
                node.went_in(taken)
            departures += [(one.last, node.number, at, one) for at, one in enumerate(left)]
        for _, number, _, one in sorted(departures, key=lambda item: item[:3]):
            self._nodes[number].came_out(one)
        return moved or bool(departures)
