"""The slot table gives back what was written last, also what was written in the very cycle of the question."""

import random

from fanfold.config import PRESETS
from fanfold.registry.slots import SlotTable
from fanfold_sim.bench import cycle, run

CONFIG = PRESETS["tiny"]


def test_every_read_sees_every_commit_before_it():
    dut = SlotTable(CONFIG)
    choices = random.Random(7)
    known = {}

    async def bench(ctx):
        expected = None
        for step in range(400):
            slot, target = (choices.randrange(CONFIG.fold_slots) for _ in range(2))
            commits = choices.random() < 0.6
            ctx.set(dut.slots.find, slot)
            ctx.set(dut.slots.commit.valid, commits)
            ctx.set(dut.slots.commit.p, {"slot": target, "record": {"turn": step}})
            (found,) = await cycle(ctx, dut.slots.found)
            if expected is not None:
                assert found.turn == expected
            if commits:
                known[target] = step
            expected = known.get(slot)

    run(dut, bench, cycles=1000)


def test_preparing_waits_for_commits():
    dut = SlotTable(CONFIG)

    async def bench(ctx):
        ctx.set(dut.prepare.valid, 1)
        ctx.set(dut.prepare.p, {"slot": 1, "record": {"turn": 11}})
        ctx.set(dut.slots.commit.valid, 1)
        ctx.set(dut.slots.commit.p, {"slot": 2, "record": {"turn": 22}})
        assert await cycle(ctx, dut.prepare.ready) == (0,)
        ctx.set(dut.slots.commit.valid, 0)
        assert await cycle(ctx, dut.prepare.ready) == (1,)
        ctx.set(dut.prepare.valid, 0)
        for slot, turn in ((1, 11), (2, 22)):
            ctx.set(dut.slots.find, slot)
            await cycle(ctx)
            (found,) = await cycle(ctx, dut.slots.found)
            assert found.turn == turn

    run(dut, bench, cycles=100)
