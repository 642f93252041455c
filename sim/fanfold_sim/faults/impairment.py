"""What links do to frames: lose them, double them, hold them back, change a byte. Random, by a seed.

A byte that changes on a link makes the frame check wrong: the receiver's MAC drops the frame or marks it as bad. Here
it is marked, which is the harder case: the NIC has to see the mark, and the frame may look like another one. What
changes a byte *behind* the check of one link and before that of the next (a switch's memory) is not modelled: the
NICs send no UDP checksums, and nothing in a packet would tell.
"""

import random
from dataclasses import dataclass

from .injection import Injection, Rates

__all__ = ["Arrival", "Impaired", "Impairment"]

#: a switch has forwarded by the destination's address: what comes to a NIC has it
_FIRST_THAT_CHANGES = 6


@dataclass
class Impaired:
    """How many frames came to the impaired links, and what happened to how many."""

    frames: int = 0
    lost: int = 0
    duplicated: int = 0
    held_back: int = 0
    corrupted: int = 0


@dataclass(frozen=True, slots=True)
class Arrival:
    """A frame at the far end, ``delay`` ps later than it would have been, ``bad`` when its frame check is wrong."""

    delay: int
    frame: bytes
    bad: bool = False


class Impairment:
    """Impairs frames as ``injection`` says; ``period`` is the NICs' clock in ps. ``up`` and ``down`` count."""

    def __init__(self, injection: Injection, period: int):
        self.up, self.down = Impaired(), Impaired()
        self._rates = {False: (injection.up, self.up), True: (injection.down, self.down)}
        self._cycles = injection.reorder_cycles
        self._period = period
        self._random = random.Random(f"impairment {injection.seed}")

    def pass_on(self, frame: bytes, goes_down: bool) -> list[Arrival]:
        """What of ``frame`` arrives: nothing, the frame, or two copies of it, each perhaps late or changed."""
        rates, count = self._rates[goes_down]
        count.frames += 1
        if self._happens(rates.loss):
            count.lost += 1
            return []
        arrivals = [self._copy(frame, rates, count)]
        if self._happens(rates.duplicate):
            count.duplicated += 1
            second = self._copy(frame, rates, count)
            arrivals.append(Arrival(second.delay + self._some_time(), second.frame, second.bad))
        return arrivals

    def _copy(self, frame: bytes, rates: Rates, count: Impaired) -> Arrival:
        delay = 0
        if self._happens(rates.reorder):
            count.held_back += 1
            delay = self._some_time()
        if not self._happens(rates.corrupt):
            return Arrival(delay, frame)
        count.corrupted += 1
        changed = bytearray(frame)
        changed[self._random.randrange(_FIRST_THAT_CHANGES, len(frame))] ^= self._random.randint(1, 255)
        return Arrival(delay, bytes(changed), bad=True)

    def _happens(self, rate: float) -> bool:
        return rate > 0 and self._random.random() < rate

    def _some_time(self) -> int:
        return self._random.randint(1, self._cycles) * self._period
