"""Things to do at a time, in order of time; those of the same time in the order in which they were planned."""

from collections.abc import Callable
from heapq import heappop, heappush

__all__ = ["Agenda"]


class Agenda:
    """A queue of calls by time in picoseconds."""

    def __init__(self):
        self._heap: list[tuple[int, int, Callable[..., None], tuple]] = []
        self._planned = 0

    def plan(self, time: int, call: Callable[..., None], *arguments) -> None:
        """Calls ``call(time, *arguments)`` when ``time`` has come."""
        heappush(self._heap, (time, self._planned, call, arguments))
        self._planned += 1

    @property
    def next(self) -> int | None:
        """When the next call is due."""
        return self._heap[0][0] if self._heap else None

    def work(self, until: int) -> None:
        """Makes all calls due before ``until``, those that are planned meanwhile too."""
        while self._heap and self._heap[0][0] < until:
            time, _, call, arguments = heappop(self._heap)
            call(time, *arguments)
