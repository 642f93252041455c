"""A lane gives what its rules say, for every operator and type but where floating-point numbers are rounded."""

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from lane_rules import LANE_BITS, folded
from prover import Proof

from fanfold.codes import DataType, Operator
from fanfold.config import Config
from fanfold.fold.lane import Lane, splits_pairs

INTEGERS = tuple(each for each in DataType if not each.floating and not each.pair)
EXTREMES = (Operator.MIN, Operator.MAX)
LOCATED = (Operator.MINLOC, Operator.MAXLOC)
LOGIC = (Operator.LAND, Operator.LOR, Operator.LXOR, Operator.BAND, Operator.BOR, Operator.BXOR)


class Lanes(wiring.Component):
    """As many lanes side by side as the longest element needs, with the ports of one."""

    def __init__(self, config: Config, lane: type = Lane):
        self._lanes = [lane(config) for _ in range(1 + splits_pairs(config))]
        bits = LANE_BITS * len(self._lanes)
        codes = {"operator": In(Operator), "type": In(DataType), "combine": In(1)}
        super().__init__({"a": In(bits), "b": In(bits), **codes, "o": Out(bits)})
        self.latency = self._lanes[0].latency

    def elaborate(self, platform):
        m = Module()
        for index, lane in enumerate(self._lanes):
            m.submodules[f"lane_{index}"] = lane
            bits = slice(LANE_BITS * index, LANE_BITS * (index + 1))
            m.d.comb += [lane.a.eq(self.a[bits]), lane.b.eq(self.b[bits]), self.o[bits].eq(lane.o)]
            m.d.comb += [lane.operator.eq(self.operator), lane.type.eq(self.type), lane.combine.eq(self.combine)]
        if len(self._lanes) == 2:
            value, after = self._lanes
            m.d.comb += [value.half.eq(0), after.half.eq(1), after.before.eq(value.decided)]
        return m


def lane_folds(proof: Proof, config: Config):
    """Each pair of ``config`` by its rule; what is not combined passes."""
    dut = proof.dut
    a, b = (proof.earlier(getattr(dut, name), dut.latency, name) for name in "ab")
    # what is to be done comes a cycle before the operands
    operator, data_type, combine = (
        proof.earlier(getattr(dut, name), dut.latency + 1, name) for name in ("operator", "type", "combine")
    )

    def one_of(code, members):
        return Cat(code == member.value for member in members).any()

    configured = one_of(operator, config.operators) & one_of(data_type, config.types)
    proof.require(~configured | combine | (dut.o == a), "what is not combined passes")
    proof.cover(configured & ~combine & (a != b), "something is not combined")
    for chosen, of in config.pairs:
        if of.floating and chosen in (Operator.SUM, Operator.PROD):
            continue
        asked = Signal(name=f"{chosen.name}_of_{of.name}".lower())
        proof.m.d.comb += asked.eq(combine & (operator == chosen.value) & (data_type == of.value))
        name = f"{chosen.name} of {of.name}"
        proof.require(~asked | (dut.o == folded(chosen, of, a, b)), name)
        proof.cover(asked & (dut.o != a), f"{name}: changes something")


LANES = {
    "integers": Config(operators=(Operator.SUM, *EXTREMES, *LOGIC), types=INTEGERS),
    "bytes multiplied": Config(operators=(Operator.PROD,), types=(DataType.INT8, DataType.UINT8)),
    "pairs": Config(operators=LOCATED, types=(DataType.FLOAT32_INT32, DataType.INT32_INT32)),
}
LARGER_LANES = {
    "words multiplied": Config(operators=(Operator.PROD,), types=(DataType.INT16, DataType.UINT16)),
    "beside adders": Config(
        operators=(Operator.SUM, *EXTREMES), types=(DataType.INT32, DataType.UINT32, DataType.FLOAT32)
    ),
    "wide pairs": Config(
        operators=(*EXTREMES, *LOCATED),
        types=(DataType.INT64, DataType.FLOAT64, DataType.INT32_INT32, DataType.FLOAT64_INT32),
    ),
}


@pytest.mark.parametrize("lane", [*LANES, *(pytest.param(each, marks=pytest.mark.long) for each in LARGER_LANES)])
def test_lane(tmp_path, lane):
    config = (LANES | LARGER_LANES)[lane]
    lane_folds(proof := Proof(Lanes(config)), config)
    proof.check_pipeline(tmp_path, latency=proof.dut.latency + 1)
