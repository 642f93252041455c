"""Arrays, payloads and the tree: the same bits as one element at a time."""

import itertools
import random
import struct

import numpy as np
import pytest
from arithmetic_cases import random_pairs, special_elements

from fanfold.codes import DataType, Operator, defined
from fanfold_sim.reference.arithmetic import as_array, combine, fold_arrays, fold_bytes, fold_tree

DEFINED = [(operator, data_type) for data_type in DataType for operator in Operator if defined(operator, data_type)]
SIXTEEN_BITS = (DataType.FLOAT16, DataType.BFLOAT16)


def payload(data_type: DataType, elements) -> bytes:
    return b"".join(element.to_bytes(data_type.element_bytes, "little") for element in elements)


def elementwise(operator: Operator, data_type: DataType, a, b) -> bytes:
    """``combine``, one element after another."""
    return payload(data_type, (combine(operator, data_type, *pair) for pair in zip(a, b, strict=True)))


@pytest.mark.parametrize("data_type", DataType)
def test_long_payloads_like_elements(data_type):
    """All pairs of corners, then random ones, for every operator of the type, in both orders."""
    special = special_elements(data_type)
    corners = list(zip(*itertools.product(special, special), strict=True))
    for operator in (operator for operator, each in DEFINED if each is data_type):
        others = random_pairs(data_type, 2000, operator.value)
        a, b = ([*corners[side], *others[side]] for side in (0, 1))
        expected = elementwise(operator, data_type, a, b)
        left, right = payload(data_type, a), payload(data_type, b)
        assert fold_bytes(operator, data_type, left, right) == expected, operator
        assert fold_bytes(operator, data_type, right, left) == expected, operator
        some = 3 * data_type.element_bytes
        assert fold_bytes(operator, data_type, left[-some:], right[-some:]) == expected[-some:], operator


@pytest.mark.parametrize("operator", [Operator.SUM, Operator.PROD])
@pytest.mark.parametrize("data_type", SIXTEEN_BITS)
def test_sixteen_bits_with_all_others(data_type, operator):
    """A few numbers with each of the 65,536: where the second rounding may fall."""
    rng = random.Random(operator.value)
    everything = np.arange(1 << 16, dtype=np.uint16)
    for a in [rng.choice(special_elements(data_type)[1:20]), rng.getrandbits(16), rng.getrandbits(16) | 1]:
        found = fold_arrays(operator, data_type, np.full_like(everything, a), everything)
        expected = [combine(operator, data_type, a, b) for b in range(1 << 16)]
        assert found.tolist() == expected, f"{a:#06x}"


@pytest.mark.parametrize("exponent", range(-137, -131))
def test_smallest_bfloat16_products(exponent):
    """All significands with one another, about half of the smallest subnormal: float32 may round these."""
    fractions = np.arange(1 << 7, dtype=np.uint16)
    a, b = (side.ravel() for side in np.meshgrid(fractions | 64 << 7, fractions | (2 * 127 + exponent - 64) << 7))
    found = fold_arrays(Operator.PROD, DataType.BFLOAT16, a, b)
    assert found.tobytes() == elementwise(Operator.PROD, DataType.BFLOAT16, a.tolist(), b.tolist())


@pytest.mark.parametrize("exponent", [11, 12, 13, 14, 15])
def test_float16_sums_that_float32_has_to_round(exponent):
    """Operands 2^11 to 2^15 apart: both sides of where 24 bits no longer hold the sum."""
    rng = np.random.default_rng(exponent)
    fractions = rng.integers(0, 1 << 10, (2, 10_000), dtype=np.uint16) & rng.choice([0x3FF, 0x3F0, 0x00F], (2, 1))
    a, b = (fractions | [[20 << 10], [0x8000 | (20 - exponent) << 10]]).astype(np.uint16)
    found = fold_arrays(Operator.SUM, DataType.FLOAT16, a, b)
    assert found.tobytes() == elementwise(Operator.SUM, DataType.FLOAT16, a.tolist(), b.tolist())


@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.INT8, DataType.FLOAT32_INT32, DataType.FLOAT64_INT32])
def test_arrays_of_any_shape(data_type):
    """Longer than a block, in rows, with gaps: as the flat ones, and the operands stay as they were."""
    operator = Operator.MAXLOC if data_type.pair else Operator.SUM
    rng = np.random.default_rng(3)
    a, b = (as_array(data_type, rng.bytes(60_000 * data_type.element_bytes)) for _ in range(2))
    flat = fold_arrays(operator, data_type, a, b)
    for at in range(0, 60_000, 1000):
        parts = [side[at : at + 1000].tobytes() for side in (a, b, flat)]
        assert fold_bytes(operator, data_type, *parts[:2]) == parts[2], at
    before = a.tobytes(), b.tobytes()
    rows = [side.reshape(30, 2000, *side.shape[1:])[:, ::3] for side in (a, b, flat)]
    assert (fold_arrays(operator, data_type, *rows[:2]) == rows[2]).all()
    assert (a.tobytes(), b.tobytes()) == before
    assert fold_arrays(operator, data_type, a[:0], b[:0]).shape == a[:0].shape


def test_array_form():
    assert as_array(DataType.INT16, bytes.fromhex("01020304")).tolist() == [0x0201, 0x0403]
    assert as_array(DataType.FLOAT32_INT32, bytes.fromhex("0102030405060708")).tolist() == [0x0807060504030201]
    pairs = as_array(DataType.FLOAT64_INT32, bytes(range(16)))
    assert pairs.tolist() == [[0x0706050403020100, 0x0F0E0D0C0B0A0908]]
    assert pairs.tobytes() == bytes(range(16))


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def test_tree_replays_its_order():
    # 2^24 absorbs a 1, but not the 2 of a pair
    big, one = floats(2.0**24), floats(1.0)
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [big, one, one, one], 4) == floats(2.0**24 + 2)
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [one, one, one, big], 4) == floats(2.0**24 + 2)
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [big, one, None, one], 4) == floats(2.0**24)
    assert fold_tree(Operator.SUM, DataType.FLOAT32, [big, one, one], 8) == floats(2.0**24)
    # a product of four leaves range in one order only
    assert fold_tree(Operator.PROD, DataType.FLOAT32, [floats(2.0**100), floats(2.0**-100)] * 2, 4) == floats(1.0)
    halves = [floats(2.0**100)] * 2 + [floats(2.0**-100)] * 2
    assert fold_tree(Operator.PROD, DataType.FLOAT32, halves, 4) == floats(float("nan"))


def test_tree_finds_the_lowest_index():
    parts = [struct.pack("<di4x", value, rank) for rank, value in enumerate([1.0, 4.0, 4.0, 0.0, 4.0])]
    assert fold_tree(Operator.MAXLOC, DataType.FLOAT64_INT32, parts, 8) == parts[1]
    assert fold_tree(Operator.MINLOC, DataType.FLOAT64_INT32, parts[::-1], 8) == parts[3]


def test_tree_refuses():
    with pytest.raises(ValueError, match="at least one part"):
        fold_tree(Operator.SUM, DataType.INT32, [None], 4)
    with pytest.raises(ValueError, match="3 parts for 2 leaves"):
        fold_tree(Operator.SUM, DataType.INT32, [bytes(4)] * 3, 2)


@pytest.mark.parametrize(
    "data_type, alone",
    [
        (DataType.FLOAT32, "0100807f"),  # a signalling NaN
        (DataType.FLOAT64_INT32, "010000000000f0ff03000000efbeadde"),  # and one with padding
    ],
)
def test_lone_part_passes_bit_for_bit(data_type, alone):
    operator, part = (Operator.MINLOC if data_type.pair else Operator.SUM), bytes.fromhex(alone)
    assert fold_tree(operator, data_type, [None, None, part], 4) == part
    assert fold_tree(operator, data_type, [None, part, part], 4) == fold_bytes(operator, data_type, part, part) != part


def test_refuses_payloads():
    with pytest.raises(ValueError, match="payloads of 4 and 8 bytes"):
        fold_bytes(Operator.SUM, DataType.INT32, bytes(4), bytes(8))
    with pytest.raises(ValueError, match="payloads of 6 and 6 bytes"):
        fold_bytes(Operator.SUM, DataType.INT32, bytes(6), bytes(6))
    with pytest.raises(ValueError, match="payloads of 8 and 8 bytes: they must be equal multiples of 16"):
        fold_bytes(Operator.MINLOC, DataType.FLOAT64_INT32, bytes(8), bytes(8))
    for elements in (0, 1, 100):
        with pytest.raises(ValueError, match="no arithmetic for BAND of FLOAT16"):
            fold_bytes(Operator.BAND, DataType.FLOAT16, bytes(2 * elements), bytes(2 * elements))


@pytest.mark.parametrize(
    "data_type, a, b",
    [
        (DataType.INT32, np.zeros(4, np.int32), np.zeros(4, np.int32)),
        (DataType.INT32, np.zeros(4, np.uint32), np.zeros(4, np.uint64)),
        (DataType.FLOAT16, np.zeros(4, np.uint16), np.zeros(5, np.uint16)),
        (DataType.FLOAT64_INT32, np.zeros(4, np.uint64), np.zeros(4, np.uint64)),
        (DataType.FLOAT64_INT32, np.zeros((4, 3), np.uint64), np.zeros((4, 3), np.uint64)),
    ],
)
def test_refuses_arrays_of_another_form(data_type, a, b):
    operator = Operator.MINLOC if data_type.pair else Operator.SUM
    with pytest.raises(ValueError, match=f"{data_type.name} takes two of uint"):
        fold_arrays(operator, data_type, a, b)
    with pytest.raises(ValueError, match="no arithmetic for MINLOC of INT8"):
        fold_arrays(Operator.MINLOC, DataType.INT8, np.zeros(4, np.uint8), np.zeros(4, np.uint8))
