"""Frames as a hostile or broken sender makes them: a good one, changed where it hurts. One number makes one frame."""

import random

from ingress_bench import COMM_ID, KEY, OTHER_COMM_ID, packet

from fanfold.codes import Collective
from fanfold_sim.simulators.ingress import Offered
from fanfold_sim.traffic.mutations import mutated as change

__all__ = ["mutated"]


def mutated(number: int, width: int) -> Offered:
    """The frame that ``number`` stands for, around beats of ``width``."""
    choices = random.Random(number)
    raw = _anything(choices, width) if choices.random() < 0.1 else _ours(choices, width)
    for _ in range(choices.choice((0, 0, 1, 1, 2, 3))):
        raw = change(choices, raw, width)
    return Offered(raw, bad=choices.random() < 0.08, queue=choices.randrange(256))


def _anything(choices, width) -> bytes:
    return choices.randbytes(choices.choice((1, 14, 22, 59, 60, 64, 65, choices.randrange(1, 4 * width + 1))))


def _ours(choices, width) -> bytes:
    lengths = (0, 1, 4, 38, width - 1, width, width + 1, choices.randrange(3 * width), choices.randrange(300))
    return packet(
        choices.randbytes(choices.choice(lengths)),
        tags=choices.randrange(3),
        option_words=choices.choice((0, 0, 0, 1, 10, choices.randrange(11))),
        trailer=choices.randbytes(choices.choice((0, 0, 1, choices.randrange(50), 2 * width))),
        comm_id=choices.choice((COMM_ID, COMM_ID, COMM_ID, OTHER_COMM_ID)),
        coll_tag_high32=choices.choice((KEY, KEY, KEY, KEY ^ 1 << choices.randrange(32))),
        collective=choices.choice((Collective.ALLREDUCE, Collective.REGISTER, choices.randrange(256))),
        udp_checksum=choices.choice((None, "correct", "correct", choices.randrange(1 << 16), 0xFFFF)),
        version=choices.choice((1, 1, 1, 1, choices.randrange(4))),
    )
