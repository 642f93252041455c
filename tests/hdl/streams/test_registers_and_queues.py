"""Slice, Skid, Queue and Fork: every item once, in order, at full rate, over the stall matrix."""

import pytest
from amaranth.hdl import Signal
from amaranth.lib import data

from fanfold.streams import Fork, Queue, Skid, Slice
from fanfold_sim.bench import STALLS, Stall, cycle, receive, refuses, run, send

SHAPE = data.StructLayout({"value": 16, "last": 1})
ITEMS = [{"value": 257 * index, "last": index % 3 == 2} for index in range(60)]

MAKERS = {
    "slice": lambda: Slice(SHAPE),
    "skid": lambda: Skid(SHAPE),
    **{f"queue{depth}": lambda depth=depth: Queue(SHAPE, depth) for depth in (1, 2, 3, 4, 16)},
}


def plain(items):
    return [{"value": item.value, "last": bool(item.last)} for item in items]


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("maker", MAKERS)
def test_every_item_passes_once_in_order(maker, stall):
    dut = MAKERS[maker]()

    async def source(ctx):
        await send(ctx, dut.i, ITEMS, stall, seed=1)

    async def sink(ctx):
        assert plain(await receive(ctx, dut.o, len(ITEMS), stall, seed=2)) == ITEMS
        assert not (await cycle(ctx, dut.o.valid))[0]

    monitors = run(dut, source, sink, cycles=1000)
    if stall is Stall.NONE:
        taken = monitors["i"].taken
        assert taken == list(range(taken[0], taken[0] + len(ITEMS))), "one item a cycle"
        latency = getattr(dut, "latency", 1)
        assert monitors["o"].taken == [at + latency for at in taken]


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 16])
def test_a_queue_holds_its_depth_and_counts(depth):
    dut = Queue(SHAPE, depth)
    holds = max(depth, 2)

    async def fill_and_empty(ctx):
        await send(ctx, dut.i, ITEMS[:holds])
        for _ in range(3):
            level, ready, valid = await cycle(ctx, dut.level, dut.i.ready, dut.o.valid)
        assert (level, ready, valid) == (holds, 0, 1)
        assert plain(await receive(ctx, dut.o, holds)) == ITEMS[:holds]
        level, ready, valid = await cycle(ctx, dut.level, dut.i.ready, dut.o.valid)
        assert (level, ready, valid) == (0, 1, 0)

    run(dut, fill_and_empty, cycles=200)


@pytest.mark.parametrize("maker", MAKERS)
def test_reset_empties(maker):
    dut = MAKERS[maker]()
    reset = Signal()

    async def interrupted(ctx):
        await send(ctx, dut.i, ITEMS[:1])
        ctx.set(reset, 1)
        await cycle(ctx)
        await cycle(ctx)
        ctx.set(reset, 0)
        await send(ctx, dut.i, ITEMS[5:6])
        assert plain(await receive(ctx, dut.o, 1)) == ITEMS[5:6]
        assert not (await cycle(ctx, dut.o.valid))[0]

    run(dut, interrupted, cycles=100, reset=reset)


@pytest.mark.parametrize("depth", [0, -1])
def test_a_queue_without_room_is_refused(depth):
    with refuses(f"depth is {depth}"):
        Queue(SHAPE, depth)


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_fork_gives_every_item_to_each_output(count, stall):
    dut = Fork(SHAPE, count)

    async def source(ctx):
        await send(ctx, dut.i, ITEMS, stall, seed=1)

    def sink(index):
        async def body(ctx):
            assert plain(await receive(ctx, dut.o[index], len(ITEMS), stall, seed=10 + index)) == ITEMS

        return body

    monitors = run(dut, source, *(sink(index) for index in range(count)), cycles=4000)
    if stall is Stall.NONE:
        assert monitors["i"].taken == list(range(len(ITEMS)))
