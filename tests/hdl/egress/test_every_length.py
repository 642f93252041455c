"""What the NIC sends, for every payload length and number of VLAN tags, byte by byte and as scapy reads it."""

import pytest
from egress_bench import Bench
from egress_model import PORT, frame_of, random_copy, small
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether

from fanfold.codes import Direction
from fanfold_sim.bench import Stall

#: half of the widths, unless there is time
WIDTHS = [8, pytest.param(16, marks=pytest.mark.long), pytest.param(32, marks=pytest.mark.long), 64]
#: a frame without its frame check
SHORTEST = 60


def check_with_scapy(frame: bytes, copy: dict) -> None:
    """Lengths, checksums, addresses and tags, read and computed by somebody else."""
    remote, length = copy["remote"], copy["segment"]["header"]["length"]
    assert len(frame) == 64 + 4 * remote["tags"] + length >= SHORTEST
    packet = Ether(frame)
    tags = [packet[each] for each in (Dot1AD, Dot1Q)[: remote["tags"]]]
    wanted = [remote["outer"], remote["inner"]][: remote["tags"]]
    assert [int.from_bytes(bytes(tag)[:2], "big") for tag in tags] == [tag & 0xFFFF for tag in wanted]
    assert packet[IP].len == 20 + packet[UDP].len == 20 + 8 + 22 + length
    assert packet[UDP].sport == PORT and packet[UDP].chksum == 0
    again = packet[IP].copy()
    del again.chksum
    assert IP(bytes(again)).chksum == packet[IP].chksum


@pytest.mark.parametrize("size", WIDTHS)
def test_every_length_behind_every_number_of_tags(size):
    config = small(size)
    copies = [
        random_copy(config, ("length", length, tags), length=length, tags=tags, direction=direction)
        for length in range(config.segment_bytes + 1)
        for tags in range(3)
        for direction in [list(Direction)[(length + tags) % 2]]
    ]
    bench = Bench(config)
    taken = bench.run(copies)["o"].taken
    assert [frame for frame, _, _ in bench.frames] == [frame_of(config, copy) for copy in copies]
    assert [queue for _, queue, _ in bench.frames] == [copy["remote"]["queue"] for copy in copies]
    assert taken == list(range(taken[0], taken[0] + len(taken))), "a beat in every cycle"
    for (frame, _, _), copy in zip(bench.frames, copies, strict=True):
        check_with_scapy(frame, copy)


@pytest.mark.long
@pytest.mark.parametrize("stall", [stall for stall in Stall if stall is not Stall.NONE])
@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_every_length_under_stalls(size, stall):
    config = small(size)
    copies = [
        random_copy(config, ("stalled", length, tags), length=length, tags=tags)
        for length in range(config.segment_bytes + 1)
        for tags in range(3)
    ]
    bench = Bench(config, stall=stall)
    bench.run(copies, cycles=100_000)
    assert [frame for frame, _, _ in bench.frames] == [frame_of(config, copy) for copy in copies]
