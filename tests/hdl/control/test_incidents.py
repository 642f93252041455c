"""The queue of events against a list: the last ones are kept, the lost ones counted, the oldest one is read first."""

import random
from collections import deque

import pytest
from telemetry_model import a_report, event_of

from fanfold.codes import Origin, Status
from fanfold.config import PRESETS
from fanfold.control.incidents import PLACES, Incidents
from fanfold_sim.bench import cycle, run

TINY = PRESETS["tiny"]


@pytest.mark.parametrize(("share", "pops"), [(0.1, 0.2), (1, 0.5), (1, 0.02)])
def test_events_come_out_as_they_went_in(share, pops):
    dut = Incidents(TINY)
    choices = random.Random(f"{share} {pops}")
    queue = deque()
    lost = []

    async def world(ctx):
        coming = None  # a report is in the queue a cycle after it came
        for now in range(1200):
            report = a_report(TINY, choices) if choices.random() < share else None
            ctx.set(dut.reports.valid, report is not None)
            if report:
                ctx.set(dut.reports.payload, report)
            ctx.set(dut.now, now)
            pop = choices.random() < pops
            ctx.set(dut.pop, pop)
            level, lost_count = await cycle(ctx, dut.level, dut.lost)
            assert (level, lost_count) == (len(queue), len(lost))
            popped = queue.popleft() if pop and queue else None
            if coming:
                if len(queue) == PLACES:
                    lost.append(queue.popleft())
                queue.append(coming)
            coming = event_of(report, now) if report else None
            if pop:
                expected.append((now + dut.latency, popped))
        assert (len(lost) > 100) == (pops == 0.02)

    expected = deque()

    async def reader(ctx):
        for now in range(1200):
            found, oldest = await cycle(ctx, dut.found, dut.oldest)
            while expected and expected[0][0] == now:
                _, event = expected.popleft()
                if event is not None:
                    assert found or any(at == now + 1 for at, _ in expected)
                    values = {name: oldest[name] for name in event}
                    assert {name: getattr(each, "value", each) for name, each in values.items()} == event

    run(dut, world, reader, cycles=1300)


def test_an_empty_queue_says_so():
    dut = Incidents(TINY)
    choices = random.Random(3)

    async def world(ctx):
        async def popped():
            ctx.set(dut.pop, 1)
            await cycle(ctx)
            ctx.set(dut.pop, 0)
            for _ in range(dut.latency):
                await cycle(ctx)
            return ctx.get(dut.found)

        assert not await popped()
        ctx.set(dut.reports.payload, a_report(TINY, choices, origin=Origin.RECEIVED, status=Status.NO_ROOM))
        ctx.set(dut.reports.valid, 1)
        await cycle(ctx)
        ctx.set(dut.reports.valid, 0)
        await cycle(ctx)
        assert await popped()
        assert not await popped()

    run(dut, world, cycles=100)
