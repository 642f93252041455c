"""Elements that arithmetic gets wrong first: corners of each type, and random pairs that meet in them."""

import numpy as np

from fanfold.codes import DataType
from fanfold_sim.reference.arithmetic import FLOATS, FloatFormat

INTEGERS = [data_type for data_type in DataType if not data_type.floating and not data_type.pair]
PAIRS = {
    DataType.FLOAT32_INT32: DataType.FLOAT32,
    DataType.INT32_INT32: DataType.INT32,
    DataType.FLOAT64_INT32: DataType.FLOAT64,
}
#: where an index is equal, next to its neighbour, or has the other sign
INDICES = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def special_floats(form: FloatFormat) -> list[int]:
    """52 numbers: one of each kind and its neighbours, in both signs."""
    unit = 1 << form.fraction_bits  # one in the exponent field; the smallest normal number
    one = form.infinity // unit // 2 * unit
    largest = form.infinity - 1
    magnitudes = [
        *(0, 1, 2, 3, unit // 2, unit - 1),  # subnormal
        *(unit, unit + 1, 2 * unit - 1, 2 * unit),  # the smallest normal ones
        *(one - unit, one - 1, one, one + 1, one + 3, one + unit // 2),  # about 1
        *(one + form.fraction_bits * unit, one + (form.fraction_bits + 1) * unit + 1),  # 1 is their last place, or half
        *((one + unit) // 2 // unit * unit, (one + form.infinity) // 2 // unit * unit),  # with squares at either end
        form.infinity - (form.fraction_bits + 2) * unit,  # half of the last place of the largest
        *(largest, form.infinity, form.infinity + 1, form.nan, form.sign - 1),
    ]
    return [sign | magnitude for sign in (0, form.sign) for magnitude in magnitudes]


def special_elements(data_type: DataType) -> list[int]:
    """Corners of a type; of pairs, each corner of the value with each of ``INDICES``."""
    if data_type.pair:
        width = 8 * PAIRS[data_type].element_bytes
        values = special_elements(PAIRS[data_type])
        return [index << width | value for value in values[:: max(1, len(values) // 14)] for index in INDICES]
    if data_type.floating:
        return special_floats(FLOATS[data_type])
    ones = (1 << 8 * data_type.element_bytes) - 1
    top = ones // 2
    return [0, 1, 2, 3, top - 1, top, top + 1, top + 2, ones - 1, ones, ones // 3, ones // 5, ones // 15]


def float_pairs(form: FloatFormat, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Random pairs: near in size, opposite and nearly equal, with a product at either end of the range, special."""
    rng = np.random.default_rng(seed)
    bias, span = form.infinity >> (form.fraction_bits + 1), form.fraction_bits + 3
    special = np.array(special_floats(form), dtype=np.uint64)

    def fractions() -> np.ndarray:
        bits = rng.integers(0, 1 << form.fraction_bits, count, dtype=np.uint64)
        low = (np.uint64(1) << rng.integers(0, form.fraction_bits + 1, count, dtype=np.uint64)) - np.uint64(1)
        return np.choose(rng.integers(0, 4, count), [bits, bits, bits & ~low, bits | low])

    def numbers(exponents: np.ndarray) -> np.ndarray:
        fields = np.clip(exponents, 0, 2 * bias + 1).astype(np.uint64) << np.uint64(form.fraction_bits)
        return rng.integers(0, 2, count, dtype=np.uint64) * np.uint64(form.sign) | fields | fractions()

    exponent = rng.integers(0, 2 * bias + 2, count)
    a = numbers(exponent)
    nudged = (a ^ np.uint64(form.sign)) + rng.integers(0, 7, count, dtype=np.uint64) - np.uint64(3)
    b = np.choose(
        rng.integers(0, 6, count),
        [
            numbers(rng.integers(0, 2 * bias + 2, count)),
            numbers(exponent + rng.integers(-span, span + 1, count)),
            numbers(bias + 1 - exponent + rng.integers(-span, 3, count)),
            numbers(3 * bias - exponent + rng.integers(-2, 3, count)),
            nudged & np.uint64(2 * form.sign - 1),
            rng.choice(special, count),
        ],
    )
    swap = rng.integers(0, 2, count, dtype=bool)
    return np.where(swap, b, a).tolist(), np.where(swap, a, b).tolist()


def random_pairs(data_type: DataType, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Random pairs of elements of any type that often meet in corners; padding is random too."""
    rng = np.random.default_rng(seed)
    if data_type.floating:
        return float_pairs(FLOATS[data_type], count, seed)
    if data_type.pair:
        return _random_located(data_type, count, seed)
    raw = [rng.integers(0, 1 << 64, count, dtype=np.uint64) for _ in range(2)]
    special = np.array(special_elements(data_type), dtype=np.uint64)
    mask = np.uint64((1 << 8 * data_type.element_bytes) - 1)
    a, b = (np.where(rng.integers(0, 4, count) == 0, rng.choice(special, count), side & mask) for side in raw)
    return a.tolist(), np.where(rng.integers(0, 8, count) == 0, a, b).tolist()


def _random_located(data_type: DataType, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Every second pair of values is of equal ones; most indices are near each other."""
    rng = np.random.default_rng(seed)
    width = 8 * PAIRS[data_type].element_bytes
    values, others = random_pairs(PAIRS[data_type], count, seed)
    same = rng.random(count) < 0.5
    others = [value if equal else other for value, other, equal in zip(values, others, same, strict=True)]

    def located(values: list[int]) -> list[int]:
        index = (rng.integers(-3, 4, count) & 0xFFFFFFFF).tolist()
        padding = rng.integers(0, 1 << 32 if width == 64 else 1, count).tolist()
        return [value | (at | pad << 32) << width for value, at, pad in zip(values, index, padding, strict=True)]

    return located(values), located(others)
