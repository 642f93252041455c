"""The plan of each packet against a plain model of the tree, for every order of arrival that is drawn."""

import random

import pytest

from fanfold.admission.plan import Plan
from fanfold.config import Config
from fanfold_sim.bench import receive, run, send


def expected_plan(total, levels, present, leaf):
    """Combine and keep bits up to the first level that keeps, and whether the packet reaches the top."""
    combine = keep = 0
    for level in range(levels):
        sibling = (leaf >> level) ^ 1
        members = [index for index in range(sibling << level, (sibling + 1) << level) if index < total]
        if not members:
            continue
        if all(index in present for index in members):
            combine |= 1 << level
        else:
            return combine, keep | 1 << level, level
    return combine, keep, levels


@pytest.mark.parametrize("contributors", [2, 3, 5, 8, 13])
def test_plan_follows_from_who_is_present(contributors):
    config = Config(beat_bytes=8, contributors=contributors, contexts=2, window=2, segment_bytes=128)
    choices = random.Random(contributors)
    items, expected = [], []
    for total in [1, *range(2, contributors + 1)] * 3:
        order = list(range(total))
        choices.shuffle(order)
        present = set()
        for leaf in order:
            present.add(leaf)
            bits = sum(1 << index for index in present)
            items.append({
                "first": 1, "last": 1, "leaf": leaf, "folds": 1, "present": bits, "total": total,
                "leaves": len(present) == total, "operator": 0, "type": 0,
            })  # fmt: skip
            expected.append((*expected_plan(total, config.levels, present, leaf), len(present) == total))
    dut = Plan(config)

    async def source(ctx):
        await send(ctx, dut.i, items)

    async def sink(ctx):
        for beat, (combine, keep, stop, done) in zip(await receive(ctx, dut.o, len(items)), expected, strict=True):
            mask = (2 << stop) - 1  # after a keep the bits have no meaning
            assert (beat.combine & mask, beat.keep & mask) == (combine, keep)
            assert (stop == config.levels) == done

    monitors = run(dut, source, sink, cycles=1000)
    assert monitors["o"].taken[0] - monitors["i"].taken[0] == Plan.latency
    assert len(monitors["segments"].taken) == sum(done for *_, done in expected)
