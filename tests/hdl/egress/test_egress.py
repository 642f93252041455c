"""Egress: every frame bit for bit, no lost cycle, fair, and the report that a context is closed here."""

import random

import pytest
from amaranth.hdl import Signal
from egress_bench import Bench
from egress_model import REGULAR_QUEUE, Store, frame_beats, frame_of, frames_in, random_copy, small

from fanfold.codes import Direction, Port
from fanfold.egress import Egress
from fanfold_sim.bench import STALLS, Stall, cycle, receive, run, send


def lengths_around(size):
    """Payload lengths at and around the ends of beats."""
    near = {0, 1, 4, 38, 127, 128}
    for edge in (size, 2 * size):
        near |= {edge - 9, edge - 8, edge - 5, edge - 4, edge - 1, edge, edge + 1}
    return sorted(length for length in near if 0 <= length <= 128)


def mixture(config, thorough):
    """Copies of all lengths and tags, refusals, and regular frames of all sizes."""
    lengths = lengths_around(config.beat_bytes) if thorough else [0, 1, 4, config.beat_bytes, 38, 128]
    copies = [
        random_copy(config, (length, tags), length=length, tags=tags, direction=direction)
        for at, length in enumerate(lengths)
        for tags in (0, 1, 2)
        for direction in [(Direction.UP, Direction.DOWN)[at % 2]]
    ]
    copies.append(random_copy(config, "failed", length=64, status=6))
    refusals = [random_copy(config, ("refused", tags), tags=tags, status=10) for tags in (0, 1, 2, 0)]
    choices = random.Random("regular")
    sizes = [1, config.beat_bytes - 1, config.beat_bytes, config.beat_bytes + 1, 60, 150]
    regular = [(choices.randbytes(size), bool(at % 2)) for at, size in enumerate(sizes)]
    return copies, refusals, regular


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_frames_bit_for_bit(size, stall):
    config = small(size)
    copies, refusals, regular = mixture(config, thorough=stall in (Stall.NONE, Stall.RANDOM))
    bench = Bench(config, stall=stall)
    bench.run(copies, refusals, regular)

    def collective(chosen):
        return [(frame_of(config, copy), copy["remote"]["queue"], False) for copy in chosen]

    for expected in (collective(copies), collective(refusals), [(f, REGULAR_QUEUE, bad) for f, bad in regular]):
        known = set(expected)
        assert [frame for frame in bench.frames if frame in known] == expected
    assert len(bench.frames) == len(copies) + len(refusals) + len(regular)
    assert bench.copies_counted == len(copies) + len(refusals)
    assert not bench.closed


@pytest.mark.parametrize("size", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["barriers", "copies", "mixed"])
def test_a_beat_every_cycle(size, kind):
    config = small(size)
    copies, refusals, regular = mixture(config, thorough=False)
    if kind == "barriers":
        copies, refusals, regular = [random_copy(config, at) for at in range(20)], [], []
    elif kind == "copies":
        refusals, regular = [], []
    bench = Bench(config)
    seen = bench.run(copies, refusals, regular)["o"].taken
    assert seen[-1] - seen[0] + 1 == len(seen)


def test_latency_of_a_copy():
    config = small(8)
    bench = Bench(config)
    seen = bench.run([random_copy(config, 1, length=8)])
    assert seen["o"].offered[0] - seen["copies"].taken[0] == bench.dut.latency


def test_latency_of_a_refusal():
    """The first one after copies is taken a cycle later, the next ones are not."""
    config = small(8)
    bench = Bench(config)
    refused = [random_copy(config, at, status=9) for at in range(3)]
    seen = bench.run(refusals=refused)
    assert seen["refusals"].offered[0] == seen["refusals"].taken[0] - 1
    assert seen["refusals"].taken[1] == seen["refusals"].offered[1]
    assert seen["o"].offered[0] - seen["refusals"].taken[0] == bench.dut.latency


def test_latency_of_a_regular_frame():
    bench = Bench(small(8))
    seen = bench.run(regular=[(bytes(64), False)])
    assert seen["o"].offered[0] - seen["regular"].taken[0] == bench.dut.regular_latency


def test_collective_and_regular_take_turns():
    config = small(16)
    copies = [random_copy(config, at, length=32) for at in range(8)]
    bench = Bench(config)
    bench.run(copies, regular=[(bytes([at]) * 96, False) for at in range(20)])
    regular = [queue == REGULAR_QUEUE and frame[12] == frame[0] for frame, queue, _ in bench.frames]
    begun = regular.index(False)
    assert regular[begun : begun + 16] == [False, True] * 8


def test_a_closing_copy_is_reported_once_everything_before_it_is_read():
    config = small(8)
    copies = [random_copy(config, at, length=128) for at in range(3)]
    copies.append(random_copy(config, "closing", closing=1))
    copies.append(random_copy(config, "behind", length=128))
    bench = Bench(config, Port.HOST, Stall.SLOW_SINK)
    seen = bench.run(copies)
    ((when, context),) = bench.closed
    assert context == copies[3]["segment"]["context"]
    # at most what the registers behind the store hold is still on its way out
    beats_before = 3 * 24 + 8
    left = sum(1 for taken in seen["o"].taken if taken <= when)
    assert beats_before - 10 <= left <= beats_before


def test_a_silent_copy_closes_and_sends_nothing():
    config = small(8)
    silent = random_copy(config, "silent", silent=1, closing=1)
    copies = [random_copy(config, 1, length=40), silent, random_copy(config, 2, tags=1)]
    bench = Bench(config)
    bench.run(copies)
    assert [frame for frame, _, _ in bench.frames] == [frame_of(config, copies[0]), frame_of(config, copies[2])]
    assert [context for _, context in bench.closed] == [silent["segment"]["context"]]
    assert bench.copies_counted == 2

    bench = Bench(config)
    bench.run([silent])
    assert [context for _, context in bench.closed] == [silent["segment"]["context"]]


def test_reset_inside_a_packet_leaves_nothing_behind():
    config = small(8)
    dut = Egress(config, Port.NET)
    store = Store(config, dut.store)
    reset = Signal()
    copy = random_copy(config, "after", length=20, tags=1)
    expected = [(frame_of(config, copy), copy["remote"]["queue"], False)]

    async def source(ctx):
        await send(ctx, dut.copies, [random_copy(config, "before", length=128, tags=2)])
        await receive(ctx, dut.o, 5)
        ctx.set(reset, 1)
        for _ in range(2):
            await cycle(ctx)
        ctx.set(reset, 0)
        await send(ctx, dut.copies, [copy])
        beats = await receive(ctx, dut.o, frame_beats(config, len(expected[0][0])))
        assert frames_in(config, beats) == expected
        store.done = True

    run(dut, source, store, cycles=400, reset=reset)
