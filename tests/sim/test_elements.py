"""Element types as NumPy has them, their corner values, and how they print."""

import math

import numpy as np
import pytest

from fanfold.codes import DataType
from fanfold_sim.elements import NUMPY_TYPES, corners, parts, shown

NUMBERS = [kind for kind in DataType if not kind.pair]


@pytest.mark.parametrize("kind", DataType, ids=lambda kind: kind.name)
def test_numpy_types(kind):
    dtype = NUMPY_TYPES[kind]
    assert dtype.itemsize == kind.element_bytes
    if kind.pair:
        assert dtype.names == ("value", "index")
        assert [str(dtype[name]) for name in dtype.names] == [part.name.lower() for part in parts(kind)]
        assert [dtype.fields[name][1] for name in dtype.names] == [0, parts(kind)[0].element_bytes]
    elif kind is DataType.BFLOAT16:
        assert dtype == np.dtype("<u2")
    else:
        assert str(dtype) == kind.name.lower() and parts(kind) == (kind,)


def values(kind: DataType, patterns: list[int]) -> list:
    """Bit patterns as Python's numbers."""
    raw = b"".join(bits.to_bytes(kind.element_bytes, "little") for bits in patterns)
    if kind is DataType.BFLOAT16:
        return [float(each) for each in (np.frombuffer(raw, "<u2").astype("<u4") << 16).view("<f4")]
    return np.frombuffer(raw, NUMPY_TYPES[kind]).tolist()


@pytest.mark.parametrize("kind", NUMBERS, ids=lambda kind: kind.name)
def test_corners(kind):
    patterns = corners(kind)
    assert len(set(patterns)) == len(patterns)
    found = values(kind, patterns)
    if kind.floating:
        # all formats but bfloat16 are NumPy's own; bfloat16 has the range of float32, and 8 bits of precision
        known = np.finfo("f4" if kind is DataType.BFLOAT16 else NUMPY_TYPES[kind])
        digits = 7 if kind is DataType.BFLOAT16 else known.nmant
        tiny, most = float(known.smallest_normal), 2.0 ** float(known.maxexp - 1) * (2 - 2.0**-digits)
        wanted = {0.0, math.inf, 1.0, 1 - 2.0 ** -(digits + 1), 1 + 2.0**-digits, tiny, tiny * 2.0**-digits, most}
        wanted |= {2.0 ** (digits + 1), tiny - tiny * 2.0**-digits}
        assert {abs(each) for each in found} >= wanted
        assert {math.copysign(1, each) for each in found if each == 0} == {1, -1}
        assert sum(math.isnan(each) for each in found) >= 4
    else:
        bits = 8 * kind.element_bytes
        signed = kind.name[0] == "I"
        assert {0, 1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)) if signed else 2**bits - 1} <= set(found)


@pytest.mark.parametrize(
    ("kind", "raw", "text"),
    [
        (DataType.INT8, "80", "-128 (0x80)"),
        (DataType.UINT64, "ffffffffffffffff", "18446744073709551615 (0xffffffffffffffff)"),
        (DataType.FLOAT16, "00bc", "-1.0 (0xbc00)"),
        (DataType.BFLOAT16, "80bf", "-1.0 (0xbf80)"),
        (DataType.BFLOAT16, "c0ff", "nan (0xffc0)"),
        (DataType.FLOAT32, "00000080", "-0.0 (0x80000000)"),
        (DataType.FLOAT64, "000000000000f03f", "1.0 (0x3ff0000000000000)"),
        (DataType.FLOAT32_INT32, "0000803f03000000", "1.0 (0x3f800000) at index 3 (0x00000003)"),
        (DataType.INT32_INT32, "ffffffff00000080", "-1 (0xffffffff) at index -2147483648 (0x80000000)"),
        (
            DataType.FLOAT64_INT32,
            "000000000000f03f" + "05000000" + "00" * 4,
            "1.0 (0x3ff0000000000000) at index 5 (0x00000005)",
        ),
        (
            DataType.FLOAT64_INT32,
            "000000000000f03f" + "05000000" + "00010000",
            "1.0 (0x3ff0000000000000) at index 5 (0x00000005), padding 00 01 00 00",
        ),
    ],
)
def test_how_an_element_prints(kind, raw, text):
    assert shown(kind, bytes.fromhex(raw)) == text
