"""The timers against their rules: random commits, ticks, stalls and contexts that come and go."""

import random
from dataclasses import dataclass, replace

import pytest
from timer_bench import OFF, QUIET, World, drive, simulate
from timer_model import Event, Record

from fanfold.admission.timers import Timers
from fanfold.codes import Origin
from fanfold.config import PRESETS
from fanfold_sim.bench import cycle, run

TINY = replace(PRESETS["tiny"], contexts=4)


@pytest.mark.parametrize("beat_bytes, stall", [(8, 0.7), (16, 0.0), (64, 0.3)])
def test_random_traffic(beat_bytes, stall):
    config = replace(TINY, beat_bytes=beat_bytes)
    world = World(config, random.Random(beat_bytes), busy=0.02, obeys=0.4)
    timing = {"abort_ticks": 4, "retry_ticks": 2, "retry_limit": 1}
    model = simulate(config, timing, world, 3500, stall=stall)
    assert len(model.counts) == 3 and min(model.counts.values()) > 3, model.counts


@pytest.mark.parametrize("stall", [0.3, 0.9])
def test_commits_in_most_cycles(stall):
    """Times start while others are written, and records change under a packet that is made or offered."""
    config = replace(TINY, window=4)
    world = World(config, random.Random(1), busy=0.9, ends=0.005, patiences=(1, 2), totals=(1, 2), obeys=0.1, slow=0.9)
    model = simulate(config, {"retry_ticks": 1, "retry_limit": 1}, world, 3500, tick=16, stall=stall)
    assert len(model.counts) == 3, model.counts


@pytest.mark.parametrize("limit", [0, 1, 4])
def test_repeats_and_their_limit(limit):
    """Without patience: nobody is overdue, but a parent is given up."""
    world = World(TINY, random.Random(limit), busy=0.01, obeys=0.1, patiences=(0,), ends=0.0005)
    model = simulate(TINY, {"retry_ticks": 1, "retry_limit": limit}, world, 3000, tick=16)
    assert set(model.counts) == {Origin.GIVEN_UP} | ({Origin.REPEATED} if limit else set())


def test_without_repeats():
    """A parent is given up after two patiences."""
    world = World(TINY, random.Random(1), busy=0.02)
    model = simulate(TINY, {"abort_ticks": 2, "retry_limit": 5}, world, 3500)
    assert set(model.counts) == {Origin.OVERDUE, Origin.GIVEN_UP}


def test_time_goes_round():
    world = World(TINY, random.Random(2), busy=0.02)
    model = simulate(TINY, {"abort_ticks": 4, "retry_ticks": 3, "retry_limit": 1}, world, 3000, now=2**32 - 50)
    assert len(model.counts) == 3


@pytest.mark.parametrize("contributors", [2, 9, 128])
def test_number_of_contributors(contributors):
    config = replace(TINY, contributors=contributors, contexts=2)
    totals = (1, 2, contributors - 1, contributors)
    world = World(config, random.Random(contributors), busy=0.1, totals=totals, ends=0.004, obeys=0.9)
    model = simulate(config, {"abort_ticks": 2, "retry_ticks": 3, "retry_limit": 2}, world, 3500)
    assert model.counts[Origin.OVERDUE] > 5 and model.counts[Origin.REPEATED] > 3, model.counts


def test_nothing_is_timed_when_all_is_off():
    """Neither a clock nor a packet, whatever contexts do."""
    timers = Timers(TINY)
    world = World(TINY, random.Random(3), busy=0.5, ends=0.01, patiences=(0,))

    async def play(ctx):
        ctx.set(timers.timing, OFF)
        for number in range(2000):
            drive(ctx, timers, world.event(number))
            assert await cycle(ctx, timers.timed, timers.o.valid, timers.busy) == (0, 0, 0)

    run(timers, play, cycles=3000)


@dataclass
class Line:
    """One slot of one context, and time that may jump: what is offered after how many ticks."""

    timers: Timers

    async def open(self, ctx, timing, *, total=2, abort=0, now=0):
        ctx.set(self.timers.timing, OFF | timing)
        ctx.set(self.timers.now, now)
        await self._event(ctx, Event(describe=(1, 7, total, abort)))
        for _ in range(QUIET):
            await cycle(ctx)

    async def commit(self, ctx, slot, record):
        await self._event(ctx, Event(commit=(slot, record)))
        for _ in range(QUIET):
            await cycle(ctx)

    async def _event(self, ctx, event):
        drive(ctx, self.timers, event)
        await cycle(ctx)
        drive(ctx, self.timers, Event())

    async def offered(self, ctx, now) -> Origin | None:
        """What is offered when time has come so far; it is taken."""
        ctx.set(self.timers.now, now % 2**32)
        ctx.set(self.timers.o.ready, 1)
        first, taken = None, False
        for _ in range(3 * self.timers.latency):
            valid, origin, last = await cycle(ctx, self.timers.o.valid, self.timers.o.p.origin, self.timers.o.p.last)
            if valid and not taken:
                first, taken = origin, last
        return first


def test_contexts_without_a_timed_slot_are_passed_over():
    timers = Timers(config := replace(TINY, contexts=64, window=8))
    line = Line(timers)

    async def play(ctx):
        await line.open(ctx, {}, abort=1)
        await line.commit(ctx, 8, Record(0, 1, 0, 1, 1))
        for now in range(1, 10):  # it is due again with each tick
            ctx.set(timers.now, now)
            ctx.set(timers.o.ready, 1)
            waited = 0
            while not (await cycle(ctx, timers.o.valid))[0]:
                waited += 1
                assert waited < config.contexts + config.window + timers.packet_cycles
            for _ in range(17 * now):
                await cycle(ctx)

    run(timers, play, cycles=3000)


@pytest.mark.parametrize("patience", [1, 2**31, 2**32 - 2**12])
def test_patience_of_any_length(patience):
    """To the tick, on both sides of it; two patiences end before time has gone round."""
    line = Line(Timers(TINY))
    longest = min(2 * patience, 0xFFFF0000)

    async def play(ctx):
        now = 2**32 - 3
        await line.open(ctx, {}, abort=patience, now=now)
        await line.commit(ctx, 3, Record(3, 1, 0, 1, 1))
        assert await line.offered(ctx, now + patience - 1) is None
        assert await line.offered(ctx, now + patience) is Origin.OVERDUE
        assert await line.offered(ctx, now + patience) is None
        assert await line.offered(ctx, now + patience + 1) is Origin.OVERDUE
        now += patience + 1
        await line.commit(ctx, 3, Record(3, 1, 1, 0, 3))
        assert await line.offered(ctx, now + longest - 1) is None
        assert await line.offered(ctx, now + longest) is Origin.GIVEN_UP
        assert await line.offered(ctx, now + longest) is None
        assert await line.offered(ctx, now + longest + 1) is Origin.GIVEN_UP

    run(line.timers, play, cycles=2000)


def test_a_slot_that_changes_under_an_offer_keeps_its_new_time():
    line = Line(timers := Timers(TINY))

    async def play(ctx):
        await line.open(ctx, {}, abort=10)
        await line.commit(ctx, 3, Record(3, 1, 0, 1, 1))
        ctx.set(timers.now, 10)
        ctx.set(timers.o.ready, 0)
        while not (await cycle(ctx, timers.o.valid))[0]:
            pass
        await line.commit(ctx, 3, Record(3, 1, 1, 0, 3))
        assert await line.offered(ctx, 10) is Origin.OVERDUE  # the old offer
        assert await line.offered(ctx, 29) is None
        assert await line.offered(ctx, 30) is Origin.GIVEN_UP

    run(timers, play, cycles=1000)


def test_a_context_that_ends_takes_its_packet_along():
    """While the packet is made; one that is offered stays, and is offered no second time."""
    config = replace(TINY, contributors=128)
    timers = Timers(config)
    line = Line(timers)

    async def play(ctx):
        for offered in (0, 1):
            now = 100 * offered
            await line.open(ctx, {}, abort=2, total=128, now=now)
            await line.commit(ctx, 3, Record(3, 1, 0, 127, 1))
            ctx.set(timers.now, now + 2)
            ctx.set(timers.o.ready, 0)
            awaited = timers.o.valid if offered else timers.busy
            while not (await cycle(ctx, awaited))[0]:
                pass
            ctx.set(timers.forget, 0b10)
            await cycle(ctx)
            ctx.set(timers.forget, 0)
            seen = [await cycle(ctx, timers.o.valid, timers.busy) for _ in range(40)]
            if offered:
                assert set(seen) == {(1, 0b10)}
            else:
                assert all(not valid for valid, _ in seen) and seen[-1] == (0, 0)
            ctx.set(timers.o.ready, 1)
            for _ in range(8):
                await cycle(ctx)
            assert [await cycle(ctx, timers.o.valid, timers.busy, timers.timed) for _ in range(40)] == [(0, 0, 0)] * 40

    run(timers, play, cycles=1000)
