"""The proofs find faults of arithmetic: each of these, planted in a copy of the fold, is refuted by what it breaks."""

import pytest
from prover import Proof, Refuted
from test_adder_proofs import (
    FLOAT16,
    SMALL,
    STAGES,
    Adders,
    order_does_not_matter,
    special_values_hold,
    sums_are_exact,
)
from test_lane_proofs import EXTREMES, LANES, Lanes, lane_folds

from fanfold.codes import DataType, Operator
from fanfold.config import Config
from fanfold.fold.float.adder import Adder
from fanfold.fold.lane import Lane
from fanfold_sim.planting import planted

FEW = Config(
    operators=(Operator.SUM, *EXTREMES, Operator.LXOR), types=(DataType.INT32, DataType.INT64, DataType.UINT32)
)
HALVES = Config(operators=EXTREMES, types=(DataType.FLOAT16, DataType.BFLOAT16))
PAIRS = LANES["pairs"]
PRODUCTS = Config(operators=(Operator.PROD,), types=(DataType.INT8, DataType.UINT32))

ROUNDED = "the sum is the exact one, rounded once"
DECIDES = "decides = s.total[lowest] | s.total[unused : lowest - 1].any()"

#: of the adder: properties, module, what stands there, what is planted, what it breaks
ADDER_FAULTS = {
    "a sticky bit that forgets whole groups": (
        *(sums_are_exact, "float.align", "Cat(gone_groups.any() | s.sticky | lost[0]", "Cat(s.sticky | lost[0]"),
        ROUNDED,
    ),
    "a sticky bit that forgets what the fine shift loses": (
        *(sums_are_exact, "float.align", "s.sticky | lost[0], lost[1:])", "s.sticky)"),
        ROUNDED,
    ),
    "ties that go up": (sums_are_exact, "float.round", DECIDES, "decides = C(1, 1)", ROUNDED),
    "ties that go down": (
        *(sums_are_exact, "float.round", DECIDES, "decides = s.total[unused : lowest - 1].any()"),
        ROUNDED,
    ),
    "subnormals that count from exponent 0": (
        *(sums_are_exact, "float.align", "number.exponent[0] | ~hidden", "number.exponent[0]"),
        f"{ROUNDED}",
    ),
    "a hidden bit where the exponent is 0": (
        *(special_values_hold, "float.classify", "kind.normal.eq(number.exponent.any())", "kind.normal.eq(1)"),
        "zero adds nothing|zeros are -0 only where both are",
    ),
    "infinities that do not cancel": (
        *(special_values_hold, "float.align", "compared.nan | compared.undefined", "compared.nan"),
        "opposite infinities make the canonical NaN",
    ),
    "a difference of 0 with the first operand's sign": (
        *(special_values_hold, "float.normalise", "sign=s.sign & ~(s.subtract & none)", "sign=s.sign"),
        "what cancels is \\+0|zeros are -0 only where both are",
    ),
    "the first operand's sign": (
        *(order_does_not_matter, "float.align", '"sign": number.sign & ~nan', '"sign": compared.a[-1] & ~nan'),
        "both orders give the same bits",
    ),
}

#: of a lane: its configuration, then the same
LANE_FAULTS = {
    "unsigned numbers compared as signed ones": (
        *(FEW, "exact", "a_negative ^ s.unsigned, b_larger", "a_negative, b_larger"),
        "(MIN|MAX) of UINT32",
    ),
    "a type that is not known to be unsigned": (
        *(FEW, "selection", "DataType.UINT32, DataType.UINT64)", "DataType.UINT64)"),
        "(MIN|MAX) of UINT32",
    ),
    "a carry into the next element": (
        *(LANES["integers"], "segments", "left.append(~tops[index])", "left.append(C(1, 1))"),
        "SUM of U?INT(8|16)",
    ),
    "no carry between the halves of 64 bits": (
        *(FEW, "exact", "(c.sum_1 + (c.carry_0 & wide))[:_WORD]", "c.sum_1"),
        "SUM of INT64",
    ),
    "a comparison of the upper half alone": (
        *(FEW, "exact", "return b_larger | (c.alike_high &", "return b_larger | (C(0, 1) &"),
        "(MIN|MAX) of INT64",
    ),
    "truth that is in the lowest byte alone": (
        *(FEW, "exact", "for byte in range(start, start + size)).any()", "for byte in [start]).any()"),
        "LXOR of",
    ),
    "a word that is summed though it only passes": (
        *(FEW, "selection", '"integer_sum": combine & does', '"integer_sum": does'),
        "what is not combined passes",
    ),
    "negative floating-point numbers in the order of positive ones": (
        *(HALVES, "exact", "b_larger ^ (floating & a_negative)", "C(b_larger, 1)"),
        "(MIN|MAX) of B?FLOAT16",
    ),
    "a NaN that keeps its payload": (
        *(HALVES, "exact", 'found[f"nan_{byte}"] = one & s.extreme', 'found[f"nan_{byte}"] = C(0, 1)'),
        "(MIN|MAX) of B?FLOAT16",
    ),
    "an index that does not decide a tie": (
        *(PAIRS, "exact", "Mux(tie, second_at[high], second_at[low])", "second_at[low]"),
        "(MINLOC|MAXLOC) of (FLOAT32|INT32) INT32",
    ),
    "the greatest index where the greatest value is wanted": (
        *(PAIRS, "exact", "s.minimum | of_pair", "s.minimum"),
        "MAXLOC of (FLOAT32|INT32) INT32",
    ),
    "NaNs that are no tie": (
        *(PAIRS, "exact", 'tie = c.equal_low | getattr(c, f"both_nan_{low}")', "tie = c.equal_low"),
        "(MINLOC|MAXLOC) of FLOAT32 INT32",
    ),
    "products of odd bytes with their neighbours": (
        *(PRODUCTS, "product.operands", "word_select(2 * (index ^ flip) + 1, 8)", "word_select(2 * index + 1, 8)"),
        "PROD of U?INT8",
    ),
}

#: enough for every day
QUICK = (
    *("ties that go up", "subnormals that count from exponent 0", "unsigned numbers compared as signed ones"),
    "an index that does not decide a tie",
)


def _named(faults):
    return [each if each in QUICK else pytest.param(each, marks=pytest.mark.long) for each in faults]


@pytest.mark.parametrize("fault", _named(ADDER_FAULTS))
def test_fault_of_the_adder_is_found(tmp_path, fault):
    holds, module, right, wrong, broken = ADDER_FAULTS[fault]
    form = FLOAT16 if "whole groups" in fault else SMALL  # a small number has but one
    adder = planted(Adder, right, wrong, f"fanfold.fold.{module}")
    swapped = holds is order_does_not_matter
    holds(proof := Proof(Adders(form, swapped=True, adder=adder) if swapped else adder(form, STAGES)), form)
    with pytest.raises(Refuted, match=broken):
        proof.check_pipeline(tmp_path, latency=STAGES)


@pytest.mark.parametrize("fault", _named(LANE_FAULTS))
def test_fault_of_a_lane_is_found(tmp_path, fault):
    config, module, right, wrong, broken = LANE_FAULTS[fault]
    lane = planted(Lane, right, wrong, f"fanfold.fold.{module}")
    lane_folds(proof := Proof(Lanes(config, lane)), config)
    with pytest.raises(Refuted, match=broken):
        proof.check_pipeline(tmp_path, latency=proof.dut.latency + 1)
