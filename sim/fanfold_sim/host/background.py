"""Regular traffic beside the collectives: from a capture or made up, offered at one port, compared at the other."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fanfold.codes import Collective, Port

from ..captures import read_frames
from ..frames import Address, Packet, build, parse

__all__ = ["BackgroundError", "RegularStream", "load_background", "synthetic_frames", "without_collectives"]

_SYNTHETIC = "synthetic:"


class BackgroundError(ValueError):
    """Background traffic cannot be used; the message names what was given and what is allowed."""


def load_background(name: str, seed: int, udp_port: int) -> list[bytes]:
    """The frames of a capture file, or ``synthetic:N`` for N made-up ones. Raises ``BackgroundError``."""
    if not name.startswith(_SYNTHETIC):
        return _from_capture(name)
    count = name.removeprefix(_SYNTHETIC)
    if not (count.isascii() and count.isdecimal()) or not 1 <= int(count) <= 1_000_000:
        raise BackgroundError(f"{name}: after '{_SYNTHETIC}' comes a number of frames, 1 to 1000000")
    return synthetic_frames(int(count), seed, udp_port)


def _from_capture(name: str) -> list[bytes]:
    if not Path(name).is_file():
        raise BackgroundError(f"{name}: no such file (a pcap or pcapng file, or {_SYNTHETIC}N)")
    try:
        frames = read_frames(name)
    except ValueError as error:
        raise BackgroundError(str(error)) from None
    if not frames:
        raise BackgroundError(f"{name}: it has no frames")
    return frames


def synthetic_frames(count: int, seed: int, udp_port: int) -> list[bytes]:
    """Frames of many kinds and lengths, all regular: other protocols, other ports, collectives of nobody here."""
    random_ = random.Random(f"background {seed}")
    return [_one_frame(random_, udp_port) for _ in range(count)]


def _one_frame(random_: random.Random, udp_port: int) -> bytes:
    payload = random_.randbytes(random_.choice((18, 26, 64, 200, 512, 1000, random_.randint(18, 1400))))
    ends = [
        Address(0x020000FE0000 | random_.getrandbits(16), 0x0A800000 | random_.getrandbits(16), random_.getrandbits(15))
        for _ in range(2)
    ]
    kind = random_.choice(("ethernet", "other port", "no context", "fragment", "vlan"))
    if kind == "ethernet":
        addresses = b"".join(end.mac.to_bytes(6, "big") for end in ends)
        return addresses + random_.choice((b"\x08\x06", b"\x86\xdd", b"\x88\xcc")) + payload + bytes(28)
    port = udp_port if kind in ("no context", "fragment") else udp_port ^ 1
    packet = Packet(
        sender=ends[0],
        receiver=Address(ends[1].mac, ends[1].ip, port),
        payload=payload,
        collective=Collective.ALLREDUCE,
        # a key of 0 is never that of a simulated communicator
        coll_tag_high32=0,
        comm_id=random_.getrandbits(16),
        coll_tag=random_.getrandbits(32),
        tags=((0x8100, random_.getrandbits(12)),) if kind == "vlan" else (),
        udp_checksum=random_.choice((None, "correct")),
    )
    if kind == "fragment":
        packet.fragment = 0x2000
    return build(packet)


def without_collectives(frames: Sequence[bytes], udp_port: int, is_ours: Callable[[Packet], bool]) -> list[bytes]:
    """The frames that a NIC must treat as regular: no registrations, and no packets that are ours."""
    kept = []
    for frame in frames:
        packet = parse(frame, udp_port)
        if packet is None or not (packet.collective == Collective.REGISTER or is_ours(packet)):
            kept.append(frame)
    return kept


@dataclass
class RegularStream:
    """Regular frames on their way through one NIC in one direction: what went in must come out, in order."""

    node: int
    entry: Port
    sent: int = 0
    identical: int = 0
    #: the first difference, in words
    difference: str = ""
    _under_way: deque[bytes] = field(default_factory=deque)

    def offer(self, frame: bytes) -> None:
        """``frame`` went in."""
        self.sent += 1
        self._under_way.append(frame)

    def leave(self, frame: bytes, bad: bool) -> None:
        """``frame`` came out at the other port."""
        number = self.sent - len(self._under_way)
        expected = self._under_way.popleft() if self._under_way else None
        if frame == expected and not bad:
            self.identical += 1
        elif not self.difference:
            self.difference = f"node {self.node}, in at the {self.entry.name.lower()} port: " + (
                _differs(number, expected, frame, bad)
            )

    def close(self) -> None:
        """Nothing comes any more."""
        if self._under_way and not self.difference:
            self.difference = (
                f"node {self.node}, in at the {self.entry.name.lower()} port: "
                f"{len(self._under_way)} of {self.sent} frames did not come out"
            )


def _differs(number: int, expected: bytes | None, frame: bytes, bad: bool) -> str:
    if expected is None:
        return f"a frame of {len(frame)} bytes came out that nobody sent"
    if len(frame) != len(expected):
        return f"frame {number} has {len(frame)} bytes, expected {len(expected)}"
    for at, (got, wanted) in enumerate(zip(frame, expected, strict=True)):
        if got != wanted:
            return f"frame {number}, byte {at}: expected {wanted:#04x}, got {got:#04x}"
    return f"frame {number} came out marked as bad" if bad else f"frame {number} differs"
