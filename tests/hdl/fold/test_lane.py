"""A lane against the exact model: every operator and type, mixed cycle by cycle, combined and passed."""

import random

import pytest
from amaranth.sim import Simulator

from fanfold.codes import DataType, Operator
from fanfold.config import DEFAULT_OPERATORS, DEFAULT_TYPES, Config
from fanfold.fold.lane import Lane
from fanfold_sim.reference.arithmetic import combine

CORNERS = (0, 1, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000,
           0x7FC00000, 0xFFC00001, 0x7F800001, 0x00800000, 0x807FFFFF)  # fmt: skip


def lane_config(operators=DEFAULT_OPERATORS, types=DEFAULT_TYPES, stages=8) -> Config:
    return Config(beat_bytes=8, contributors=2, operators=operators, types=types, adder_stages=stages)


def expected(operator, data_type, combined, a, b) -> int:
    if not combined:
        return a
    halves = [combine(operator, data_type, a >> at & 0xFFFFFFFF, b >> at & 0xFFFFFFFF) for at in (0, 32)]
    return halves[1] << 32 | halves[0]


def check(dut: Lane, cases: list[tuple]):
    """Feeds a case (operator, type, combine, a, b) a cycle, and compares the results, one a cycle."""

    async def bench(ctx):
        for cycle in range(len(cases) + dut.latency):
            if cycle < len(cases):
                for port, value in zip((dut.operator, dut.type, dut.combine, dut.a, dut.b), cases[cycle], strict=True):
                    ctx.set(port, value)
            if cycle >= dut.latency:
                case = cases[cycle - dut.latency]
                found = ctx.get(dut.o)
                assert found == expected(*case), f"{case}: {found:#018x}, expected {expected(*case):#018x}"
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


def test_corners():
    pairs = [(a, b) for a in CORNERS for b in CORNERS]
    cases = []
    for operator in DEFAULT_OPERATORS:
        for data_type in DEFAULT_TYPES:
            for low, high in zip(pairs, reversed(pairs), strict=True):
                cases.append((operator, data_type, 1, high[0] << 32 | low[0], high[1] << 32 | low[1]))
    check(Lane(lane_config()), cases)


@pytest.mark.parametrize(
    "operators, types, stages, latency",
    [
        (DEFAULT_OPERATORS, DEFAULT_TYPES, 8, 8),
        (DEFAULT_OPERATORS, DEFAULT_TYPES, 3, 3),
        (DEFAULT_OPERATORS, DEFAULT_TYPES, 4, 4),
        ((Operator.SUM,), DEFAULT_TYPES, 8, 8),
        ((Operator.SUM,), (DataType.FLOAT32,), 5, 5),
        ((Operator.MIN, Operator.MAX), DEFAULT_TYPES, 8, 2),
        ((Operator.MAX,), (DataType.UINT32,), 8, 2),
        (DEFAULT_OPERATORS, (DataType.INT32, DataType.UINT32), 8, 2),
        ((Operator.SUM,), (DataType.INT32,), 8, 2),
    ],
)
def test_configurations(operators, types, stages, latency):
    rng = random.Random(stages)
    cases = []
    for _ in range(600):
        a, b = rng.getrandbits(64), rng.getrandbits(64)
        if rng.random() < 0.3:
            a, b = (rng.choice(CORNERS) << 32 | rng.choice(CORNERS) for _ in "ab")
        cases.append((rng.choice(operators), rng.choice(types), rng.random() < 0.8, a, b))
    dut = Lane(lane_config(operators, types, stages))
    assert dut.latency == latency
    check(dut, cases)
