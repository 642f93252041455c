"""What becomes of registrations that nobody completes or answers, and of contexts that linger."""

import pytest
from registry_bench import TINY, Bench, address, record
from test_registrations import LARGE, failed, total

from fanfold.codes import Port, Status


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("says", ["record", "register"])
def test_those_that_came_are_refused_when_others_do_not(says, seed):
    async def scenario(ctx, bench):
        said = record(2, 2, abort_ticks=8 if says == "record" else 0)
        await bench.up(ctx, 3, said)  # a child, before any leader has described the node
        await bench.ticks(ctx, 2)
        await bench.up(ctx, 0, said)
        await bench.ticks(ctx, 4)
        assert not bench.freed, "it is not time yet"
        await bench.ticks(ctx, 4)
        assert bench.freed == {0: 1}
        for index in range(4):  # and now all of them
            await bench.up(ctx, index, said)

    bench = Bench(seed=seed, timing={"abort_ticks": 8 if says == "register" else 1000})
    bench.run(scenario)
    assert bench.refused[Port.HOST] == [(0, Status.TIMED_OUT, address(0)["mac"])]
    assert bench.refused[Port.NET] == [(3, Status.TIMED_OUT, address(3)["mac"])]
    assert bench.announced == [total(4)]
    assert (bench.counts["aborted"], bench.counts["closed"], bench.freed) == (1, 1, {0: 1})


def test_a_child_alone_is_refused_where_no_leader_came():
    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(1, 0), at=Port.NET)
        await bench.ticks(ctx, 8)

    bench = Bench(timing={"abort_ticks": 4})
    bench.run(scenario)
    assert bench.refused == {Port.HOST: [], Port.NET: [(0, Status.TIMED_OUT, address(0)["mac"])]}


def test_all_but_one_of_the_largest_node_are_refused_however_slowly_the_answers_leave():
    """More answers than the queues hold; what comes meanwhile has to wait, and begins anew."""

    async def scenario(ctx, bench):
        said = record(100, 28, abort_ticks=10)
        bench.blocked = {Port.HOST, Port.NET}
        for index in range(127):
            await bench.up(ctx, index, said)
        await bench.ticks(ctx, 6)
        assert not bench.freed and bench.now >= 11
        bench.blocked = set()
        await bench.up(ctx, 127, said)
        await bench.settle(ctx, 600)

    bench = Bench(config=LARGE, tick=160)
    bench.run(scenario)
    expected = [(index, Status.TIMED_OUT, address(index)["mac"]) for index in range(127)]
    assert bench.refused == {Port.HOST: expected[:100], Port.NET: [*expected[100:]]}
    assert (bench.counts["aborted"], bench.freed) == (1, {0: 1})


@pytest.mark.parametrize("seed", range(3))
def test_the_parent_is_asked_again_and_then_given_up(seed):
    async def scenario(ctx, bench):
        said = record(1, 0, root=False, ranks=5)
        await bench.up(ctx, 0, said)
        await bench.until(ctx, lambda: len(bench.announced) == 4)
        assert 12 <= bench.now <= 14
        await bench.up(ctx, 0, said)  # all are being told: it waits for nothing any more
        await bench.down(ctx, ranks=99)
        await bench.ticks(ctx, 20)
        assert not bench.freed
        await bench.close(ctx, 0)

    bench = Bench(seed=seed, timing={"retry_ticks": 4, "retry_limit": 2, "abort_ticks": 3})
    bench.run(scenario)
    first, second, third, last = bench.announced
    assert (first["up"], first["repeat"], first["payload"]["ranks"]) == (True, False, 5)
    assert second == third == first | {"repeat": True}
    assert last == failed(Status.PEER_GONE)
    assert (bench.counts["repeats"], bench.counts["given_up"], bench.freed) == (2, 1, {0: 1})
    assert bench.counts["aborted"] == 0


@pytest.mark.parametrize("timing, gives_up", [({"abort_ticks": 5}, 10), ({"retry_limit": 9}, None)])
def test_without_repeats_the_parent_has_twice_the_time_of_the_contributors(timing, gives_up):
    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(1, 0, root=False))
        await bench.ticks(ctx, 20)
        await bench.settle(ctx)

    bench = Bench(timing=timing)
    bench.run(scenario)
    assert [each["status"] for each in bench.announced] == [Status.OK] + [Status.PEER_GONE] * (gives_up is not None)
    assert bench.counts["repeats"] == 0
    assert bench.now <= (gives_up or -1) + 1


def test_an_answer_after_a_repeat_opens_the_context():
    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(1, 0, root=False))
        await bench.until(ctx, lambda: bench.counts["repeats"] == 2)
        await bench.down(ctx, ranks=31)
        stopped = bench.now
        await bench.ticks(ctx, 20)
        assert bench.now - stopped <= 2, "nothing is timed any more"
        await bench.down(ctx, ranks=31)  # the answer to the repeat

    bench = Bench(timing={"retry_ticks": 3, "retry_limit": 5})
    bench.run(scenario)
    assert bench.announced[-1] == total(31)
    assert (bench.counts["opened"], bench.counts["given_up"], bench.counts["refused_duplicate"]) == (1, 0, 1)


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("cycles", range(0, 44, 8))
def test_a_release_at_any_time_ends_all_that_is_timed(root, cycles):
    """While it enrols, while it waits, in the middle of an answer: nothing comes of it in the next life."""

    async def scenario(ctx, bench):
        said = record(1, 1, root=root)
        await bench.up(ctx, 0, said)
        await bench.up(ctx, 1, said)
        await bench.up(ctx, 1, said)
        await bench.settle(ctx, cycles)
        await bench.release(ctx, 0)
        await bench.settle(ctx)
        assert not bench.is_open(ctx, 0)
        await bench.release(ctx, 0)  # what was still to be looked at may have begun another life
        await bench.settle(ctx)
        assert bench.freed[0] in (1, 2) and not await bench.timed(ctx)
        before = len(bench.announced)
        await bench.up(ctx, 1, record(1, 1, ranks=6))
        await bench.up(ctx, 0, record(1, 1, ranks=6))
        await bench.settle(ctx)
        assert bench.announced[before:] == [total(12)]

    bench = Bench(seed=cycles, timing={"abort_ticks": 1000, "retry_ticks": 1, "retry_limit": 1000})
    bench.run(scenario)
    assert bench.refused == {Port.HOST: [], Port.NET: []} and bench.counts["aborted"] == 0


@pytest.mark.parametrize("cycles", range(52, 100, 6))
def test_a_release_while_the_time_of_contributors_is_up(cycles):
    """It comes before or after what is due, never half: the contributor hears of it, or the entry is just free."""

    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(2, 0))
        await bench.settle(ctx, cycles)
        await bench.release(ctx, 0)
        await bench.settle(ctx)
        await bench.up(ctx, 0, record(1, 0, ranks=8))

    bench = Bench(seed=cycles, timing={"abort_ticks": 4})
    bench.run(scenario)
    assert bench.announced == [total(8)]
    assert len(bench.refused[Port.HOST]) == bench.counts["aborted"]
    assert bench.freed == {0: 1}


def test_both_contexts_keep_their_own_time():
    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(2, 0, abort_ticks=9))
        await bench.up(ctx, 1, record(2, 0, abort_ticks=4), comm_id=1)
        await bench.until(ctx, lambda: bench.freed[1])
        assert 4 <= bench.now <= 5
        await bench.until(ctx, lambda: bench.freed[0])
        assert 9 <= bench.now <= 10

    bench = Bench()
    bench.run(scenario)
    assert [index for index, _, _ in bench.refused[Port.HOST]] == [1, 0]


@pytest.mark.parametrize("seed", range(2))
def test_a_deregistered_context_with_children_lingers(seed):
    async def scenario(ctx, bench):
        said = record(1, 1)
        for index in (0, 1):
            await bench.up(ctx, index, said)
        await bench.settle(ctx)
        await bench.close(ctx, 0)
        assert not bench.is_open(ctx, 0) and not bench.freed
        assert await bench.answers(ctx, 0) == (0, 1), "screened as lingering"
        assert await bench.found(ctx), "its packets stay tagged"
        await bench.down(ctx, ranks=1)
        await bench.ticks(ctx, 4)
        assert not bench.freed
        await bench.ticks(ctx, 3)
        assert bench.freed == {0: 1}
        assert await bench.answers(ctx, 0) == (0, 0) and not await bench.found(ctx)

    bench = Bench(seed=seed, timing={"linger_ticks": 6})
    bench.run(scenario)
    assert (bench.counts["refused_not_open"], bench.counts["closed"]) == (1, 1)


@pytest.mark.parametrize("said, timing", [(record(2, 0), {"linger_ticks": 6}), (record(1, 1), {})])
def test_without_children_or_time_it_does_not(said, timing):
    async def scenario(ctx, bench):
        for index in (0, 1):
            await bench.up(ctx, index, said)
        await bench.settle(ctx)
        await bench.close(ctx, 0)
        await bench.settle(ctx, 4)
        assert bench.freed == {0: 1}

    Bench(timing=timing).run(scenario)


def test_a_registration_takes_over_what_lingers():
    async def scenario(ctx, bench):
        for index in (0, 1):
            await bench.up(ctx, index, record(1, 1))
        await bench.settle(ctx)
        await bench.close(ctx, 0)
        await bench.up(ctx, 1, record(2, 0, window=TINY.window + 1), key=8)
        await bench.settle(ctx)
        assert await bench.answers(ctx, 0) == (0, 1), "what is refused changes nothing"
        ctx.set(bench.dut.undelivered, 1)
        await bench.up(ctx, 0, record(2, 0), key=8)
        await bench.settle(ctx)
        ctx.set(bench.dut.undelivered, 0)
        assert not bench.freed
        await bench.up(ctx, 0, record(2, 0), key=8)
        await bench.settle(ctx)
        assert bench.freed == {0: 1} and await bench.answers(ctx, 0) == (0, 0)
        await bench.ticks(ctx, 45)
        await bench.up(ctx, 1, record(2, 0), key=8)
        await bench.settle(ctx)
        assert bench.is_open(ctx, 0) and bench.freed == {0: 1}

    bench = Bench(timing={"linger_ticks": 40})
    bench.run(scenario)
    assert bench.announced == [total(2), total(2) | {"names": (0, 8, 40)}]
    assert [status for _, status, _ in bench.refused[Port.HOST]] == [Status.TOO_LARGE, Status.NO_ROOM]


def test_nothing_moves_without_timers():
    """Contexts that enrol, wait and are open: the clock stands still."""

    async def scenario(ctx, bench):
        await bench.up(ctx, 0, record(2, 0))
        await bench.up(ctx, 0, record(1, 0, root=False), comm_id=1)
        await bench.settle(ctx, 300)

    bench = Bench()
    bench.run(scenario)
    assert bench.now == 0
