"""Headers: the IP checksum at its carries, and where the payload is."""

import pytest
from egress_model import frame_of, random_copy, small

from fanfold.egress.headers import Headers
from fanfold_sim.bench import STALLS, receive, run, send


def headers_of(config, copies, stall=STALLS[0]):
    dut = Headers(config)
    packets = []

    async def source(ctx):
        await send(ctx, dut.i, copies, stall, seed=1)

    async def sink(ctx):
        packets.extend(await receive(ctx, dut.o, len(copies), stall, seed=2))

    seen = run(dut, source, sink, cycles=4000)
    return dut, packets, seen


def carrying_copies(config):
    """Copies whose header words add up to numbers around those where the end-around carry sets another carry off."""
    for high in (0, 0xFFFF):
        copy = random_copy(config, high)
        copy["local_ip"] = high << 16 | high
        copy["remote"]["ip"] = high << 16
        frame = frame_of(config, copy)
        words = [int.from_bytes(frame[at : at + 2], "big") for at in range(14, 34, 2) if at != 24]
        for wanted in range(-9, 10):
            last = (wanted - sum(words)) % 0x10000
            yield copy | {"remote": copy["remote"] | {"ip": high << 16 | last}}


@pytest.mark.parametrize("stall", STALLS)
def test_checksums_at_the_carries(stall):
    config = small(8)
    copies = list(carrying_copies(config))
    dut, packets, seen = headers_of(config, copies, stall)
    for packet, copy in zip(packets, copies, strict=True):
        assert packet.header.to_bytes(64, "little") == frame_of(config, copy)
    assert seen["o"].offered[0] - seen["i"].taken[0] == dut.latency


@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_where_the_payload_is(size):
    config = small(size)
    copies = [random_copy(config, length, length=length) for length in range(129)]
    copies.append(random_copy(config, "failed", length=24, status=3))
    _, packets, seen = headers_of(config, copies)
    for packet, copy in zip(packets, copies, strict=True):
        length = copy["segment"]["header"]["length"]
        assert packet.payload == (length > 0)
        if length:
            assert packet.last_beat * size + packet.count == length
            assert 1 <= packet.count <= size
    assert seen["o"].taken == list(range(seen["o"].taken[0], seen["o"].taken[0] + len(copies)))
