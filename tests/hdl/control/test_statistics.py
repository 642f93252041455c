"""The statistics against a model: every counter, whatever comes in successive cycles, cleared when a context opens."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import Signal
from telemetry_model import StatisticsModel, a_report

from fanfold.codes import Origin, Status
from fanfold.config import PRESETS
from fanfold.control.statistics import Statistics
from fanfold_sim.bench import cycle, run

TINY = PRESETS["tiny"]
SMALL = replace(TINY, contexts=4, contributors=3, window=4)


class Driver:
    """Offers reports and openings to the hardware and to the model, and reads rows of both."""

    def __init__(self, ctx, dut, config):
        self.ctx, self.dut = ctx, dut
        self.model = StatisticsModel(config)

    async def step(self, report=None, opened=None):
        ctx, dut = self.ctx, self.dut
        ctx.set(dut.reports.valid, report is not None)
        if report is not None:
            ctx.set(dut.reports.payload, report)
        ctx.set(dut.opened.valid, opened is not None)
        if opened is not None:
            ctx.set(dut.opened.payload, opened)
        (busy,) = await cycle(ctx, dut.busy)
        self.model.step(report, opened)
        return busy

    async def idle(self, cycles):
        for _ in range(cycles):
            await self.step()

    async def read(self, context, contributor=0, status=0):
        """The words, in quiet; and how many cycles that took."""
        ctx, dut = self.ctx, self.dut
        await self.idle(2)
        ctx.set(dut.take, 1)
        await self.step()
        ctx.set(dut.take, 0)
        ctx.set(dut.choice, {"context": context, "contributor": contributor, "status": status})
        cycles = 1
        while await self.step():
            cycles += 1
            assert cycles < 1000
        words = ctx.get(dut.words)
        return {name: words[name] for name in dut.words.shape().members}, cycles

    async def check(self, config, choices):
        """Every row is as the model has it."""
        for context in range(config.contexts):
            for contributor in range(config.contributors):
                status = choices.randrange(16)
                found, _ = await self.read(context, contributor, status)
                assert found == self.model.words(context, contributor, status), (context, contributor, status)


def started(dut, config, body, **options):
    """Runs ``body`` with a driver once the walk after the reset is over."""

    async def host(ctx):
        driver = Driver(ctx, dut, config)
        ctx.set(dut.open_contexts, (1 << config.contexts) - 1)
        await driver.idle(dut.walk_cycles + 4)
        await body(driver)

    run(dut, host, **options)


@pytest.mark.parametrize("config", [TINY, SMALL, replace(SMALL, telemetry=False)], ids=["tiny", "small", "without"])
@pytest.mark.parametrize("share", [0.3, 1])
def test_everything_is_counted_once(config, share):
    """With reports in every cycle, few contexts make the same row come one, two and more cycles later."""
    dut = Statistics(config)
    choices = random.Random(f"{config.contexts} {share}")

    async def body(driver):
        last_opened = {}
        for _ in range(3):
            for _ in range(300):
                report = a_report(config, choices) if choices.random() < share else None
                context = choices.randrange(config.contexts) if choices.random() < 0.05 else None
                if driver.model.cycle - last_opened.get(context, -9) < 3:
                    context = None
                if context is not None:
                    last_opened[context] = driver.model.cycle
                await driver.step(report, context)
            await driver.check(config, choices)

    started(dut, config, body, cycles=4000)


def test_spreads_are_cycles_between_contributions():
    """Segments of several contexts overlap; some end without their last contribution, some are alone in a cycle."""
    config = SMALL
    dut = Statistics(config)
    choices = random.Random(7)

    async def body(driver):
        driver.ctx.set(dut.measure, 1)
        open_slots = {}
        given = dict(down=0, origin=Origin.RECEIVED, status=Status.OK, answered=0, ends=0)
        for _ in range(900):
            report = None
            if choices.random() < 0.4:
                slot = choices.randrange(config.fold_slots)
                where = dict(slot=slot, context=slot // config.window)
                if slot in open_slots:
                    del open_slots[slot]
                    ending = choices.choice([{}, {}, {}, dict(origin=Origin.OVERDUE), dict(down=1)])
                    report = a_report(config, choices, **(given | where | ending), opens=0, closes=1)
                else:
                    alone = choices.random() < 0.2
                    report = a_report(config, choices, **given, **where, opens=1, closes=alone)
                    if not alone:
                        open_slots[slot] = True
            await driver.step(report)
        await driver.check(config, choices)
        assert any(len(counts.spreads) > 20 for counts in driver.model.contexts.values())

    started(dut, config, body, cycles=4000)


def test_without_measure_and_without_open_segments_nothing_moves():
    config = TINY
    dut = Statistics(config)
    choices = random.Random(1)
    given = dict(down=0, origin=Origin.RECEIVED, status=Status.OK, answered=0, context=1, contributor=2)

    async def body(driver):
        ctx = driver.ctx
        opens, closes = (dict(opens=1, slot=2, context=1), dict(closes=1, slot=2, context=1))
        await driver.step(a_report(config, choices, **(given | opens)))
        await driver.step(a_report(config, choices, **(given | closes)))
        found, cycles = await driver.read(1, 2)
        assert cycles == dut.latency
        assert (found["context_spread_count"], found["context_spread_min"]) == (0, 0xFFFFFFFF)
        ctx.set(dut.measure, 1)
        await driver.step(a_report(config, choices, **(given | opens)))
        await driver.idle(9)
        await driver.step(a_report(config, choices, **(given | closes)))
        found, _ = await driver.read(1, 2)
        names = ("count", "sum", "min", "max")
        assert [found[f"context_spread_{name}"] for name in names] == [1, 10, 10, 10]
        # one that began before the measuring did is not measured
        ctx.set(dut.measure, 0)
        await driver.step(a_report(config, choices, **(given | opens)))
        await driver.idle(2)
        ctx.set(dut.measure, 1)
        await driver.idle(3)
        await driver.step(a_report(config, choices, **(given | closes)))
        found, _ = await driver.read(1, 2)
        assert found["context_spread_count"] == 1
        # a segment whose context is released never closes: its clock ends with the context
        await driver.step(a_report(config, choices, **(given | opens)))
        await driver.idle(4)
        ctx.set(dut.open_contexts, 0)
        await driver.idle(2)
        ctx.set(dut.open_contexts, 3)
        await driver.step(a_report(config, choices, **(given | opens)))
        await driver.idle(2)
        await driver.step(a_report(config, choices, **(given | closes)))
        found, _ = await driver.read(1, 2)
        assert [found[f"context_spread_{name}"] for name in names] == [2, 13, 3, 10]
        assert found["contributor_last"] == 4

    started(dut, config, body, cycles=1000)


def test_a_read_gets_its_turn_between_reports_in_every_cycle():
    """It waits for a cycle without one; when none comes, one report is missed, and that is said."""
    config = TINY
    dut = Statistics(config)
    choices = random.Random(2)
    same = dict(context=1, slot=2, origin=Origin.RECEIVED, answered=0, down=0, status=Status.OK, contributor=0)

    async def body(driver):
        ctx = driver.ctx
        ctx.set(dut.take, 1)
        await driver.step(a_report(config, choices, **same))
        ctx.set(dut.take, 0)
        ctx.set(dut.choice, {"context": 1, "contributor": 0, "status": 0})
        cycles = 1
        while await driver.step(a_report(config, choices, **same)):
            cycles += 1
        assert 256 < cycles <= 256 + dut.latency
        assert ctx.get(dut.missed) == 1
        assert ctx.get(dut.words.context_packets) == 256
        after, _ = await driver.read(1)
        assert after["context_packets"] == driver.model.words(1, 0, 0)["context_packets"] - 1

    started(dut, config, body, cycles=1000)


def test_a_life_never_comes_back():
    """As many openings as there are numbers of lives, between which nothing is counted: still nothing is there."""
    config = TINY
    dut = Statistics(config)
    choices = random.Random(4)

    async def body(driver):
        for contributor in range(config.contributors):
            await driver.step(a_report(config, choices, context=1, slot=2, contributor=contributor))
        for _ in range(256):
            await driver.step(None, 1)
            await driver.idle(2)
        await driver.check(config, choices)

    started(dut, config, body, cycles=2000)


def test_a_reset_clears_everything():
    config = TINY
    dut = Statistics(config)
    reset = Signal()
    choices = random.Random(5)

    async def body(driver):
        for _ in range(100):
            await driver.step(a_report(config, choices))
        assert (await driver.read(1))[0]["context_packets"] > 10
        driver.ctx.set(reset, 1)
        await driver.idle(2)
        driver.ctx.set(reset, 0)
        await driver.idle(dut.walk_cycles + 4)
        driver.model = StatisticsModel(config)
        await driver.check(config, choices)

    started(dut, config, body, cycles=2000, reset=reset)
