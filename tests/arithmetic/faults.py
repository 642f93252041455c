"""Faults of arithmetic that are easily made, to be planted in the fold's sources: the checks must catch each.

``python tests/arithmetic/faults.py`` plants them all and prints by which check each was caught; exit code 1 if one was
not. A check that finds fault with the lane as it is would prove nothing: that comes first.
"""

import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
from judges import Wrong, check, check_mixed
from lanes import HALVES, configured
from operands import biased, mixed, special_pairs

from fanfold.codes import DataType, Operator
from fanfold.config import Config
from fanfold.fold.lane import Lane
from fanfold_sim.planting import planted
from fanfold_sim.simulators.lane import VerilatedLane

__all__ = ["FAULTS", "Fault", "caught", "lane_with", "sound"]

_NUMBERS = (Operator.SUM, Operator.MIN, Operator.MAX)
#: floating-point numbers of all sizes, so that some share an adder; with whole numbers beside them
FLOATS = configured(_NUMBERS, [DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64, DataType.INT16])
#: integers of all sizes, and logic
INTEGERS = configured(
    (*_NUMBERS, Operator.LAND, Operator.LXOR, Operator.BOR),
    [DataType.INT8, DataType.INT16, DataType.UINT16, DataType.UINT32, DataType.INT64, DataType.UINT64],
)
PAIRS = configured(
    (Operator.MINLOC, Operator.MAXLOC), [DataType.FLOAT32_INT32, DataType.INT32_INT32, DataType.FLOAT64_INT32]
)
PRODUCTS = configured(
    (Operator.PROD,), [DataType.INT8, DataType.UINT32, DataType.FLOAT16, DataType.BFLOAT16, DataType.FLOAT32]
)


@dataclass(frozen=True)
class Fault:
    """What stands in a module below ``fanfold.fold``, what is planted there, and the lane in which it shows."""

    config: Config
    module: str
    right: str
    wrong: str


FAULTS = {
    # rounding
    "a sticky bit that forgets what the coarse shift loses": Fault(
        HALVES, "float.align", "lost=Cat(gone_groups.any() | s.sticky | lost[0]", "lost=Cat(s.sticky | lost[0]"
    ),
    "a sticky bit that forgets what the fine shift loses": Fault(
        HALVES, "float.align", "lost.append(s.fine[place] & shifted[:by].any())", "lost.append(C(0, 1))"
    ),
    "a sticky bit of a narrow format that looks at one bit": Fault(
        FLOATS, "float.normalise", "total[: sticky + 1].any()", "total[sticky]"
    ),
    "ties that are always rounded up": Fault(
        HALVES, "float.round", "decides = s.total[lowest] | s.total[unused : lowest - 1].any()", "decides = C(1, 1)"
    ),
    "ties that are always rounded down": Fault(
        HALVES,
        "float.round",
        "decides = s.total[lowest] | s.total[unused : lowest - 1].any()",
        "decides = s.total[unused : lowest - 1].any()",
    ),
    "no rounding at all": Fault(
        FLOATS, "float.round", "up = selected(s.which, ups)", "up = C(0, 1)"
    ),
    "an overflow that keeps its fraction": Fault(
        HALVES, "float.normalise", "clear=(s.total[-1] & s.brim) | s.nan", "clear=s.nan"
    ),
    # subnormals
    "a hidden bit where the exponent is 0": Fault(
        HALVES, "float.classify", "kind.normal.eq(number.exponent.any())", "kind.normal.eq(1)"
    ),
    "subnormals that count from exponent 0": Fault(
        HALVES, "float.align", "Cat(number.exponent[0] | ~hidden, number.exponent[1:])", "number.exponent"
    ),
    "subnormals that are one place too far away": Fault(
        HALVES, "float.align", '"nearer": kind_a.normal ^ kind_b.normal', '"nearer": C(0, 1)'
    ),
    "sums that move up further than the exponent goes": Fault(
        HALVES, "float.normalise", "s.exponent[:_FINE] == place for place", "C(0, 1) for place"
    ),
    # special values
    "a NaN that keeps its payload in sums": Fault(
        HALVES, "float.align", "nan = compared.nan | compared.undefined", "nan = compared.undefined"
    ),
    "a NaN that keeps its payload in minima": Fault(
        HALVES, "exact", 'found[f"nan_{byte}"] = one & s.extreme', 'found[f"nan_{byte}"] = C(0, 1)'
    ),
    "infinities that do not cancel": Fault(
        HALVES, "float.align", "nan = compared.nan | compared.undefined", "nan = compared.nan"
    ),
    "a difference of 0 that has the first operand's sign": Fault(
        HALVES, "float.normalise", "sign=s.sign & ~(s.subtract & none)", "sign=s.sign"
    ),
    "zeros of both signs that are equal": Fault(
        HALVES,
        "exact",
        "choices = [_second(s, byte, a[8 * byte + 7], b[8 * byte + 7], b_larger) for b_larger in (0, 1)]",
        "signs = [each[8 * byte + 7] & each[max(8 * byte - 8, 0) : 8 * byte + 7].any() for each in (a, b)]\n"
        "        choices = [_second(s, byte, *signs, b_larger) for b_larger in (0, 1)]",
    ),
    "negative floating-point numbers in the order of positive ones": Fault(
        FLOATS, "exact", "b_larger ^ (floating & a_negative)", "C(b_larger, 1)"
    ),
    # integers
    "unsigned numbers compared as signed ones": Fault(
        INTEGERS, "exact", "a_negative ^ s.unsigned, b_larger", "a_negative, b_larger"
    ),
    "a type that is not known to be unsigned": Fault(
        INTEGERS, "selection", "DataType.UINT32, DataType.UINT64)", "DataType.UINT32)"
    ),
    "a carry into the next element": Fault(INTEGERS, "segments", "left.append(~tops[index])", "left.append(C(1, 1))"),
    "a comparison that begins in the element before": Fault(
        INTEGERS, "segments", "right.append(C(1, 1) if last else top)", "right.append(C(1, 1) if last else C(0, 1))"
    ),
    "no carry between the halves of 64 bits": Fault(
        INTEGERS, "exact", "(c.sum_1 + (c.carry_0 & wide))[:_WORD]", "(c.sum_1 + C(0, 1))[:_WORD]"
    ),
    "a comparison of the upper half alone": Fault(
        INTEGERS, "exact", "return b_larger | (c.alike_high &", "return b_larger | (C(0, 1) &"
    ),
    "LAND taken bit by bit": Fault(
        INTEGERS,
        "selection",
        '"bitwise": combine & does(*BITWISE),\n        "logical": combine & does(*LOGICAL),',
        '"bitwise": combine & does(*BITWISE, *LOGICAL),\n        "logical": C(0, 1),',
    ),
    "truth that is in the lowest byte alone": Fault(
        INTEGERS, "exact", "for byte in range(start, start + size)).any()", "for byte in [start]).any()"
    ),
    # pairs
    "an index that does not decide a tie": Fault(
        PAIRS, "exact", "Mux(tie, second_at[high], second_at[low])", "second_at[low]"
    ),
    "an index that does not decide a tie of 8 bytes": Fault(
        PAIRS, "exact", "Mux(before[1], second_at[low], before[0])", "before[0]"
    ),
    "NaNs that are no tie": Fault(
        PAIRS, "exact", 'tie = c.equal_low | getattr(c, f"both_nan_{low}")', "tie = c.equal_low"
    ),
    "the greatest index where the greatest value is wanted": Fault(
        PAIRS, "exact", "s.minimum | of_pair", "s.minimum"
    ),
    "padding that is left as it came": Fault(
        PAIRS, "exact", "[each | (s.index & s.extreme) for each", "[each for each"
    ),
    # products
    "a product that loses its sticky bit": Fault(
        PRODUCTS, "product.scale", "self.o.sticky.eq(s.sticky | lost)", "self.o.sticky.eq(s.sticky)"
    ),
    "a product of a subnormal with a hidden bit": Fault(
        PRODUCTS, "product.operands", "hidden | (selected & number.exponent.any())", "hidden | selected"
    ),
    "a product that overflows late": Fault(
        PRODUCTS, "product.scale", "s.ahead[own:-1].any() | s.ahead[1:own].all()", "s.ahead[own:-1].any()"
    ),
    "infinity times 0 that is infinity": Fault(
        PRODUCTS, "product.scale", "nan[0] | nan[1] | (special & (zero[0] | zero[1]))", "nan[0] | nan[1]"
    ),
    "products of odd bytes with their neighbours": Fault(
        PRODUCTS, "product.operands", "word_select(2 * (index ^ flip) + 1, 8)", "word_select(2 * index + 1, 8)"
    ),
    # what a packet's word is to do
    "a word that is summed though it only passes": Fault(
        INTEGERS, "selection", '"integer_sum": combine & does', '"integer_sum": does'
    ),
    "an operator that is known a cycle early": Fault(
        FLOATS,
        "lane",
        "m.d.sync += Value.cast(selection[name]).eq(value)",
        'm.d[("comb" if name == "extreme" else "sync")] += Value.cast(selection[name]).eq(value)',
    ),
}  # fmt: skip


def lane_with(fault: Fault) -> type:
    """The class of lanes that have ``fault``."""
    return planted(Lane, fault.right, fault.wrong, f"fanfold.fold.{fault.module}")


def caught(fault: Fault) -> str:
    """The check that catches ``fault``, and what it says; nothing when none does."""
    return _complaint(VerilatedLane(fault.config, lane=lane_with(fault)))


@cache
def sound(config: Config) -> str:
    """What the checks say of the lane as it is: nothing."""
    return _complaint(VerilatedLane(config))


def _complaint(lane: VerilatedLane) -> str:
    """What the first check has to say that is not content, those that need the fewest pairs first."""
    config, rng = lane.config, np.random.default_rng(1)
    try:
        name = "special pairs"
        for operator, data_type in config.pairs:
            check(lane, operator, data_type, *special_pairs(data_type), sample=100, rng=rng)
        name = "biased pairs"
        for operator, data_type in config.pairs:
            check(lane, operator, data_type, *biased(data_type, 1 << 16, rng), sample=100, rng=rng)
        name = "mixed words"
        check_mixed(lane, *mixed(config, 20_000, rng))
    except Wrong as error:
        return f"{name}: {error}"
    return ""


def main() -> int:
    missed = 0
    for config in dict.fromkeys(fault.config for fault in FAULTS.values()):
        if complaint := sound(config):
            print(f"the lane is wrong with no fault planted: {complaint}")
            return 1
    for name, fault in FAULTS.items():
        complaint = caught(fault)
        missed += not complaint
        print(f"{name:<62} {complaint.partition(':')[0] or 'NOT CAUGHT'}", flush=True)
    print(f"{len(FAULTS) - missed} of {len(FAULTS)} faults were caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
