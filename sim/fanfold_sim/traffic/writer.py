"""Frames for a NIC with the cycles in which they come, written one after another."""

import random
from dataclasses import dataclass

from fanfold.codes import Port
from fanfold.config import Config

__all__ = ["Arrival", "Writer"]

#: lengths of regular frames around beat boundaries
_REGULAR = (14, 59, 60, 63, 64, 65, 128, 200, 590)


@dataclass(frozen=True)
class Arrival:
    """A frame for a port, not before ``cycle``."""

    cycle: int
    port: Port
    frame: bytes
    queue: int = 0
    bad: bool = False


class Writer:
    """Writes arrivals one after another and keeps the time."""

    def __init__(self, config: Config, choices: random.Random):
        self.config = config
        self.choices = choices
        self.arrivals: list[Arrival] = []
        self._cycle = 0
        self._port = Port.HOST
        # longer than the way through the fold and the copies of everything that a burst can complete
        self._pause = (
            400
            + 30 * config.levels
            + config.contributors * (2 * config.window) * ((128 + config.segment_bytes) // config.beat_bytes)
        )

    def put(self, port: Port, frame: bytes, queue: int = 0, bad: bool = False) -> None:
        """The next frame: right behind the one before at the same port, after a pause at the other."""
        if port is not self._port:
            self.pause()
        self._port = port
        self._cycle += self.choices.choice((0, 0, 0, 1, 7))
        self.arrivals.append(Arrival(self._cycle, port, frame, queue, bad))
        self._cycle += -(-len(frame) // self.config.beat_bytes)

    def pause(self) -> None:
        """Leaves the NIC time to be done with everything."""
        self._cycle += self._pause

    def regular(self) -> None:
        """Perhaps a frame that is none of the NIC's business."""
        while self.choices.random() < 0.2:
            body = self.choices.randbytes(self.choices.choice(_REGULAR))
            port = self._port  # at the other one it would cost a pause
            self.put(port, body, self._queue(), self.choices.random() < 0.2)

    def _queue(self) -> int:
        return self.choices.randrange(1 << self.config.queue_bits)
