"""Pairs of elements to fold, as arrays of bit patterns: special values, all there are, random and corner-biased ones.

Everything follows from a seed. Elements of up to 8 bytes are unsigned numbers of their size; the two of a 16-byte pair
are rows of two numbers of 8 bytes, value and index.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from fanfold.codes import DataType
from fanfold.config import Config

__all__ = ["Pairs", "biased", "every_pair", "mixed", "random", "special_pairs", "specials"]

#: first and second operands
Pairs = tuple[np.ndarray, np.ndarray]

#: bits of the fraction and of the exponent
FIELDS = {
    DataType.FLOAT16: (10, 5),
    DataType.BFLOAT16: (7, 8),
    DataType.FLOAT32: (23, 8),
    DataType.FLOAT64: (52, 11),
}

#: value and index of the pairs
_PARTS = {
    DataType.FLOAT32_INT32: (DataType.FLOAT32, DataType.INT32),
    DataType.INT32_INT32: (DataType.INT32, DataType.INT32),
    DataType.FLOAT64_INT32: (DataType.FLOAT64, DataType.INT32),
}


def specials(data_type: DataType) -> list[int]:
    """Values at which arithmetic changes its ways, and their neighbours; of a pair, values with small indices."""
    if data_type.pair:
        value, index = (_few(part) for part in _PARTS[data_type])
        width = 8 * _PARTS[data_type][0].element_bytes
        return [bits | at << width for bits, at in product(value, index)]
    if data_type in FIELDS:
        return _float_specials(*FIELDS[data_type])
    bits = 8 * data_type.element_bytes
    ends = [0, 1 << (bits - 1), (1 << bits) - 1, 1 << (bits // 2)]
    stripes = [(1 << bits) // 3, (1 << bits) // 3 * 2, 0x0F0F0F0F0F0F0F0F & ((1 << bits) - 1)]
    powers = [1 << at for at in range(0, bits, max(1, bits // 8))]
    near = {(each + step) % (1 << bits) for each in (*ends, *powers) for step in (-2, -1, 0, 1, 2)}
    return sorted(near | set(stripes))


def _float_specials(fraction: int, exponent: int) -> list[int]:
    """Of both signs: zero, subnormals, both ends of the normals, around 1 and around numbers that just absorb a 1,
    halves of the last place of the greatest, infinity, quiet and signalling NaNs."""
    bias, top = (1 << (exponent - 1)) - 1, (1 << exponent) - 1
    hidden = 1 << fraction
    one, least, infinity = bias << fraction, hidden, top << fraction
    below = [0, 1, 2, 3, hidden >> 1, (hidden >> 1) - 1, hidden - 2, hidden - 1]
    ends = [least, least + 1, least + (hidden >> 1), 2 * least - 1, 2 * least, 2 * least + 1, 3 * least]
    middle = [one + step for step in (-2, -1, 0, 1, 2, hidden >> 1, (hidden >> 1) + 1)]
    # numbers of which a 1 is a place above the last, the last, half and a quarter of it, and less
    absorbing = [one + (at << fraction) + step for at in range(fraction - 1, fraction + 4) for step in (-1, 0, 1)]
    # half of the last place of the greatest, and about that
    half = infinity - ((fraction + 2) << fraction)
    greatest = [infinity - 1, infinity - 2, infinity - hidden, infinity - hidden + 1, half - 1, half, half + 1]
    nans = [infinity, infinity + 1, infinity | hidden >> 1, (infinity | hidden >> 1) + 1, infinity + hidden - 1]
    stripes = [(one | hidden // 3), (one | hidden // 3 * 2), hidden // 3, (least | hidden // 3)]
    magnitudes = sorted({bits for bits in (*below, *ends, *middle, *absorbing, *greatest, *nans, *stripes)})
    assert all(0 <= bits < 1 << (fraction + exponent) for bits in magnitudes)
    return magnitudes + [bits | 1 << (fraction + exponent) for bits in magnitudes]


def _few(data_type: DataType) -> list[int]:
    """So few special values that all pairs of elements made of them are still few."""
    bits = 8 * data_type.element_bytes
    sign = 1 << (bits - 1)
    if data_type not in FIELDS:
        return [0, 1, 5, sign - 1, sign, (1 << bits) - 1]
    fraction, exponent = FIELDS[data_type]
    infinity = ((1 << exponent) - 1) << fraction
    quiet = infinity | 1 << (fraction - 1)
    return [each | s for each in (0, 1, infinity - 1, infinity, infinity + 1, quiet) for s in (0, sign)]


def special_pairs(data_type: DataType) -> Pairs:
    """Every special value with every one."""
    found = specials(data_type)
    if data_type.element_bytes > 8:
        rows = np.array([[bits & 0xFFFFFFFFFFFFFFFF, bits >> 64] for bits in found], "<u8")
        return np.repeat(rows, len(rows), axis=0), np.tile(rows, (len(rows), 1))
    column = np.array(found, f"<u{data_type.element_bytes}")
    return np.repeat(column, len(column)), np.tile(column, len(column))


def every_pair(data_type: DataType, part: int = 0, parts: int = 1) -> Pairs:
    """All pairs of elements of one or two bytes there are, or one of ``parts`` equal parts of them: some first operands
    with all second ones."""
    bits = 8 * data_type.element_bytes
    first = (1 << bits) // parts
    left = np.arange(part * first, (part + 1) * first, dtype=f"<u{data_type.element_bytes}")
    right = np.arange(1 << bits, dtype=left.dtype)
    return np.repeat(left, len(right)), np.tile(right, len(left))


def random(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Any bits, also of the padding of 16-byte pairs, which must not count."""
    shape = (count,) if data_type.element_bytes <= 8 else (count, 2)
    width = 8 * min(data_type.element_bytes, 8)
    return _bits(width, shape, rng), _bits(width, shape, rng)


def biased(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Pairs that go wrong more easily than others: near each other, ties, cancellation, overflow, special values."""
    if data_type.pair:
        return _biased_pairs(data_type, count, rng)
    ways = _FLOAT_WAYS if data_type in FIELDS else _INTEGER_WAYS
    blocks = np.array_split(np.arange(count), len(ways))
    found = [way(data_type, len(block), rng) for way, block in zip(ways, blocks, strict=True)]
    left, right = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    swapped = rng.random(count, np.float32) < 0.5
    order = rng.permutation(count) if count <= 1 << 16 else slice(None)  # mixed where that costs little
    return np.where(swapped, right, left)[order], np.where(swapped, left, right)[order]


def mixed(config: Config, words: int, rng: np.random.Generator) -> tuple[list, np.ndarray, np.ndarray, *Pairs]:
    """Words, each for an operator and a type of its own, a tenth of them only to pass: what there is to choose from,
    what each word chooses, which are combined, and both operands. An element of two words has two with one choice."""
    choices = sorted(config.pairs, key=lambda pair: pair[1].element_bytes > 8)
    small = sum(data_type.element_bytes <= 8 for _, data_type in choices)
    chosen = rng.integers(0, small, words)
    combines = (rng.random(words) < 0.9).astype(np.uint8)
    if small < len(choices):
        here = np.flatnonzero(rng.random(words // 2) < 0.1)
        chosen[2 * here] = chosen[2 * here + 1] = rng.integers(small, len(choices), len(here))
        combines[2 * here + 1] = combines[2 * here]
    a, b = np.zeros(words, "<u8"), np.zeros(words, "<u8")
    for index, (_, data_type) in enumerate(choices):
        mine = np.flatnonzero(chosen == index)
        left, right = biased(data_type, len(mine) * 8 // data_type.element_bytes, rng)
        a[mine], b[mine] = left.reshape(-1).view("<u8"), right.reshape(-1).view("<u8")
    return choices, chosen, combines, a, b


def _bits(width: int, shape, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 1 << width, shape, dtype=np.dtype(f"u{width // 8}"))


def _fields(data_type: DataType) -> tuple[int, int, Callable]:
    """Bits of fraction and exponent, and what makes a number of the element's size."""
    return (*FIELDS[data_type], np.dtype(f"u{data_type.element_bytes}").type)


def _of_specials(data_type: DataType, count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(np.array(specials(data_type), f"u{data_type.element_bytes}"), count)


def _special_and_any(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    return _of_specials(data_type, count, rng), _bits(8 * data_type.element_bytes, count, rng)


def _two_specials(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    return _of_specials(data_type, count, rng), _of_specials(data_type, count, rng)


def _near(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Exponents so near that both fractions count."""
    fraction, exponent, number = _fields(data_type)
    left, right = random(data_type, count, rng)
    top = (1 << exponent) - 1
    moved = (left >> number(fraction) & number(top)).astype(np.int16)
    moved = np.clip(moved + rng.integers(-fraction - 4, fraction + 5, count, dtype=np.int16), 0, top)
    keep = number((1 << fraction) - 1 | 1 << (fraction + exponent))
    return left, (right & keep) | (moved.astype(right.dtype) << number(fraction))


def _ties(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Near, and the fractions end in zeros or in ones."""
    fraction, _, number = _fields(data_type)
    left, right = _near(data_type, count, rng)
    run = (number(1) << rng.integers(0, fraction + 1, count, dtype=left.dtype)) - number(1)
    other = (number(1) << rng.integers(0, fraction + 1, count, dtype=left.dtype)) - number(1)
    ones = rng.random(count, np.float32) < 0.5
    return np.where(ones, left | run, left & ~run), right & ~other


def _cancelling(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Almost the same number, of either sign."""
    fraction, exponent, number = _fields(data_type)
    left, signs = random(data_type, count, rng)
    step = (number(1) << rng.integers(0, fraction + 1, count, dtype=left.dtype)) - number(1)
    near = np.where(signs & number(1), left + step, left - step)
    return left, near ^ (signs & number(1 << (fraction + exponent)))


def _tiny(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Subnormals, and normals near them."""
    fraction, exponent, number = _fields(data_type)
    keep = number(1 << (fraction + exponent) | (1 << (fraction + 2)) - 1)
    left, right = random(data_type, count, rng)
    return left & keep, right & keep


def _huge(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Numbers whose sums overflow, or just not."""
    fraction, exponent, number = _fields(data_type)
    top = number(((1 << exponent) - 4) << fraction)
    left, right = random(data_type, count, rng)
    keep = number(1 << (fraction + exponent) | (1 << (fraction + 2)) - 1)
    return left & keep | top, right & keep | top


def _even_factors(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Exponents that add to the ends of the range, fractions of few ones: what products make of them is a tie."""
    fraction, exponent, number = _fields(data_type)
    left, right = random(data_type, count, rng)
    bias, top = (1 << (exponent - 1)) - 1, (1 << exponent) - 1
    sums = rng.choice(np.array([bias - fraction, bias, bias + 1, bias + top, 2 * bias]), count)
    moved = sums + rng.integers(-2, 3, count) - (left >> number(fraction) & number(top)).astype(np.int64)
    moved = np.clip(moved, 0, top).astype(right.dtype)
    few = [~((number(1) << rng.integers(0, fraction + 1, count, dtype=left.dtype)) - number(1)) for _ in "ab"]
    sign = number(1 << (fraction + exponent))
    low = number((1 << fraction) - 1)
    return left & few[0], (right & sign) | (moved << number(fraction)) | (right & low & few[1])


def _close(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Whole numbers at most 2 apart, across the ends as well."""
    left = _bits(8 * data_type.element_bytes, count, rng)
    return left, left + (rng.integers(0, 5, count).astype(left.dtype) - left.dtype.type(2))


def _masked(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Whole numbers of any length, some negative."""
    left, right = random(data_type, count, rng)
    shift = [rng.integers(0, 8 * data_type.element_bytes, count, dtype=left.dtype) for _ in "ab"]
    signs = left & left.dtype.type(1), right & left.dtype.type(1)
    return (left >> shift[0]) ^ -signs[0], (right >> shift[1]) ^ -signs[1]


def _any(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    return random(data_type, count, rng)


_FLOAT_WAYS = (_any, _near, _ties, _ties, _cancelling, _tiny, _huge, _special_and_any, _two_specials, _even_factors)
_INTEGER_WAYS = (_any, _close, _masked, _special_and_any, _two_specials)


def _biased_pairs(data_type: DataType, count: int, rng: np.random.Generator) -> Pairs:
    """Values that often tie, the zeros of both signs and NaNs among them, with indices in any order."""
    value_type, index_type = _PARTS[data_type]
    left, right = biased(value_type, count, rng)
    kind = rng.integers(0, 8, count, dtype=np.uint8)
    sign = left.dtype.type(1 << (8 * value_type.element_bytes - 1))
    right = np.select([kind < 3, kind == 3], [left, left ^ sign], right)
    indices = biased(index_type, count, rng)
    if data_type.element_bytes > 8:
        padding = random(value_type, count, rng)
        seconds = [i.astype("<u8") | p << np.uint64(32) for i, p in zip(indices, padding, strict=True)]
        return np.stack([left, seconds[0]], axis=1), np.stack([right, seconds[1]], axis=1)
    low, high = ([part.astype("<u8") for part in each] for each in ((left, right), indices))
    return low[0] | high[0] << np.uint64(32), low[1] | high[1] << np.uint64(32)
