"""The counters alone: nothing is lost or counted twice, and a snapshot is of one moment."""

import random

import pytest
from amaranth.hdl import Signal

from fanfold.control.counters import Counters
from fanfold.control.events import EVENTS
from fanfold_sim.bench import cycle, run

NAMES = list(EVENTS)
#: what the docstring promises for a snapshot
SNAPSHOT_CYCLES = 2 * Counters.ROUND_CYCLES


async def copied(ctx, dut):
    """Waits for the copy; the cycles that took."""
    cycles = 0
    while (await cycle(ctx, dut.busy))[0]:
        cycles += 1
        assert cycles <= SNAPSHOT_CYCLES
    return cycles


async def shown(ctx, dut):
    """All counts of the copy."""
    counts = []
    for index in range(len(NAMES)):
        ctx.set(dut.index, index)
        await cycle(ctx)
        counts.append((await cycle(ctx, dut.count))[0])
    return tuple(counts)


@pytest.mark.parametrize("share", [0.03, 0.5, 1])
def test_snapshots_are_moments_of_the_history(share):
    """Random events in every cycle: each snapshot is what had happened in one cycle, of those that it took."""
    dut = Counters()
    history = []  # for each cycle, what had been counted before it
    ended = []

    async def world(ctx):
        choices = random.Random(share)
        now = [0] * len(NAMES)
        while not ended:
            history.append(tuple(now))
            for index, name in enumerate(NAMES):
                happens = choices.random() < share
                ctx.set(dut.events[name], happens)
                now[index] += happens
            await cycle(ctx)

    async def host(ctx):
        choices = random.Random(1)
        await copied(ctx, dut)
        assert await shown(ctx, dut) == (0,) * len(NAMES)
        for _ in range(12):
            for _ in range(choices.randrange(2 * len(NAMES))):
                await cycle(ctx)
            asked = len(history)
            ctx.set(dut.snapshot, 1)
            await cycle(ctx)
            ctx.set(dut.snapshot, 0)
            await copied(ctx, dut)
            done = len(history)
            counts = await shown(ctx, dut)
            assert counts in history[asked - 1 : done]
        ended.append(True)

    run(dut, world, host, cycles=3000)


def test_a_reset_clears_counts_and_copy():
    dut = Counters()
    reset = Signal()

    async def host(ctx):
        for name in NAMES:
            ctx.set(dut.events[name], 1)
        for _ in range(100):
            await cycle(ctx)
        ctx.set(dut.snapshot, 1)
        await cycle(ctx)
        ctx.set(dut.snapshot, 0)
        await copied(ctx, dut)
        assert min(await shown(ctx, dut)) >= 99
        for name in NAMES:
            ctx.set(dut.events[name], 0)
        ctx.set(reset, 1)
        await cycle(ctx)
        await cycle(ctx)
        ctx.set(reset, 0)
        await cycle(ctx)
        assert await copied(ctx, dut) > 0, "busy after a reset"
        assert await shown(ctx, dut) == (0,) * len(NAMES)
        ctx.set(dut.snapshot, 1)
        await cycle(ctx)
        ctx.set(dut.snapshot, 0)
        await copied(ctx, dut)
        assert await shown(ctx, dut) == (0,) * len(NAMES)

    run(dut, host, cycles=1000, reset=reset)
