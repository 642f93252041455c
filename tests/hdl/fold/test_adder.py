"""The adder against the exact model, at every number of pipeline registers."""

import random

import pytest
from amaranth.sim import Simulator

from fanfold.codes import DataType, Operator
from fanfold.fold.float.adder import Adder
from fanfold.fold.float.format import FLOAT32, Format
from fanfold_sim.bench import refuses
from fanfold_sim.reference.arithmetic import FloatFormat, combine, float_sum

#: (a, b, a + b), checked by hand
FIXED = (
    (0x3F800000, 0x3F800000, 0x40000000),  # 1 + 1 = 2
    (0x3F800000, 0xBF800000, 0x00000000),  # 1 - 1 = +0
    (0x80000000, 0x80000000, 0x80000000),  # -0 + -0 = -0
    (0x00000000, 0x80000000, 0x00000000),  # +0 + -0 = +0
    (0x4B800000, 0x3F800000, 0x4B800000),  # 2^24 + 1: a tie, to even, down
    (0x4B800001, 0x3F800000, 0x4B800002),  # 2^24 + 2 + 1: a tie, to even, up
    (0x4B800000, 0x3F800001, 0x4B800001),  # just above the tie
    (0x00000001, 0x00000001, 0x00000002),  # smallest subnormals
    (0x007FFFFF, 0x00000001, 0x00800000),  # subnormal to normal
    (0x00800000, 0x80000001, 0x007FFFFF),  # normal to subnormal
    (0x01000000, 0x80FFFFFF, 0x00000001),  # 2^-125 less its neighbour
    (0x7F7FFFFF, 0x7F7FFFFF, 0x7F800000),  # overflow
    (0x7F7FFFFF, 0x73000000, 0x7F800000),  # overflow by rounding: half of the last place
    (0x7F7FFFFF, 0x72FFFFFF, 0x7F7FFFFF),  # just not
    (0x7F800000, 0xFF7FFFFF, 0x7F800000),  # inf - max = inf
    (0xFF800000, 0x7F800000, 0x7FC00000),  # inf - inf
    (0x7F800001, 0x3F800000, 0x7FC00000),  # signalling NaN
    (0xFFC12345, 0xFF800000, 0x7FC00000),  # payload and sign of a NaN are dropped
)

#: one of each kind, and its neighbours
SPECIAL = [sign | bits for sign in (0, 1 << 31) for bits in (
    0, 1, 2, 0x3FFFFF, 0x400000, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x1000001,
    0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x4B7FFFFF, 0x4B800000, 0x4B800001, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF,
    0x7F800000, 0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF)]  # fmt: skip


def random_pair(rng: random.Random) -> tuple[int, int]:
    """Two numbers that are often near each other, subnormal, or full of equal bits."""
    a = rng.getrandbits(32)
    if rng.random() < 0.2:
        a &= 0x83FFFFFF
    if rng.random() < 0.3:
        ones = (1 << rng.randrange(24)) - 1
        a = (a | ones) if rng.random() < 0.5 else (a & ~ones)
    kind = rng.random()
    if kind < 0.2:
        return a, rng.getrandbits(32)
    exponent = (a >> 23 & 0xFF) + rng.randint(-27, 27)
    b = rng.getrandbits(1) << 31 | min(max(exponent, 0), 255) << 23 | rng.getrandbits(23)
    if kind < 0.4:
        b = (a ^ 1 << 31) + rng.randint(-3, 3) & 0xFFFFFFFF
    elif kind < 0.6:
        b &= ~((1 << rng.randrange(24)) - 1)
    return (a, b) if rng.random() < 0.5 else (b, a)


def sums(dut: Adder, pairs: list[tuple[int, int]]) -> list[int]:
    """Feeds one pair a cycle; the sums, one a cycle."""
    results = []

    async def bench(ctx):
        for cycle in range(len(pairs) + dut.latency):
            if cycle < len(pairs):
                ctx.set(dut.a, pairs[cycle][0])
                ctx.set(dut.b, pairs[cycle][1])
            if cycle >= dut.latency:
                results.append(ctx.get(dut.o))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    return results


def check(dut: Adder, pairs: list[tuple[int, int]]):
    for (a, b), found in zip(pairs, sums(dut, pairs), strict=True):
        expected = combine(Operator.SUM, DataType.FLOAT32, a, b)
        assert found == expected, f"{a:#010x} + {b:#010x} = {found:#010x}, expected {expected:#010x}"


def test_fixed():
    for order in (1, -1):
        pairs = [(a, b)[::order] for a, b, _ in FIXED]
        assert sums(Adder(FLOAT32, 8), pairs) == [expected for _, _, expected in FIXED]


def test_special_pairs():
    check(Adder(FLOAT32, 8), [(a, b) for a in SPECIAL for b in SPECIAL])


@pytest.mark.parametrize("stages", range(3, 11))
def test_random(stages):
    rng = random.Random(stages)
    check(Adder(FLOAT32, stages), [random_pair(rng) for _ in range(4000 if stages == 8 else 1000)])


@pytest.mark.parametrize("form", [Format(5, 10), Format(8, 7), Format(11, 52), Format(6, 5)])
def test_other_formats(form):
    """The parts hold for any widths: checked against the model of the same format."""
    model = FloatFormat(form.exponent, form.fraction)
    rng = random.Random(form.width)
    pairs = []
    for _ in range(1000):
        a = rng.getrandbits(form.width)
        near = a ^ (rng.getrandbits(4) << max(0, form.fraction - rng.randrange(form.significand)))
        near ^= rng.getrandbits(1) << (form.width - 1)
        pairs.append((a, near & (1 << form.width) - 1 if rng.random() < 0.7 else rng.getrandbits(form.width)))
    for (a, b), found in zip(pairs, sums(Adder(form, 8), pairs), strict=True):
        assert found == float_sum(model, a, b), f"{a:#x} + {b:#x} = {found:#x}"


def test_stages_out_of_range():
    with refuses("stages is 11: it must be from 3 to 10"):
        Adder(FLOAT32, 11)
