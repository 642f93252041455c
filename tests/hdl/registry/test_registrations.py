"""Registrations, rule by rule: who is told what, when it is told again, and what a refused one leaves as it was."""

import pytest
from registry_bench import PARENT, Bench, address, record

from fanfold.codes import Port, Status
from fanfold.config import PRESETS, Config

NAMES = (0, 7, 40)
#: 128 contributors in few contexts: the largest node there is
LARGE = Config(beat_bytes=64, contributors=128, contexts=2, window=2, types=PRESETS["tiny"].types)


def total(ranks: int, *, sole: int | None = None) -> dict:
    """The announcement that a context of ``ranks`` is open."""
    return {
        "up": False, "repeat": False, "source": sole, "sole": sole is not None, "status": Status.OK, "names": NAMES,
        "payload": {"ranks": ranks},
    }  # fmt: skip


def failed(status: Status) -> dict:
    """The announcement that there is no context."""
    return total(0) | {"status": status, "payload": None}


@pytest.mark.parametrize("seed", range(3))
def test_who_registers_again_when_the_context_is_open_is_told_alone(seed):
    async def scenario(ctx, bench):
        said = record(2, 1)
        for index in (0, 2, 1):
            await bench.up(ctx, index, said, at=Port.NET if index == 2 else None)
        await bench.settle(ctx)
        for index in (2, 0):
            await bench.up(ctx, index, said, at=Port.NET if index == 2 else None)
        await bench.settle(ctx)
        ctx.set(bench.dut.undelivered, 0b01)  # something else is on its way: it has to ask again
        await bench.up(ctx, 1, said)
        await bench.settle(ctx)
        ctx.set(bench.dut.undelivered, 0b10)  # another context's
        await bench.up(ctx, 1, said)
        await bench.up(ctx, 1, said, sender=address(9))

    bench = Bench(seed=seed)
    bench.run(scenario)
    assert bench.announced == [total(3), total(3, sole=2), total(3, sole=0), total(3, sole=1)]
    counted = {name: bench.counts[name] for name in ("opened", "answered", "unanswered", "refused_duplicate")}
    assert counted == {"opened": 1, "answered": 3, "unanswered": 1, "refused_duplicate": 0}
    assert bench.refused == {Port.HOST: [(1, Status.WRONG_SOURCE, address(9)["mac"])], Port.NET: []}


def test_away_from_the_root_the_answer_is_what_the_parent_said():
    async def scenario(ctx, bench):
        said = record(2, 0, root=False, ranks=5)
        await bench.up(ctx, 0, said)
        await bench.up(ctx, 0, said)  # enrolling
        await bench.up(ctx, 1, said)
        await bench.up(ctx, 1, said)  # waiting
        await bench.settle(ctx)
        await bench.down(ctx, ranks=77)
        await bench.up(ctx, 1, said)
        await bench.settle(ctx)
        await bench.down(ctx, ranks=78)

    bench = Bench()
    bench.run(scenario)
    up, *down = bench.announced
    assert up == total(0) | {"up": True, "source": 3, "payload": up["payload"]}
    assert (up["payload"]["ranks"], up["payload"]["parent_mac"]) == (10, PARENT["mac"])
    assert down == [total(77), total(77, sole=1)]
    assert (bench.counts["refused_duplicate"], bench.counts["answered"]) == (3, 1)


def test_what_is_refused_by_the_parent_is_closing_until_its_copies_have_left():
    async def scenario(ctx, bench):
        said = record(1, 0, root=False)
        await bench.up(ctx, 0, said)
        await bench.down(ctx, status=Status.TOO_LARGE)
        await bench.up(ctx, 0, said)
        await bench.down(ctx, ranks=4)
        await bench.settle(ctx)
        assert not bench.freed
        await bench.close(ctx, 0)
        await bench.settle(ctx)
        assert bench.freed == {0: 1}
        await bench.up(ctx, 0, record(1, 0))

    bench = Bench()
    bench.run(scenario)
    assert bench.announced[1:] == [failed(Status.TOO_LARGE), total(1)]
    assert (bench.counts["refused_duplicate"], bench.counts["refused_not_open"]) == (1, 1)


def test_a_damaged_registration_changes_nothing():
    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(1, 0), bad=1)
        await bench.settle(ctx)
        await bench.up(ctx, 0, record(1, 0, ranks=6))

    bench = Bench()
    bench.run(scenario)
    assert bench.announced == [total(6)]
    assert bench.counts == {"opened": 1}


def test_a_registration_of_a_later_life_waits_for_what_is_under_way():
    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(1, 0))
        await bench.settle(ctx)
        await bench.release(ctx, 0)
        ctx.set(bench.dut.undelivered, 1)
        await bench.up(ctx, 0, record(1, 0, ranks=9))
        await bench.settle(ctx)
        ctx.set(bench.dut.undelivered, 0)
        await bench.up(ctx, 0, record(1, 0, ranks=9))

    bench = Bench()
    bench.run(scenario)
    assert bench.announced == [total(1), total(9)]
    assert bench.refused[Port.HOST] == [(0, Status.NO_ROOM, address(0)["mac"])]


@pytest.mark.parametrize("contributors", [1, 3, 127, 128])
def test_every_size_of_a_node_opens(contributors):
    async def scenario(ctx, bench):
        leaders = max(1, contributors // 2)
        said = record(leaders, contributors - leaders, ranks=2)
        for index in reversed(range(contributors)):
            await bench.up(ctx, index, said)
        await bench.settle(ctx)
        await bench.up(ctx, contributors - 1, said)

    bench = Bench(config=LARGE, hesitates=0.2)
    bench.run(scenario)
    assert bench.announced == [total(2 * contributors), total(2 * contributors, sole=contributors - 1)]
    assert bench.refused == {Port.HOST: [], Port.NET: []}


@pytest.mark.parametrize("seed", range(2))
def test_what_is_refused_for_any_cause_changes_nothing(seed):
    """Neither what the entry knows, nor how long it waits, nor what comes after."""

    async def scenario(ctx, bench):
        said = record(2, 1, abort_ticks=30)
        await bench.up(ctx, 0, said)
        await bench.up(ctx, 1, said | {"window": 3, "ranks": 50})
        await bench.up(ctx, 1, said, at=Port.NET)
        await bench.up(ctx, 1, said | {"node": 4})
        await bench.up(ctx, 1, said, tag=41)
        await bench.up(ctx, 1, said, key=8)
        await bench.up(ctx, 0, said, sender=address(5))
        await bench.up(ctx, 1, said | {"leaders": 4})
        await bench.down(ctx, ranks=9)
        for index in (1, 2):
            await bench.up(ctx, index, said)

    bench = Bench(seed=seed, timing={"abort_ticks": 1})
    bench.run(scenario)
    assert bench.announced == [total(3)]
    causes = [Status.TOO_LARGE, Status.DISAGREE, Status.DISAGREE, Status.NO_ROOM, Status.WRONG_SOURCE]
    assert [each for _, each, _ in bench.refused[Port.HOST]] == [*causes, Status.TOO_LARGE]
    assert [each for _, each, _ in bench.refused[Port.NET]] == [Status.OUT_OF_RANGE]
    assert (bench.counts["refused_not_open"], bench.counts["opened"], bench.freed) == (1, 1, {})
