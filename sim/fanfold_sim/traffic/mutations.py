"""What a hostile or broken sender does to the bytes of a frame, where it hurts."""

import random

from ..frames import internet_checksum

__all__ = ["mutated"]

_TAGS = (b"\x81\x00", b"\x88\xa8", b"\x91\x00", b"\x92\x00", b"\x08\x00", b"\x86\xdd")


def mutated(choices: random.Random, raw: bytes, width: int) -> bytes:
    """``raw`` changed in one way, drawn from ``choices``; ``width`` are the bytes of a beat. Never empty."""
    return choices.choice(_CHANGES)(choices, raw, width) or raw[:1]


def _flip(choices: random.Random, raw: bytes, _: int) -> bytes:
    """One bit, anywhere."""
    at = choices.randrange(len(raw))
    return raw[:at] + bytes((raw[at] ^ 1 << choices.randrange(8),)) + raw[at + 1 :]


def _flip_and_mend(choices: random.Random, raw: bytes, _: int) -> bytes:
    """One bit among the headers, and then the IP checksum that belongs to it, where an IP header would be."""
    at = choices.randrange(min(len(raw), 120))
    raw = raw[:at] + bytes((raw[at] ^ 1 << choices.randrange(8),)) + raw[at + 1 :]
    start = 14 + 4 * sum(raw[at : at + 2] in _TAGS[:3] for at in (12, 16))
    end = start + 4 * (raw[start] & 15) if len(raw) > start else 0
    if not start + 20 <= end <= len(raw):
        return raw
    bare = raw[start : start + 10] + bytes(2) + raw[start + 12 : end]
    return raw[: start + 10] + internet_checksum(bare).to_bytes(2, "big") + raw[start + 12 :]


def _replace(choices: random.Random, raw: bytes, _: int) -> bytes:
    """One byte or two, by what means something."""
    at = choices.randrange(len(raw))
    new = choices.choice((b"\0", b"\xff", b"\0\0", b"\xff\xff", b"\x45", b"\x11", b"\xc0\x11", *_TAGS))
    return raw[:at] + new + raw[at + len(new) :]


def _cut(choices: random.Random, raw: bytes, width: int) -> bytes:
    """An end too early, anywhere or at the end of a beat."""
    at = choices.choice((choices.randrange(1, len(raw) + 1), width * choices.randrange(1, 2 + len(raw) // width)))
    return raw[:at]


def _extend(choices: random.Random, raw: bytes, width: int) -> bytes:
    """Bytes behind the end."""
    return raw + choices.randbytes(choices.choice((1, 3, width, choices.randrange(1, 100))))


def _tag(choices: random.Random, raw: bytes, _: int) -> bytes:
    """One tag more."""
    return raw[:12] + choices.choice(_TAGS) + choices.randbytes(2) + raw[12:]


def _shift(choices: random.Random, raw: bytes, _: int) -> bytes:
    """A few bytes too many or too few, somewhere in front."""
    at = choices.randrange(min(len(raw), 60))
    return raw[:at] + (choices.randbytes(choices.randrange(1, 9)) if choices.random() < 0.5 else b"") + raw[at + 1 :]


_CHANGES = (_flip, _flip_and_mend, _flip_and_mend, _replace, _cut, _extend, _tag, _shift)
