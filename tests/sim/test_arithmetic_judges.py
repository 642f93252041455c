"""The fold's arithmetic against others' implementations, where those are right.

Berkeley SoftFloat is right in all but the bits of a NaN, of which it keeps the payload. So are NumPy's float16 and the
bfloat16 of ml_dtypes for sums and products; their minimum and maximum also return either of -0 and +0.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest
import softfloatpy as soft
from arithmetic_cases import float_pairs, special_floats

from fanfold.codes import DataType, Operator
from fanfold_sim.reference.arithmetic import FLOATS, combine

RANDOM_PAIRS = 100_000

SOFT = {
    DataType.FLOAT16: (soft.Float16, soft.f16_add, soft.f16_mul),
    DataType.FLOAT32: (soft.Float32, soft.f32_add, soft.f32_mul),
    DataType.FLOAT64: (soft.Float64, soft.f64_add, soft.f64_mul),
}

#: the same formats in NumPy
NUMPY = {DataType.FLOAT16: np.float16, DataType.BFLOAT16: ml_dtypes.bfloat16}
NUMPY_OPERATORS = {
    Operator.SUM: np.add,
    Operator.PROD: np.multiply,
    Operator.MIN: np.minimum,
    Operator.MAX: np.maximum,
}


def pairs(data_type: DataType, seed: int) -> list[tuple[int, int]]:
    """All pairs of special numbers, and random ones."""
    special = special_floats(FLOATS[data_type])
    return [
        *itertools.product(special, special),
        *zip(*float_pairs(FLOATS[data_type], RANDOM_PAIRS, seed), strict=True),
    ]


@pytest.mark.parametrize("operator", [Operator.SUM, Operator.PROD])
@pytest.mark.parametrize("data_type", SOFT)
def test_against_softfloat(data_type, operator):
    number, add, multiply = SOFT[data_type]
    function, size = (add if operator is Operator.SUM else multiply), data_type.element_bytes
    nan = FLOATS[data_type].nan
    for a, b in pairs(data_type, seed=operator.value):
        result = function(number.from_bytes(a.to_bytes(size, "big")), number.from_bytes(b.to_bytes(size, "big")))
        expected = nan if result.is_nan() else int.from_bytes(result.to_bytes(), "big")
        found = combine(operator, data_type, a, b)
        assert found == expected, f"{a:#x}, {b:#x}: {found:#x}, SoftFloat {expected:#x}"


@pytest.mark.parametrize("operator", NUMPY_OPERATORS)
@pytest.mark.parametrize("data_type", NUMPY)
def test_against_numpy(data_type, operator):
    cases = pairs(data_type, seed=16 + operator.value)
    a, b = (np.array(side, dtype=np.uint16).view(NUMPY[data_type]) for side in zip(*cases, strict=True))
    with np.errstate(all="ignore"):
        result = NUMPY_OPERATORS[operator](a, b)
        nan = np.isnan(result)
    theirs = result.view(np.uint16)
    ours = np.array([combine(operator, data_type, *case) for case in cases], dtype=np.uint16)
    assert nan.any() and (ours[nan] == FLOATS[data_type].nan).all()
    wrong = (ours != theirs) & ~nan
    if operator in (Operator.MIN, Operator.MAX):
        wrong &= (ours | theirs) << 1 != 0  # zeros of either sign are left out
    assert not wrong.any(), f"{[tuple(map(hex, cases[at])) for at in np.flatnonzero(wrong)[:5]]}"
