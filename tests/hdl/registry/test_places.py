"""Places: the lowest free block of a context's size, compared with a plain search; taken, given back, taken over."""

import random
from dataclasses import replace

import pytest
from registry_bench import Bench, address, record
from test_registrations import total

from fanfold.codes import Port, Status
from fanfold.config import PRESETS, Config
from fanfold.registry.places import Places
from fanfold_sim.bench import cycle, run

SMALL = replace(PRESETS["tiny"], contexts=8, contributors=4)


def lowest(taken: dict[int, range], size: int, places: int) -> int | None:
    """Where the lowest free block of ``size`` begins, if there is one."""
    for base in range(0, places, size):
        if not any(set(range(base, base + size)) & set(block) for block in taken.values()):
            return base
    return None


@pytest.mark.parametrize(
    "config",
    [
        replace(SMALL, places=8),
        SMALL,
        Config(contexts=64, contributors=128, places=1024),
        Config(contexts=4, contributors=128, places=128),
    ],
)
def test_the_lowest_free_block_is_taken(config):
    dut = Places(config)
    choices = random.Random(config.pool_places)
    grain = max(1, config.pool_places // 64)

    async def bench(ctx):
        taken: dict[int, range] = {}
        free, undelivered = (1 << config.contexts) - 1, 0
        found = refused = 0
        for _ in range(120):
            for context in [each for each in taken if choices.random() < 0.04]:
                free |= 1 << context  # it comes back, now or when it is delivered
                if choices.random() < 0.5:
                    undelivered |= 1 << context
            if choices.random() < 0.4:
                undelivered = 0
            taken = {each: block for each, block in taken.items() if not (free & ~undelivered) >> each & 1}
            context, wanted = choices.randrange(config.contexts), choices.randint(1, config.contributors)
            if undelivered >> context & 1:
                continue
            lingers = context in taken and choices.random() < 0.3
            held = taken.get(context)
            size = grain
            while size < wanted:
                size *= 2
            others = {each: block for each, block in taken.items() if each != context or not lingers}
            expected = held.start if held and not lingers else lowest(others, size, config.pool_places)
            ctx.set(dut.free, free)
            ctx.set(dut.undelivered, undelivered)
            ctx.set(dut.total, wanted)
            ctx.set(dut.context, context)
            ctx.set(dut.lingers, lingers)
            ctx.set(dut.asks, 1)
            for _ in range(3 * config.contexts + 8):
                settled, room, base = await cycle(ctx, dut.settled, dut.room, dut.base)
                if settled:
                    break
            assert settled
            new = not held or lingers
            if new and expected is None:
                assert not room
                refused += 1
            else:
                assert base == expected and room == new
                found += 1
            if new and room and choices.random() < 0.8:
                taken[context] = range(base, base + size)
                ctx.set(dut.take, 1)
                free &= ~(1 << context)
                ctx.set(dut.free, free)
            ctx.set(dut.asks, 0)
            await cycle(ctx)
            ctx.set(dut.take, 0)
        assert found > 20 and (refused or config.places == 0)

    run(dut, bench, cycles=40_000)


def test_contexts_of_all_sizes_find_room_and_their_contributors_answers():
    """Four contexts of two in a pool of eight; a fifth has none until one ends, also when that one lingers."""

    async def scenario(ctx, bench):
        said = record(1, 1)
        for comm_id in range(5):
            for index in (0, 1):
                await bench.up(ctx, index, said, comm_id=comm_id, sender=address(8 * comm_id + index))
        await bench.settle(ctx)
        await bench.close(ctx, 2)
        await bench.up(ctx, 0, said, comm_id=4)  # context 2 lingers: it keeps its places
        await bench.settle(ctx)
        await bench.up(ctx, 0, said, comm_id=8 + 2)
        await bench.settle(ctx)
        await bench.release(ctx, 0)
        await bench.up(ctx, 0, said, comm_id=4)
        await bench.up(ctx, 1, said, comm_id=4)
        await bench.up(ctx, 1, said, comm_id=3, sender=address(25))
        await bench.settle(ctx)

    bench = Bench(config=replace(SMALL, places=8), timing={"linger_ticks": 1000})
    bench.run(scenario)
    opened = [each["names"][0] for each in bench.announced if not each["sole"]]
    assert opened == [0, 1, 2, 3, 4]
    assert bench.refused[Port.HOST] == [(0, Status.NO_ROOM, address(each)["mac"]) for each in (32, 0)]
    assert bench.refused[Port.NET] == [(1, Status.NO_ROOM, address(33)["mac"])]
    assert [each["names"][0] for each in bench.announced if each["sole"]] == [3], "its address is where it was"


@pytest.mark.parametrize(
    "promises, leaders, status",
    [
        ([3], 2, None),
        ([0], None, Status.TOO_LARGE),
        ([4], 2, Status.DISAGREE),
        ([3, 4], 2, Status.DISAGREE),
        ([5], None, Status.TOO_LARGE),
        ([2], None, Status.OUT_OF_RANGE),
    ],
)
def test_what_children_promise_must_be_what_the_leaders_say(promises, leaders, status):
    async def scenario(ctx, bench):
        for promise in promises:
            await bench.up(ctx, 2 + promises.index(promise), record(1, 0, parent_total=promise), at=Port.NET)
        for index in range(leaders or 0):
            await bench.up(ctx, index, record(2, 1))
        await bench.settle(ctx)

    bench = Bench()
    bench.run(scenario)
    refused = [each for port in Port for each in bench.refused[port]]
    if status is None:
        assert bench.announced == [total(3)] and not refused
    elif len(promises) == 1:
        assert not bench.announced and {each for _, each, _ in refused} == {status}
    else:
        assert {each for _, each, _ in refused} <= {status, Status.OUT_OF_RANGE}


def test_a_child_that_comes_late_must_know_the_node():
    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(1, 1))
        await bench.up(ctx, 1, record(1, 0, parent_total=3))
        await bench.settle(ctx)
        await bench.up(ctx, 1, record(1, 0, parent_total=2), at=Port.NET)

    bench = Bench()
    bench.run(scenario)
    assert bench.announced == [total(2)]
    assert bench.refused[Port.NET] == [(1, Status.DISAGREE, address(1)["mac"])]
