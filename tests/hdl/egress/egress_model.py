"""What an egress must send, in plain Python, byte by byte, and the stand-ins around it: the store, frames as beats."""

import random

from fanfold.codes import Collective, Direction
from fanfold.config import Config
from fanfold_sim.bench import cycle

PORT = 49169
REGULAR_QUEUE = 77


def small(beat_bytes: int) -> Config:
    return Config(beat_bytes=beat_bytes, contributors=4, contexts=2, window=2, segment_bytes=128, udp_port=PORT)


def stored(config: Config, direction: int, context: int, slot: int, beat: int) -> bytes:
    """What the store holds in one beat: bytes that differ from those of every other beat."""
    return random.Random(f"{direction}/{context}/{slot}/{beat}").randbytes(config.beat_bytes)


def random_copy(config: Config, seed, *, length=0, tags=0, status=0, direction=Direction.DOWN, **marks) -> dict:
    """A copy with random addresses and header fields, as the payload of a stream is set."""
    choices = random.Random(f"copy {seed}")
    bits = choices.getrandbits
    return {
        "segment": {
            "context": bits(1),
            "slot": bits(2),
            "direction": direction,
            "leaders": bits(2),
            "children": bits(2),
            "header": {
                "coll_tag_high32": bits(32),
                "coll_tag": bits(32),
                "comm_id": bits(16),
                "opt_code": bits(8),
                "data_type": bits(8),
                "collective": Collective.ALLREDUCE.value,
                "flags": bits(8),  # the egress makes its own
                "source": bits(16),
                "root": bits(16),
                "status": status,
                "length": length,
            },
        },
        "remote": {
            "mac": bits(48),
            "ip": bits(32),
            "port": bits(16),
            "tags": tags,
            "outer": 0x88A8 << 16 | bits(16) if tags > 0 else 0,
            "inner": 0x8100 << 16 | bits(16) if tags > 1 else 0,
            "queue": bits(8),
        },
        "local_mac": bits(48),
        "local_ip": bits(32),
        "silent": 0,
        "closing": 0,
        **marks,
    }


def _big(*fields) -> bytes:
    return b"".join(value.to_bytes(size, "big") for value, size in fields)


def checksum(header: bytes) -> int:
    """The checksum of an IP header whose checksum field is 0 (RFC 1071)."""
    total = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def frame_of(config: Config, copy: dict) -> bytes:
    """The frame that a copy becomes."""
    segment, remote = copy["segment"], copy["remote"]
    header = segment["header"]
    length = header["length"]
    direction = segment["direction"].value
    ethernet = _big((remote["mac"], 6), (copy["local_mac"], 6))
    for tag in (remote["outer"], remote["inner"])[: remote["tags"]]:
        ethernet += _big((tag, 4))
    ethernet += b"\x08\x00"
    ip = [b"\x45\x00", _big((20 + 8 + 22 + length, 2)), b"\x00\x00\x40\x00\x40\x11", b"\x00\x00"]
    ip += [_big((copy["local_ip"], 4), (remote["ip"], 4))]
    ip[3] = _big((checksum(b"".join(ip)), 2))
    udp = _big((PORT, 2), (remote["port"], 2), (8 + 22 + length, 2), (0, 2))
    flags = 1 << 6 | direction << 5 | bool(header["status"]) << 3 | header["flags"] & 1 << 4
    collective = _big(
        (header["coll_tag_high32"], 4), (header["coll_tag"], 4), (header["comm_id"], 2), (header["opt_code"], 1),
        (header["data_type"], 1), (header["collective"], 1), (flags, 1), (header["source"], 2), (header["root"], 2),
        (header["status"], 2), (length, 2),
    )  # fmt: skip
    beats = range(-(-length // config.beat_bytes))
    payload = b"".join(stored(config, direction, segment["context"], segment["slot"], beat) for beat in beats)
    return ethernet + b"".join(ip) + udp + collective + payload[:length]


def beats_of(config: Config, frame: bytes, queue: int = 0, bad: int = 0) -> list[dict]:
    """A frame as items of a stream."""
    size = config.beat_bytes
    parts = [frame[at : at + size] for at in range(0, len(frame), size)]
    return [
        {
            "data": int.from_bytes(part, "little"),
            "count": len(part),
            "last": at == len(parts) - 1,
            "bad": bad if at == len(parts) - 1 else 0,
            "queue": queue,
        }
        for at, part in enumerate(parts)
    ]


def frame_beats(config: Config, length: int) -> int:
    """Beats that a frame of ``length`` bytes takes."""
    return -(-length // config.beat_bytes)


def frames_in(config: Config, items) -> list[tuple[bytes, int, bool]]:
    """The frames in what a stream gave: bytes, queue, bad mark; checks the counts on the way."""
    frames, now = [], b""
    for item in items:
        assert item.last or item.count == config.beat_bytes
        assert 1 <= item.count <= config.beat_bytes
        now += item.data.to_bytes(config.beat_bytes, "little")[: item.count]
        if item.last:
            frames.append((now, item.queue, bool(item.bad)))
            now = b""
    assert not now, "the last frame does not end"
    return frames


class Store:
    """Plays the result store at a read port until ``done`` is set."""

    def __init__(self, config: Config, port):
        self.config = config
        self.port = port
        self.done = False

    async def __call__(self, ctx):
        waiting = None
        while not self.done:
            enable, address = await cycle(ctx, self.port.enable, self.port.address)
            if enable:
                if waiting is not None:
                    ctx.set(self.port.data, int.from_bytes(stored(self.config, *waiting), "little"))
                waiting = (address.direction.value, address.context, address.slot, address.beat)

    @property
    def __name__(self):
        return "store"
