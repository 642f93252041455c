"""The clock: a tick is so many cycles in which it runs, and in the others it stands still."""

import random
from dataclasses import replace

import pytest

from fanfold.config import PRESETS
from fanfold.control.clock import Clock
from fanfold_sim.bench import cycle, run


@pytest.mark.parametrize("tick_bits", [4, 6])
def test_ticks_are_cycles_that_it_ran(tick_bits):
    clock = Clock(replace(PRESETS["tiny"], tick_bits=tick_bits))
    choices = random.Random(tick_bits)

    async def watch(ctx):
        ran = 0
        for _ in range(40):
            runs = choices.getrandbits(1)
            ctx.set(clock.run, runs)
            for _ in range(choices.randrange(1, 30)):
                assert await cycle(ctx, clock.now) == (ran >> tick_bits,)
                ran += runs
        assert ran >> tick_bits > 3

    run(clock, watch, cycles=2000)


def test_time_wraps():
    clock = Clock(replace(PRESETS["tiny"], tick_bits=4))

    async def watch(ctx):
        ctx.set(clock.now, 0xFFFFFFFF)
        ctx.set(clock.run, 1)
        assert [(await cycle(ctx, clock.now))[0] for _ in range(17)] == [0xFFFFFFFF] * 16 + [0]

    run(clock, watch, cycles=100)
