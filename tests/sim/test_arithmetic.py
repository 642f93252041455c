"""The golden arithmetic against hand-checked vectors, SoftFloat, and its own fast path."""

import random
import struct

import pytest
import softfloatpy as soft

from fanfold.codes import DataType, Operator
from fanfold_sim.reference.arithmetic import combine, fold_bytes, fold_tree

NAN = 0x7FC00000
MINUS = 1 << 31
CORNERS = [sign | bits for sign in (0, MINUS) for bits in (
    0, 1, 2, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001,
    0x4B7FFFFF, 0x4B800000, 0x4B800001, 0x73000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, NAN, 0x7FFFFFFF)]  # fmt: skip

FLOAT_SUMS = (
    (0x3F800000, 0x40000000, 0x40400000),  # 1 + 2 = 3
    (0x3DCCCCCD, 0x3E4CCCCD, 0x3E99999A),  # 0.1 + 0.2 = 0.3 (rounded up)
    (0x4B800000, 0x3F800000, 0x4B800000),  # a tie, to even
    (0x4B800001, 0x3F800000, 0x4B800002),  # a tie, to even
    (0x3F800000, 0xBF800000, 0x00000000),  # x - x = +0
    (0x80000000, 0x80000000, 0x80000000),  # -0 + -0 = -0
    (0x80000000, 0x00000000, 0x00000000),  # -0 + +0 = +0
    (0x007FFFFF, 0x00000001, 0x00800000),  # subnormals meet the smallest normal
    (0x7F7FFFFF, 0x73000000, 0x7F800000),  # overflow by rounding
    (0x7F7FFFFF, 0x72FFFFFF, 0x7F7FFFFF),  # just not
    (0x7F800000, 0xFF800000, NAN),
    (0xFF800000, 0x3F800000, 0xFF800000),
    (0xFFFFFFFF, 0x00000000, NAN),
    (0x7F800001, 0x7F800000, NAN),
)


def test_fixed_float_sums():
    for a, b, expected in FLOAT_SUMS:
        for pair in ((a, b), (b, a)):
            assert combine(Operator.SUM, DataType.FLOAT32, *pair) == expected


def soft_sum(a: int, b: int) -> int:
    pair = (soft.Float32.from_bytes(bits.to_bytes(4, "big")) for bits in (a, b))
    total = soft.f32_add(*pair)
    return NAN if total.is_nan() else int.from_bytes(total.to_bytes(), "big")


def near_pairs(rng: random.Random, count: int):
    for _ in range(count):
        a = rng.getrandbits(32)
        if rng.random() < 0.5:
            yield a, rng.getrandbits(32)
        else:
            exponent = min(max((a >> 23 & 0xFF) + rng.randint(-26, 26), 0), 255)
            fraction = rng.getrandbits(23) & ~((1 << rng.randrange(24)) - 1)
            yield a, rng.getrandbits(1) << 31 | exponent << 23 | fraction


def test_sums_against_softfloat():
    pairs = [(a, b) for a in CORNERS for b in CORNERS]
    pairs += near_pairs(random.Random(32), 100_000)
    for a, b in pairs:
        assert combine(Operator.SUM, DataType.FLOAT32, a, b) == soft_sum(a, b), f"{a:#010x} + {b:#010x}"


def test_float_extremes():
    """``minimum`` and ``maximum``: NaN propagates, -0 is less than +0, the rest as numbers compare."""
    numbers = [bits for bits in CORNERS if bits & ~MINUS <= 0x7F800000]

    def rank(bits):
        return struct.unpack(">f", bits.to_bytes(4, "big"))[0], 0 if bits & MINUS else 1

    for a in CORNERS:
        for b in CORNERS:
            least, greatest = (combine(operator, DataType.FLOAT32, a, b) for operator in (Operator.MIN, Operator.MAX))
            if a in numbers and b in numbers:
                assert [least, greatest] == sorted((a, b), key=rank)
            else:
                assert least == greatest == NAN


@pytest.mark.parametrize(
    "operator, data_type, a, b, expected",
    [
        (Operator.SUM, DataType.INT32, 0x7FFFFFFF, 1, 0x80000000),
        (Operator.SUM, DataType.UINT32, 0xFFFFFFFF, 2, 1),
        (Operator.MIN, DataType.INT32, 0xFFFFFFFF, 1, 0xFFFFFFFF),
        (Operator.MIN, DataType.UINT32, 0xFFFFFFFF, 1, 1),
        (Operator.MAX, DataType.INT32, 0xFFFFFFFF, 1, 1),
        (Operator.MAX, DataType.UINT32, 0xFFFFFFFF, 1, 0xFFFFFFFF),
        (Operator.MIN, DataType.INT32, 0x80000000, 0x7FFFFFFF, 0x80000000),
    ],
)
def test_integers(operator, data_type, a, b, expected):
    assert combine(operator, data_type, a, b) == combine(operator, data_type, b, a) == expected


@pytest.mark.parametrize("operator", [Operator.SUM, Operator.MIN, Operator.MAX])
@pytest.mark.parametrize("data_type", [DataType.INT32, DataType.UINT32, DataType.FLOAT32])
def test_long_payloads_like_elements(operator, data_type):
    pairs = [(a, b) for a in CORNERS for b in CORNERS]
    pairs += near_pairs(random.Random(operator.value), 5000)
    a, b = (b"".join(pair[side].to_bytes(4, "little") for pair in pairs) for side in (0, 1))
    expected = b"".join(combine(operator, data_type, *pair).to_bytes(4, "little") for pair in pairs)
    assert fold_bytes(operator, data_type, a, b) == expected
    assert fold_bytes(operator, data_type, a[:8], b[:8]) == expected[:8]


def test_tree_replays_its_order():
    def floats(*values):
        return struct.pack(f"<{len(values)}f", *values)

    # 2^24 absorbs a 1, but not the 2 of a pair
    big, one = floats(2.0**24), floats(1.0)
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [big, one, one, one], 4) == floats(2.0**24 + 2)
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [one, one, one, big], 4) == floats(2.0**24 + 2)
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [big, one, None, one], 4) == floats(2.0**24)
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [big, one, one], 8) == floats(2.0**24)


def test_lone_part_passes_bit_for_bit():
    odd = bytes.fromhex("0100807f")  # a signalling NaN
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [None, None, odd], 4) == odd


def test_refuses():
    with pytest.raises(ValueError, match="no arithmetic for BXOR of INT32"):
        combine(Operator.BXOR, DataType.INT32, 1, 2)
    with pytest.raises(ValueError, match="payloads of 4 and 8 bytes"):
        fold_bytes(Operator.SUM, DataType.INT32, bytes(4), bytes(8))
    with pytest.raises(ValueError, match="payloads of 6 and 6 bytes"):
        fold_bytes(Operator.SUM, DataType.INT32, bytes(6), bytes(6))
    with pytest.raises(ValueError, match="at least one part"):
        fold_tree(Operator.SUM, DataType.INT32, [None], 4)
