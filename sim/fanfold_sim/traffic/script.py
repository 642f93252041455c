"""Whole scripts: lives of communicators, one after another and beside each other."""

import random

from fanfold.codes import Collective
from fanfold.config import Config

from .communicator import Communicator
from .writer import Arrival, Writer

__all__ = ["script"]


def script(config: Config, seed: int, rounds: int = 3) -> list[Arrival]:
    """Traffic of ``rounds`` lives of a communicator, with up to two of them at a time; the same for the same seed."""
    choices = random.Random(seed)
    writer = Writer(config, choices)
    number = 0
    for _ in range(rounds):
        number += 2
        comm_id = choices.randrange(0, 0xFFFF, 2)
        pair = [Communicator(writer, comm_id, number), Communicator(writer, comm_id + 1, number + 1)]
        for one in pair[: choices.randint(1, 2)]:
            one.register()
        for _ in range(choices.randint(1, 4)):
            for one in pair:
                one.segments()  # of one that is not registered: regular traffic
        for one in pair:
            one.segments(Collective.DEREGISTER)
        writer.pause()
    return writer.arrivals
