"""The judge of the fold's arithmetic against results checked by hand, and against each definition written out again."""

import itertools
import struct

import pytest
from arithmetic_cases import INTEGERS, PAIRS, special_elements, special_floats

from fanfold.codes import DataType, Operator, defined
from fanfold_sim.reference.arithmetic import FLOATS, combine

FLOAT_TYPES = list(FLOATS)
NAN = {
    DataType.FLOAT16: 0x7E00,
    DataType.BFLOAT16: 0x7FC0,
    DataType.FLOAT32: 0x7FC00000,
    DataType.FLOAT64: 0x7FF8000000000000,
}

#: a, b, a + b in float16, bfloat16, float32, float64
SUMS = {
    "1 + 2 = 3": (
        (0x3C00, 0x4000, 0x4200),
        (0x3F80, 0x4000, 0x4040),
        (0x3F800000, 0x40000000, 0x40400000),
        (0x3FF0000000000000, 0x4000000000000000, 0x4008000000000000),
    ),
    "a tie, to even, down": (
        (0x6800, 0x3C00, 0x6800),
        (0x4380, 0x3F80, 0x4380),
        (0x4B800000, 0x3F800000, 0x4B800000),
        (0x4340000000000000, 0x3FF0000000000000, 0x4340000000000000),
    ),
    "a tie, to even, up": (
        (0x6801, 0x3C00, 0x6802),
        (0x4381, 0x3F80, 0x4382),
        (0x4B800001, 0x3F800000, 0x4B800002),
        (0x4340000000000001, 0x3FF0000000000000, 0x4340000000000002),
    ),
    "just above the tie": (
        (0x6800, 0x3C01, 0x6801),
        (0x4380, 0x3F81, 0x4381),
        (0x4B800000, 0x3F800001, 0x4B800001),
        (0x4340000000000000, 0x3FF0000000000001, 0x4340000000000001),
    ),
    "0.1 + 0.2": (
        (0x2E66, 0x3266, 0x34CC),  # 1638 + 2 * 1638 = 4 * 1228.5: a tie, to even
        (0x3DCD, 0x3E4D, 0x3E9A),
        (0x3DCCCCCD, 0x3E4CCCCD, 0x3E99999A),
        (0x3FB999999999999A, 0x3FC999999999999A, 0x3FD3333333333334),
    ),
    "x - x = +0": (
        (0x3C00, 0xBC00, 0x0000),
        (0xBF80, 0x3F80, 0x0000),
        (0x3F800000, 0xBF800000, 0x00000000),
        (0xBFF0000000000000, 0x3FF0000000000000, 0x0000000000000000),
    ),
    "-0 + -0 = -0": (
        (0x8000, 0x8000, 0x8000),
        (0x8000, 0x8000, 0x8000),
        (0x80000000, 0x80000000, 0x80000000),
        (0x8000000000000000, 0x8000000000000000, 0x8000000000000000),
    ),
    "-0 + +0 = +0": (
        (0x8000, 0x0000, 0x0000),
        (0x8000, 0x0000, 0x0000),
        (0x80000000, 0x00000000, 0x00000000),
        (0x8000000000000000, 0x0000000000000000, 0x0000000000000000),
    ),
    "two subnormals make the smallest normal": (
        (0x03FF, 0x0001, 0x0400),
        (0x007F, 0x0001, 0x0080),
        (0x007FFFFF, 0x00000001, 0x00800000),
        (0x000FFFFFFFFFFFFF, 0x0000000000000001, 0x0010000000000000),
    ),
    "normal numbers differ by a subnormal": (
        (0x0800, 0x87FF, 0x0001),
        (0x0100, 0x80FF, 0x0001),
        (0x01000000, 0x80FFFFFF, 0x00000001),
        (0x0020000000000000, 0x801FFFFFFFFFFFFF, 0x0000000000000001),
    ),
    "the largest and half of its last place: infinity": (
        (0x7BFF, 0x4C00, 0x7C00),
        (0x7F7F, 0x7B00, 0x7F80),
        (0x7F7FFFFF, 0x73000000, 0x7F800000),
        (0x7FEFFFFFFFFFFFFF, 0x7C90000000000000, 0x7FF0000000000000),
    ),
    "the largest and just less than that: the largest": (
        (0x7BFF, 0x4BFF, 0x7BFF),
        (0x7F7F, 0x7AFF, 0x7F7F),
        (0x7F7FFFFF, 0x72FFFFFF, 0x7F7FFFFF),
        (0x7FEFFFFFFFFFFFFF, 0x7C8FFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF),
    ),
    "infinity - infinity": (
        (0x7C00, 0xFC00, 0x7E00),
        (0x7F80, 0xFF80, 0x7FC0),
        (0x7F800000, 0xFF800000, 0x7FC00000),
        (0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000),
    ),
    "-infinity + the largest": (
        (0xFC00, 0x7BFF, 0xFC00),
        (0xFF80, 0x7F7F, 0xFF80),
        (0xFF800000, 0x7F7FFFFF, 0xFF800000),
        (0xFFF0000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFF0000000000000),
    ),
    "a NaN loses its sign and payload": (
        (0xFFFF, 0x0000, 0x7E00),
        (0xFFFF, 0x0000, 0x7FC0),
        (0xFFFFFFFF, 0x00000000, 0x7FC00000),
        (0xFFFFFFFFFFFFFFFF, 0x0000000000000000, 0x7FF8000000000000),
    ),
    "a signalling NaN becomes quiet": (
        (0x7C01, 0x7C00, 0x7E00),
        (0x7F81, 0x7F80, 0x7FC0),
        (0x7F800001, 0x7F800000, 0x7FC00000),
        (0x7FF0000000000001, 0x7FF0000000000000, 0x7FF8000000000000),
    ),
}

#: a, b, a * b in float16, bfloat16, float32, float64
PRODUCTS = {
    "1.5 * 1.5 = 2.25": (
        (0x3E00, 0x3E00, 0x4080),
        (0x3FC0, 0x3FC0, 0x4010),
        (0x3FC00000, 0x3FC00000, 0x40100000),
        (0x3FF8000000000000, 0x3FF8000000000000, 0x4002000000000000),
    ),
    "1 and a place, * 1.5: a tie, to even, up": (
        (0x3C01, 0x3E00, 0x3E02),
        (0x3F81, 0x3FC0, 0x3FC2),
        (0x3F800001, 0x3FC00000, 0x3FC00002),
        (0x3FF0000000000001, 0x3FF8000000000000, 0x3FF8000000000002),
    ),
    "1 and three places, * -1.5: a tie, to even, down": (
        (0x3C03, 0xBE00, 0xBE04),
        (0x3F83, 0xBFC0, 0xBFC4),
        (0x3F800003, 0xBFC00000, 0xBFC00004),
        (0x3FF0000000000003, 0xBFF8000000000000, 0xBFF8000000000004),
    ),
    "half of the smallest: a tie, to even": (
        (0x8001, 0x3800, 0x8000),
        (0x8001, 0x3F00, 0x8000),
        (0x80000001, 0x3F000000, 0x80000000),
        (0x8000000000000001, 0x3FE0000000000000, 0x8000000000000000),
    ),
    "three quarters of the smallest": (
        (0x0001, 0x3A00, 0x0001),
        (0x0001, 0x3F40, 0x0001),
        (0x00000001, 0x3F400000, 0x00000001),
        (0x0000000000000001, 0x3FE8000000000000, 0x0000000000000001),
    ),
    "half of three times the smallest": (
        (0x0003, 0x3800, 0x0002),
        (0x0003, 0x3F00, 0x0002),
        (0x00000003, 0x3F000000, 0x00000002),
        (0x0000000000000003, 0x3FE0000000000000, 0x0000000000000002),
    ),
    "half of the smallest normal": (
        (0x0400, 0x3800, 0x0200),
        (0x0080, 0x3F00, 0x0040),
        (0x00800000, 0x3F000000, 0x00400000),
        (0x0010000000000000, 0x3FE0000000000000, 0x0008000000000000),
    ),
    "just below 1, * the smallest normal: rounds up to it": (
        (0x3BFF, 0x0400, 0x0400),
        (0x3F7F, 0x0080, 0x0080),
        (0x3F7FFFFF, 0x00800000, 0x00800000),
        (0x3FEFFFFFFFFFFFFF, 0x0010000000000000, 0x0010000000000000),
    ),
    "far below the smallest": (
        (0x0001, 0x8001, 0x8000),
        (0x0001, 0x8001, 0x8000),
        (0x00000001, 0x80000001, 0x80000000),
        (0x0000000000000001, 0x8000000000000001, 0x8000000000000000),
    ),
    "a square just out of range": (
        (0x5C00, 0x5C00, 0x7C00),
        (0x5F80, 0x5F80, 0x7F80),
        (0x5F800000, 0x5F800000, 0x7F800000),
        (0x5FF0000000000000, 0x5FF0000000000000, 0x7FF0000000000000),
    ),
    "the largest * -1": (
        (0x7BFF, 0xBC00, 0xFBFF),
        (0x7F7F, 0xBF80, 0xFF7F),
        (0x7F7FFFFF, 0xBF800000, 0xFF7FFFFF),
        (0x7FEFFFFFFFFFFFFF, 0xBFF0000000000000, 0xFFEFFFFFFFFFFFFF),
    ),
    "the largest * just above 1": (
        (0x7BFF, 0x3C01, 0x7C00),
        (0x7F7F, 0x3F81, 0x7F80),
        (0x7F7FFFFF, 0x3F800001, 0x7F800000),
        (0x7FEFFFFFFFFFFFFF, 0x3FF0000000000001, 0x7FF0000000000000),
    ),
    "-0 * 1": (
        (0x8000, 0x3C00, 0x8000),
        (0x8000, 0x3F80, 0x8000),
        (0x80000000, 0x3F800000, 0x80000000),
        (0x8000000000000000, 0x3FF0000000000000, 0x8000000000000000),
    ),
    "-0 * -0": (
        (0x8000, 0x8000, 0x0000),
        (0x8000, 0x8000, 0x0000),
        (0x80000000, 0x80000000, 0x00000000),
        (0x8000000000000000, 0x8000000000000000, 0x0000000000000000),
    ),
    "infinity * -0": (
        (0x7C00, 0x8000, 0x7E00),
        (0x7F80, 0x8000, 0x7FC0),
        (0x7F800000, 0x80000000, 0x7FC00000),
        (0x7FF0000000000000, 0x8000000000000000, 0x7FF8000000000000),
    ),
    "-infinity * the smallest": (
        (0xFC00, 0x0001, 0xFC00),
        (0xFF80, 0x0001, 0xFF80),
        (0xFF800000, 0x00000001, 0xFF800000),
        (0xFFF0000000000000, 0x0000000000000001, 0xFFF0000000000000),
    ),
    "a NaN * 0": (
        (0xFC01, 0x0000, 0x7E00),
        (0xFF81, 0x0000, 0x7FC0),
        (0xFF800001, 0x00000000, 0x7FC00000),
        (0xFFF0000000000001, 0x0000000000000000, 0x7FF8000000000000),
    ),
}


@pytest.mark.parametrize("operator, cases", [(Operator.SUM, SUMS), (Operator.PROD, PRODUCTS)])
def test_floats_by_hand(operator, cases):
    for name, rows in cases.items():
        for data_type, (a, b, expected) in zip(FLOAT_TYPES, rows, strict=True):
            for pair in ((a, b), (b, a)):
                found = combine(operator, data_type, *pair)
                assert found == expected, f"{data_type.name}: {name}: {found:#x}, expected {expected:#x}"


def number(data_type: DataType, bits: int) -> float:
    """What the bits mean, as Python reads them."""
    if data_type is DataType.BFLOAT16:
        data_type, bits = DataType.FLOAT32, bits << 16
    size = data_type.element_bytes
    return struct.unpack({2: "<e", 4: "<f", 8: "<d"}[size], bits.to_bytes(size, "little"))[0]


@pytest.mark.parametrize("data_type", FLOAT_TYPES)
def test_float_extremes(data_type):
    """``minimum`` and ``maximum``: NaN propagates, -0 is less than +0, the rest as numbers compare."""
    form = FLOATS[data_type]
    special = special_floats(form)
    numbers = [bits for bits in special if number(data_type, bits) == number(data_type, bits)]
    assert len(numbers) == len(special) - 6

    def rank(bits):
        return number(data_type, bits), not bits & form.sign

    for a in special:
        for b in special:
            found = [combine(operator, data_type, a, b) for operator in (Operator.MIN, Operator.MAX)]
            if a in numbers and b in numbers:
                assert found == sorted((a, b), key=rank)
            else:
                assert found == [NAN[data_type]] * 2


def integer(data_type: DataType, bits: int) -> int:
    """What the bits mean."""
    size = 8 * data_type.element_bytes
    return bits - (bits >> (size - 1) << size) if data_type.name.startswith("INT") else bits


#: of two whole numbers, before they wrap
DEFINITIONS = {
    Operator.SUM: lambda a, b: a + b,
    Operator.PROD: lambda a, b: a * b,
    Operator.MIN: lambda a, b: a if a < b else b,
    Operator.MAX: lambda a, b: a if a > b else b,
    Operator.LAND: lambda a, b: 1 if a and b else 0,
    Operator.LOR: lambda a, b: 1 if a or b else 0,
    Operator.LXOR: lambda a, b: 1 if bool(a) is not bool(b) else 0,
    Operator.BAND: lambda a, b: a & b,
    Operator.BOR: lambda a, b: a | b,
    Operator.BXOR: lambda a, b: a ^ b,
}


@pytest.mark.parametrize("data_type", INTEGERS)
def test_integers(data_type):
    """All pairs of bytes, all pairs of the corners of the others."""
    size = data_type.element_bytes
    elements = range(256) if size == 1 else special_elements(data_type)
    meanings = [(bits, integer(data_type, bits)) for bits in elements]
    for operator, definition in DEFINITIONS.items():
        for (a, left), (b, right) in itertools.product(meanings, meanings):
            expected = definition(left, right) % (1 << 8 * size)
            assert combine(operator, data_type, a, b) == expected, f"{operator.name} of {a:#x} and {b:#x}"


@pytest.mark.parametrize(
    "operator, data_type, a, b, expected",
    [
        (Operator.SUM, DataType.INT32, 0x7FFFFFFF, 1, 0x80000000),
        (Operator.SUM, DataType.UINT8, 0xFF, 2, 1),
        (Operator.PROD, DataType.INT16, 0xFFFF, 0x8000, 0x8000),
        (Operator.PROD, DataType.UINT64, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 1),
        (Operator.MIN, DataType.INT64, 0xFFFFFFFFFFFFFFFF, 1, 0xFFFFFFFFFFFFFFFF),
        (Operator.MIN, DataType.UINT64, 0xFFFFFFFFFFFFFFFF, 1, 1),
        (Operator.MAX, DataType.INT8, 0x80, 0x7F, 0x7F),
        (Operator.MAX, DataType.UINT8, 0x80, 0x7F, 0x80),
        (Operator.LAND, DataType.INT32, 0x80000000, 2, 1),
        (Operator.LXOR, DataType.UINT16, 0x0100, 0x00FF, 0),
        (Operator.BXOR, DataType.UINT16, 0x0100, 0x01FF, 0xFF),
    ],
)
def test_integers_by_hand(operator, data_type, a, b, expected):
    assert combine(operator, data_type, a, b) == combine(operator, data_type, b, a) == expected


def pair(data_type: DataType, value: int, index: int, padding: int = 0) -> int:
    """The bits of a pair as they lie in memory."""
    value_format = "<Q" if data_type is DataType.FLOAT64_INT32 else "<I"
    tail = struct.pack("<I", padding) if data_type is DataType.FLOAT64_INT32 else b""
    return int.from_bytes(struct.pack(value_format, value) + struct.pack("<i", index) + tail, "little")


#: (value, index) of a, of b, of MINLOC, of MAXLOC; "nan" is canonical, "odd" another one
LOCATIONS = [
    (("one", 5), ("two", 3), ("one", 5), ("two", 3)),
    (("one", 5), ("one", 3), ("one", 3), ("one", 3)),
    (("one", 5), ("one", -3), ("one", -3), ("one", -3)),
    (("minus", -(2**31)), ("minus", 2**31 - 1), ("minus", -(2**31)), ("minus", -(2**31))),
    (("minus", 1), ("one", 0), ("minus", 1), ("one", 0)),
]
FLOAT_LOCATIONS = [
    (("-0", 5), ("+0", 3), ("-0", 5), ("+0", 3)),
    (("odd", 7), ("-inf", 1), ("nan", 7), ("nan", 7)),
    (("odd", 7), ("inf", 1), ("nan", 7), ("nan", 7)),
    (("odd", 7), ("nan", 9), ("nan", 7), ("nan", 7)),
    (("odd", 7), ("-odd", -9), ("nan", -9), ("nan", -9)),
]
NAMES = ("one", "two", "minus", "-0", "+0", "-inf", "inf", "nan", "odd", "-odd")
FLOAT32_VALUES = (
    *(0x3F800000, 0x40000000, 0xBF800000, 0x80000000, 0x00000000),
    *(0xFF800000, 0x7F800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF),
)
FLOAT64_VALUES = (
    *(0x3FF0000000000000, 0x4000000000000000, 0xBFF0000000000000, 0x8000000000000000, 0x0000000000000000),
    *(0xFFF0000000000000, 0x7FF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF),
)
VALUES = {
    DataType.INT32_INT32: {"one": 1, "two": 2, "minus": 0xFFFFFFFF},
    DataType.FLOAT32_INT32: dict(zip(NAMES, FLOAT32_VALUES, strict=True)),
    DataType.FLOAT64_INT32: dict(zip(NAMES, FLOAT64_VALUES, strict=True)),
}


@pytest.mark.parametrize("data_type", PAIRS)
def test_locations_by_hand(data_type):
    cases = LOCATIONS if data_type is DataType.INT32_INT32 else LOCATIONS + FLOAT_LOCATIONS
    for a, b, least, greatest in cases:
        left, right = (pair(data_type, VALUES[data_type][value], index, 0xDEADBEEF) for value, index in (a, b))
        for operator, (value, index) in ((Operator.MINLOC, least), (Operator.MAXLOC, greatest)):
            expected = pair(data_type, VALUES[data_type][value], index)
            assert combine(operator, data_type, left, right) == expected, f"{operator.name} of {a} and {b}"
            assert combine(operator, data_type, right, left) == expected, f"{operator.name} of {b} and {a}"


@pytest.mark.parametrize("data_type", DataType)
def test_refuses_what_is_not_defined(data_type):
    for operator in Operator:
        if defined(operator, data_type):
            assert combine(operator, data_type, 0, 0) >> 8 * data_type.element_bytes == 0
        else:
            with pytest.raises(ValueError, match=f"no arithmetic for {operator.name} of {data_type.name}"):
                combine(operator, data_type, 0, 0)
