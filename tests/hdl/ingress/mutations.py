"""Frames as a hostile or broken sender makes them: a good one, changed where it hurts. One number makes one frame."""

import random

from ingress_bench import COMM_ID, KEY, OTHER_COMM_ID, packet

from fanfold.codes import Collective
from fanfold_sim.frames import internet_checksum
from fanfold_sim.simulators.ingress import Offered

__all__ = ["mutated"]

_TAG = (b"\x81\x00", b"\x88\xa8", b"\x91\x00", b"\x92\x00", b"\x08\x00", b"\x86\xdd")


def mutated(number: int, width: int) -> Offered:
    """The frame that ``number`` stands for, around beats of ``width``."""
    choices = random.Random(number)
    raw = _anything(choices, width) if choices.random() < 0.1 else _ours(choices, width)
    for _ in range(choices.choice((0, 0, 1, 1, 2, 3))):
        raw = choices.choice(_CHANGES)(choices, raw, width) or raw[:1]
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


def _flip(choices, raw, _) -> bytes:
    """One bit, anywhere."""
    at = choices.randrange(len(raw))
    return raw[:at] + bytes((raw[at] ^ 1 << choices.randrange(8),)) + raw[at + 1 :]


def _flip_and_mend(choices, raw, width) -> bytes:
    """One bit among the headers, and then the IP checksum that belongs to it, where an IP header would be."""
    at = choices.randrange(min(len(raw), 120))
    raw = raw[:at] + bytes((raw[at] ^ 1 << choices.randrange(8),)) + raw[at + 1 :]
    start = 14 + 4 * sum(raw[at : at + 2] in _TAG[:3] for at in (12, 16))
    end = start + 4 * (raw[start] & 15) if len(raw) > start else 0
    if not start + 20 <= end <= len(raw):
        return raw
    bare = raw[start : start + 10] + bytes(2) + raw[start + 12 : end]
    return raw[: start + 10] + internet_checksum(bare).to_bytes(2, "big") + raw[start + 12 :]


def _replace(choices, raw, _) -> bytes:
    """One byte or two, by what means something."""
    at = choices.randrange(len(raw))
    new = choices.choice((b"\0", b"\xff", b"\0\0", b"\xff\xff", b"\x45", b"\x11", b"\xc0\x11", *_TAG))
    return raw[:at] + new + raw[at + len(new) :]


def _cut(choices, raw, width) -> bytes:
    at = choices.choice((choices.randrange(1, len(raw) + 1), width * choices.randrange(1, 2 + len(raw) // width)))
    return raw[:at]


def _extend(choices, raw, width) -> bytes:
    return raw + choices.randbytes(choices.choice((1, 3, width, choices.randrange(1, 100))))


def _tag(choices, raw, _) -> bytes:
    """One tag more."""
    return raw[:12] + choices.choice(_TAG) + choices.randbytes(2) + raw[12:]


def _shift(choices, raw, _) -> bytes:
    """A few bytes too many or too few, somewhere in front."""
    at = choices.randrange(min(len(raw), 60))
    return raw[:at] + (choices.randbytes(choices.randrange(1, 9)) if choices.random() < 0.5 else b"") + raw[at + 1 :]


_CHANGES = (_flip, _flip_and_mend, _flip_and_mend, _replace, _cut, _extend, _tag, _shift)
