"""The ingress against plain Python: every rule, every boundary, every width."""

from pathlib import Path

import pytest
from amaranth.hdl import Signal
from ingress_bench import OTHER_COMM_ID, RECEIVER, Bench, Frame, check, configured, content, packet

from fanfold.codes import Port
from fanfold_sim.bench import Stall, cycle, receive, receive_packet, run, send
from fanfold_sim.frames import Address

DOCUMENT = Path(__file__).parents[3] / "docs" / "ingress.md"
WIDTHS = (8, 16, 32, 64)
OPTION_WORDS = (0, 1, 10)  # IP headers of 5, 6 and 15 words


@pytest.mark.parametrize("width", WIDTHS)
def test_every_shift_and_payload_length_around_beats(width):
    lengths = sorted({0, 1, width - 1, width, 2 * width + 1})
    frames = [
        Frame(
            packet(
                content(length),
                tags=tags,
                option_words=words,
                coll_tag=length,
                udp_checksum="correct" if (length + tags) % 2 else None,
            ),
            queue=(length + words) % 256,
        )
        for tags in range(3)
        for words in OPTION_WORDS
        for length in lengths
    ]
    check(frames, width)


@pytest.mark.parametrize(
    "width, stall", [(8, Stall.RANDOM), (16, Stall.SLOW_SOURCE), (32, Stall.SLOW_SINK), (64, Stall.AFTER_VALID)]
)
def test_stalls_change_nothing(width, stall):
    frames = []
    for number, length in enumerate((0, 1, width, width + 1, 3 * width - 1)):
        frames += [
            Frame(packet(content(length), tags=number % 3, option_words=number, udp_checksum="correct")),
            Frame(content(1 + 17 * number), queue=number),
            Frame(packet(content(length), comm_id=OTHER_COMM_ID)),
        ]
    check(frames, width, stall)


def test_every_byte_of_the_ip_header_is_in_its_checksum():
    frames = []
    for at in range(14, 34):
        raw = bytearray(packet(content(4)))
        raw[at] ^= 0x10
        frames.append(Frame(bytes(raw), queue=at))
    check([*frames, Frame(packet(content(4)))], 64)


def test_every_byte_is_in_the_udp_checksum():
    raw = packet(content(21), tags=1, udp_checksum="correct")
    frames = []
    for at in range(38 + 4, len(raw)):  # from the UDP length on: what changes a rule's field is regular
        changed = bytearray(raw)
        changed[at] ^= 0x40
        frames.append(Frame(bytes(changed)))
    check(frames, 32)


def test_the_network_side_has_no_queue():
    check([Frame(packet(content(9)), queue=7), Frame(content(80), queue=7)], 16, port=Port.NET)


@pytest.mark.parametrize("width", WIDTHS)
def test_one_beat_a_cycle(width):
    single_beats = [Frame(content(min(60, width), number)) for number in range(40)]
    headers_alone = [Frame(packet(coll_tag=number)) for number in range(5 + width // 2)]
    short = [Frame(packet(content(8), udp_checksum="correct")) for _ in range(10)]
    shifted = [Frame(packet(content(number), tags=number % 3)) for number in range(12)]
    mixed = [Frame(content(1 + number % width) if number % 2 else packet(content(number))) for number in range(12)]
    long = [Frame(packet(content(20 * width), tags=1, option_words=3)) for _ in range(2)]
    unmatched = [Frame(packet(content(9), comm_id=OTHER_COMM_ID)) for _ in range(5 + width // 2)]
    monitors = check([*single_beats, *headers_alone, *short, *shifted, *mixed, *long, *unmatched], width)
    taken = monitors["i"].taken
    assert taken == list(range(taken[0], taken[0] + len(taken))), "a cycle was lost"


@pytest.mark.parametrize("width", WIDTHS)
def test_latency_is_as_promised(width):
    dut = Bench(configured(width))
    latencies = dut.ingress
    monitors = check([Frame(packet(content(128), comm_id=OTHER_COMM_ID))], width, dut=dut)
    assert monitors["regular"].offered[0] - monitors["i"].taken[0] == latencies.regular_latency
    monitors = check([Frame(content(128))], width, dut=dut)
    assert monitors["regular"].offered[0] - monitors["i"].taken[0] <= latencies.regular_latency, "no IPv4 at all"
    for length in (1, 2 * width + 1):
        monitors = check([Frame(packet(content(length)))], width, dut=dut)
        assert monitors["payload"].offered[0] - monitors["i"].taken[0] == latencies.tagged_latency
        head = monitors["head"].offered[0] - monitors["i"].taken[0]
        assert head < latencies.tagged_latency
    row = f"| {width} | {64 // width} | {latencies.regular_latency} | {latencies.tagged_latency} | {head} |"
    assert row in DOCUMENT.read_text(), "docs/ingress.md tells other latencies"


@pytest.mark.parametrize("stuck", ["head", "payload"])
def test_a_stalled_output_stops_the_port_and_loses_nothing(stuck):
    dut = Bench(configured(64))
    frames = [Frame(packet(coll_tag=number)) for number in range(80)]

    async def source(ctx):
        await send(ctx, dut.i, [beat for frame in frames for beat in frame.beats(64)])

    async def heads(ctx):
        await idle(ctx, "head")
        got = await receive(ctx, dut.head, len(frames))
        assert [head.header.coll_tag for head in got] == list(range(len(frames)))

    async def payload(ctx):
        await idle(ctx, "payload")
        assert not any(beat.bad for beat in await receive(ctx, dut.payload, len(frames)))

    async def idle(ctx, name):
        for _ in range(120 if name == stuck else 0):
            (ready,) = await cycle(ctx, dut.i.ready)
        assert name != stuck or not ready

    run(dut, source, heads, payload, cycles=400)


@pytest.mark.parametrize("width", WIDTHS)
def test_reset_in_mid_packet_leaves_nothing_behind(width):
    dut = Bench(configured(width))
    reset = Signal()
    beats = Frame(packet(content(200), udp_checksum="correct")).beats(width)

    async def interrupted(ctx):
        for stop in {1, len(beats) // 2, len(beats) - 1}:
            await send(ctx, dut.i, beats[:stop])
            ctx.set(reset, 1)
            await cycle(ctx)
            await cycle(ctx)
            ctx.set(reset, 0)
            await send(ctx, dut.i, beats)
            (head,) = await receive(ctx, dut.head, 1)
            assert head.header.length == 200
            got = await receive_packet(ctx, dut.payload)
            assert b"".join(beat.data.to_bytes(width, "little") for beat in got)[:200] == content(200)
            assert not got[-1].bad
            for _ in range(40):
                assert not any(await cycle(ctx, dut.head.valid, dut.payload.valid, dut.regular.valid))

    run(dut, interrupted, cycles=600, reset=reset)


def test_addresses_of_the_bench_are_those_of_the_frames():
    assert Address(RECEIVER.mac, RECEIVER.ip, configured(8).udp_port) == RECEIVER
