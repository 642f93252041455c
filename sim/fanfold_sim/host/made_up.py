"""Random rows of elements for the cores, such that the result tells something: neither always 0 nor always full."""

import numpy as np

from fanfold.codes import DataType, Operator

from ..elements import NUMPY_TYPES

__all__ = ["made_up_elements"]


def made_up_elements(operator: Operator, data_type: DataType, shape: tuple[int, int], seed: int) -> np.ndarray:
    """Elements for ``shape`` (cores, elements of each); the same for the same seed.

    Floating-point numbers have exponents far apart, so that sums in another order have other bits; factors are near 1,
    or odd whole numbers.
    Pairs have few different values, so that there are ties, and the core's number as their index. For logical and
    bitwise operators about one core's element decides each bit of the result.
    """
    random = np.random.default_rng(seed)
    if data_type.pair:
        return _pairs(random, data_type, shape)
    if data_type.floating:
        return _floats(random, operator, data_type, shape)
    return _integers(random, operator, NUMPY_TYPES[data_type], shape)


def _floats(random: np.random.Generator, operator: Operator, data_type: DataType, shape) -> np.ndarray:
    if operator is Operator.PROD:
        numbers = np.exp2(random.uniform(-0.5, 0.5, shape)) * random.choice((-1, 1), shape)
    else:
        exponents = random.integers(-12, 13, shape)
        numbers = np.ldexp(random.uniform(-1, 1, shape), exponents)
    if data_type is DataType.BFLOAT16:
        return (numbers.astype("<f4").view("<u4") >> 16).astype("<u2")
    return numbers.astype(NUMPY_TYPES[data_type])


def _pairs(random: np.random.Generator, data_type: DataType, shape) -> np.ndarray:
    rows = np.zeros(shape, NUMPY_TYPES[data_type])
    scale = 1 if rows["value"].dtype.kind == "i" else 0.5
    rows["value"] = random.integers(0, 9, shape) * random.choice((-1.0, 1.0), shape) * scale
    rows["index"] = np.arange(shape[0])[:, np.newaxis]
    return rows


def _integers(random: np.random.Generator, operator: Operator, dtype: np.dtype, shape) -> np.ndarray:
    def numbers() -> np.ndarray:
        limits = np.iinfo(dtype)
        drawn = random.integers(limits.min, limits.max, shape, dtype=dtype.newbyteorder("="), endpoint=True)
        return drawn.astype(dtype)

    rows = numbers()
    zero, one = dtype.type(0), dtype.type(1)
    if operator is Operator.PROD:
        return rows | one  # products of even numbers soon have no bits left
    if operator in (Operator.LAND, Operator.LOR, Operator.LXOR):
        chance = 0.5 if operator is Operator.LXOR else 1 / shape[0]
        chosen = random.random(shape) < chance
        true = np.where(rows == zero, one, rows)
        return np.where(chosen, zero, true) if operator is Operator.LAND else np.where(chosen, true, zero)
    if operator in (Operator.BAND, Operator.BOR):
        # a bit is set in one of about as many rows as there are
        for _ in range(shape[0].bit_length() - 1):
            rows &= numbers()
        return ~rows if operator is Operator.BAND else rows
    return rows
