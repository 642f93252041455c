"""A lane against the exact model: every operator and type, mixed cycle by cycle, combined and passed."""

import random

import pytest
from amaranth.sim import Simulator

from fanfold.codes import DataType, Operator
from fanfold.config import Config
from fanfold.fold.lane import LANE_BYTES, Lane, lane_latency
from fanfold_sim.reference.arithmetic import FLOATS, fold_bytes

#: all that fits in one lane: pairs of 16 bytes have tests of their own
WHOLE = tuple(each for each in DataType if each.element_bytes <= LANE_BYTES)
#: what needs no multiplier
ADDITIVE = tuple(each for each in Operator if each is not Operator.PROD)
NARROW = (DataType.FLOAT16, DataType.BFLOAT16)
LONG = (DataType.INT64, DataType.UINT64, DataType.FLOAT64)
INTEGERS = tuple(each for each in WHOLE if not each.floating and not each.pair)
ON_INTEGERS = tuple(each for each in ADDITIVE if each not in (Operator.MINLOC, Operator.MAXLOC))

#: operators, types, adder stages, latency of the lane
CONFIGURATIONS = {
    "all": (ADDITIVE, WHOLE, 8, 8),
    "all in 3 cycles": (ADDITIVE, WHOLE, 3, 3),
    "all in 10 cycles": (ADDITIVE, WHOLE, 10, 10),
    "all with products": (tuple(Operator), WHOLE, 8, 8 + 6),
    "products alone": ((Operator.PROD,), (DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16), 5, 5 + 5),
    "products of integers": ((Operator.PROD, Operator.SUM), INTEGERS, 8, 2 + 5),
    "no long types": (ADDITIVE, tuple(each for each in WHOLE if each not in LONG), 9, 9),
    "narrow floats": ((Operator.SUM, Operator.MAX), NARROW, 6, 6),
    "float16 and integers": (ON_INTEGERS, (*INTEGERS, DataType.FLOAT16), 4, 4),
    "bfloat16 alone": ((Operator.SUM,), (DataType.BFLOAT16,), 5, 5),
    "float64 alone": ((Operator.SUM, Operator.MIN), (DataType.FLOAT64,), 8, 8),
    "float64 and narrow ones": ((Operator.SUM, Operator.MIN), (DataType.FLOAT64, *NARROW), 7, 7),
    "float32": ((Operator.SUM, Operator.MIN, Operator.MAX), (DataType.FLOAT32,), 8, 8),
    "nothing to add": ((Operator.MIN, Operator.MAXLOC), tuple(each for each in WHOLE if each not in LONG), 8, 2),
    "integers": (ON_INTEGERS, INTEGERS, 8, 2),
    "bytes": ((Operator.SUM, Operator.LXOR), (DataType.INT8,), 8, 2),
    "int64 alone": ((Operator.SUM, Operator.MAX, Operator.LAND), (DataType.INT64,), 8, 2),
    "pairs": ((Operator.MINLOC, Operator.MAXLOC), (DataType.FLOAT32_INT32, DataType.INT32_INT32), 8, 2),
}


def expected(operator, data_type, combined, a, b) -> int:
    if not combined:
        return a
    return int.from_bytes(fold_bytes(operator, data_type, *(each.to_bytes(8, "little") for each in (a, b))), "little")


def check(dut: Lane, cases: list[tuple]):
    """Feeds a case (operator, type, combine, a, b) a cycle, and compares the results, one a cycle."""

    async def bench(ctx):
        for cycle in range(len(cases) + dut.latency + 1):
            if cycle < len(cases):
                for port, value in zip((dut.operator, dut.type, dut.combine), cases[cycle][:3], strict=True):
                    ctx.set(port, value)
            if 0 < cycle <= len(cases):  # a cycle behind
                ctx.set(dut.a, cases[cycle - 1][3])
                ctx.set(dut.b, cases[cycle - 1][4])
            if cycle > dut.latency:
                case = cases[cycle - dut.latency - 1]
                found = ctx.get(dut.o)
                shown = f"{case[0].name} {case[1].name} combine={case[2]} {case[3]:016x} {case[4]:016x}"
                assert found == expected(*case), f"{shown}: {found:016x}, expected {expected(*case):016x}"
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()


def corners(bits: int) -> list[int]:
    """Numbers of so many bits at which something ends, as an integer or as a floating-point number."""
    top = 1 << (bits - 1)
    found = {0, 1, 2, top - 1, top, top + 1, (1 << bits) - 1, 1 << bits // 2}
    for form in FLOATS.values():
        if form.bits == bits:
            least = 1 << form.fraction_bits
            one = (form.infinity >> 1) & ~(least - 1)
            magnitudes = (least - 1, least, one, form.infinity - 1, form.infinity, form.infinity + 1, form.nan)
            found |= {sign | each for sign in (0, top) for each in magnitudes}
    return sorted(found)


def operand(rng: random.Random, data_type: DataType) -> int:
    """Eight bytes of elements, of which many are corners."""
    bits = 32 if data_type.pair else 8 * data_type.element_bytes
    value = 0
    for at in range(0, 64, bits):
        element = rng.choice(corners(bits)) if rng.random() < 0.5 else rng.getrandbits(bits)
        value |= element << at
    return value


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_operator_on_every_type(name):
    operators, types, stages, latency = CONFIGURATIONS[name]
    config = Config(beat_bytes=8, contributors=2, operators=operators, types=types, adder_stages=stages)
    rng = random.Random(name)
    cases = []
    for _ in range(max(250, 8 * len(config.pairs))):
        operator, data_type = rng.choice(config.pairs)
        a, b = operand(rng, data_type), operand(rng, data_type)
        if rng.random() < 0.2:  # one word or both alike
            b = rng.choice((a, b & ~0xFFFFFFFF | a & 0xFFFFFFFF, a ^ 1 << rng.randrange(64)))
        cases.append((operator, data_type, rng.random() < 0.9, a, b))
    dut = Lane(config)
    assert dut.latency == latency
    check(dut, cases)


def test_latency_without_adders_is_that_of_two_registers():
    config = Config(operators=(Operator.MIN,), types=(DataType.FLOAT32,), adder_stages=9)
    assert lane_latency(config) == 2
