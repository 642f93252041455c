"""Regular traffic through the whole NIC, in Amaranth's simulator: its latency, and beats a cycle in both directions.

The AXI ports are in it. In the mixture half of the frames are tagged, of a communicator that is open: segments of a
leader at the host port; results for it, which the network sends though nobody waits for them, and which are refused.
"""

import random
from collections.abc import Iterator

from fanfold.codes import DataType, Direction, Operator, Port
from fanfold.config import Config

from ..frames import Address, Packet, build
from ..leader import Leader
from ..simulators.amaranth import AmaranthNic
from .figure import Figure

__all__ = ["beats_per_cycle", "passing", "regular_latency", "small"]

BEAT_BYTES = (8, 16, 32, 64)
#: beats that each direction takes for a figure, at least
_BEATS = 300
_NIC = Address(mac=0x0200000000FE, ip=0x0A0000FE, port=49169)


def passing() -> Iterator[Figure]:
    """Figures ``nic.regular_latency.<beat bytes>`` in cycles from port to port; ``nic.beats_per_cycle.regular.`` and
    ``.mixed.<beat bytes>``, of the slower direction, for frames of every size from one byte up, back to back."""
    for beat_bytes in BEAT_BYTES:
        config = small(beat_bytes)
        yield Figure(f"nic.regular_latency.{beat_bytes}", regular_latency(config), "cycles")
        for kind in ("regular", "mixed"):
            rate = beats_per_cycle(config, mixed=kind == "mixed")
            yield Figure(f"nic.beats_per_cycle.{kind}.{beat_bytes}", round(rate, 4), "beats/cycle", 1.0)


def small(beat_bytes: int) -> Config:
    """A small one: what is folded has no part in this."""
    return Config(
        beat_bytes=beat_bytes,
        contributors=2,
        contexts=2,
        window=2,
        segment_bytes=128,
        operators=(Operator.SUM,),
        types=(DataType.INT32,),
        frame_bytes=512,
    )


def regular_latency(config: Config) -> int:
    """From the first beat of a frame at one port to its first beat at the other, the same in both directions."""
    nic = AmaranthNic(config)
    frame = build(Packet(sender=_NIC, receiver=Address(mac=0x020000000001, ip=0x0A000001, port=53)))
    for port in Port:
        nic.offer(port, frame, cycle=10)
    departures, accepted = nic.run(120), nic.accepted_cycles()
    nic.close()
    assert [left.frame for left in departures] == [frame, frame]
    first, second = (left.first_cycle - accepted[0][1] for left in departures)
    assert first == second, f"{first} cycles to the host, {second} to the network"
    return first


def beats_per_cycle(config: Config, *, mixed: bool) -> float:
    """Beats that went in over cycles, at the slower of the two ports; every regular frame leaves whole."""
    choices = random.Random(config.beat_bytes)
    nic = AmaranthNic(config)
    leader = Leader(Address(mac=0x020000000001, ip=0x0A000001, port=5000), _NIC, 1, 0xF01D, 0)
    if mixed:
        nic.offer(Port.HOST, leader.register(ranks=1, leaders=1, window=config.window), cycle=0)
        assert any(leader.hear(left.frame) for left in nic.run(200)), "the leader has no answer"
        nic.accepted_cycles()
    began = nic.cycle
    sent: dict[Port, list[bytes]] = {port: [] for port in Port}
    beats = dict.fromkeys(Port, 0)
    for port in Port:
        lengths = _lengths(config)
        while beats[port] < _BEATS or lengths:
            if mixed and choices.random() < 0.5:
                frame = _tagged(config, choices, leader, port)
            else:
                length = lengths.pop() if lengths else choices.choice(_lengths(config))
                frame = b"\x02" * (length > 0) + choices.randbytes(length - 1)
                sent[port].append(frame)
            nic.offer(port, frame, cycle=began)
            beats[port] += -(-len(frame) // config.beat_bytes)
    left = nic.run(began + 2 * max(beats.values()) + 300)
    taken: dict[Port, list[tuple[int, int]]] = {port: [] for port in Port}
    for port, first, last in nic.accepted_cycles():
        taken[port].append((first, last))
    nic.close()
    for port, other in (list(Port), list(Port)[::-1]):
        passed = [one.frame for one in left if one.port is other and one.frame in set(sent[port])]
        assert passed == sent[port], f"what came in at the {port.name.lower()} port did not leave as it came"
    return min(beats[port] / (taken[port][-1][1] - taken[port][0][0] + 1) for port in Port)


def _lengths(config: Config) -> list[int]:
    """From a byte to beyond the headers, around every end of a beat."""
    width = config.beat_bytes
    ends = range(width, max(4 * width, 80) + 1, width)
    return [1, 60, *(end + more for end in ends for more in (-1, 0, 1))]


def _tagged(config: Config, choices: random.Random, leader: Leader, port: Port) -> bytes:
    payload = choices.randbytes(4 * choices.randrange(config.segment_bytes // 4 + 1))
    if port is Port.HOST:
        # the same segment again and again: refused, so that no result is in the way of regular frames
        return build(leader.packet(payload=payload, coll_tag=leader.coll_tag - 1))
    return build(
        Packet(
            sender=leader.address,
            receiver=_NIC,
            coll_tag_high32=leader.key,
            comm_id=leader.comm_id,
            direction=Direction.DOWN,
            payload=payload,
        )
    )
