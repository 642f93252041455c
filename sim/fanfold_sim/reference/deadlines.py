"""What is timed, and until which tick."""

from ..nic import Timing
from .contexts import Entry, Slot

__all__ = ["Deadlines"]

#: in place of a slot: the entry itself is timed
_ENTRY = -1


class Deadlines:
    """Ticks at which something is due, by context and slot; ``now`` is set from outside, ``timing`` by the host.

    A segment that is open is remembered also when nothing is due for it: with ``timing.measure`` time counts all the
    same.
    """

    def __init__(self, contexts: int, window: int):
        self.now = 0
        self.timing = Timing()
        self._contexts, self._window = contexts, window
        self._due: dict[tuple[int, int], int] = {}
        self._open: set[tuple[int, int]] = set()

    def patience(self, entry: Entry) -> int:
        """How long contributors are waited for; 0: for ever."""
        return entry.abort_ticks or self.timing.abort_ticks

    def silence(self, entry: Entry) -> int:
        """How long the parent may be silent until something is done about it; 0: for ever."""
        return self.timing.retry_ticks or 2 * self.patience(entry)

    def may_repeat(self, repeats: int) -> bool:
        """Whether the parent is asked again after so many repeats, or given up."""
        return self.timing.retry_ticks > 0 and repeats < self.timing.retry_limit

    def set(self, entry: Entry, slot: Slot | None, ticks: int) -> None:
        """``entry``, or its ``slot``, is due in ``ticks`` from now; 0: never. What was set before does not count."""
        key = self._key(entry, slot)
        if slot is not None:
            self._open.add(key)
        self._due.pop(key, None)
        if ticks:
            self._due[key] = self.now + ticks

    def clear(self, entry: Entry, slot: Slot | None) -> None:
        """Nothing of ``entry`` itself, or of its ``slot``, is waited for any more."""
        key = self._key(entry, slot)
        self._due.pop(key, None)
        self._open.discard(key)

    def forget(self, entry: Entry) -> None:
        """Nothing of ``entry`` and of its slots is."""
        self.clear(entry, None)
        for slot in entry.slots:
            self.clear(entry, slot)

    @property
    def running(self) -> bool:
        """Whether time counts."""
        return bool(self._due) or (self.timing.measure and bool(self._open))

    @property
    def next(self) -> int | None:
        """The first tick at which something is due."""
        return min(self._due.values(), default=None)

    def due(self) -> list[tuple[int, int | None]]:
        """Numbers of the contexts, and of the slots or none, of all that is due now, in order."""
        keys = sorted(key for key, tick in self._due.items() if tick <= self.now)
        return [(context, None if number == _ENTRY else number) for context, number in keys]

    def _key(self, entry: Entry, slot: Slot | None) -> tuple[int, int]:
        return entry.comm_id % self._contexts, _ENTRY if slot is None else slot.turn % self._window
