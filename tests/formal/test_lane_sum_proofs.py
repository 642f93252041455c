"""Floating-point differences of a lane: some of the cases that ``lane_sums`` has."""

import pytest
from lane_sums import element_adds_exactly

from fanfold.codes import DataType
from fanfold.fold.float.format import FORMATS

#: of each type, an element in an adder with a longer one, or with its neighbours alone; and exponents of the larger
#: operand: of subnormals, of the ends, and between
ELEMENTS = {
    "float16": (DataType.FLOAT16, 0, (0, 1, 10, 30, 31)),
    "bfloat16": (DataType.BFLOAT16, 1, (7,)),
    "float32": (DataType.FLOAT32, 1, (1,)),
}


@pytest.mark.long
@pytest.mark.parametrize("element", ELEMENTS)
def test_differences(tmp_path, element):
    data_type, index, exponents = ELEMENTS[element]
    proof = element_adds_exactly(data_type, index)
    differences = 1 << FORMATS[data_type].exponent
    proof.check_pipeline(
        tmp_path, latency=proof.dut.latency + 1, cases=[differences + exponent for exponent in exponents]
    )
