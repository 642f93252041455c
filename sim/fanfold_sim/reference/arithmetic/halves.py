"""Sums and products of float16 and bfloat16 in NumPy: float32 calculates, and its result is rounded again.

Two roundings give here what one would. Let p be the bits of a significand, 11 in float16 and 8 in bfloat16; float32
has 24.

- **A product** has at most 2p bits, which float32 holds exactly as far down as 2^-149. That is enough for float16: its
  products are multiples of 2^-48. A bfloat16 product of 2^-134 or more has its 16 bits at 2^-149 or above, and so is
  exact too; a smaller one may be rounded, but not to more than 2^-134, half of the smallest subnormal. It becomes 0
  then, as it must.
- **A sum** that does not fit into 24 bits has a smaller operand below 2^(p-24) of the larger one's leading bit: that is
  less than an eighth of the larger one's last place. The nearest middle between two neighbours is a quarter (below a
  power of two) or a half of it away, and float32 rounds by far less than what lies between. So it never reaches that
  middle, and the second rounding goes where one would. (The known condition is 24 >= 2p + 2.) Sums in the subnormal
  range are exact: they are multiples of the smallest subnormal.
- **Overflow**: every float16 result fits into float32. What becomes infinity in float32 is at least 2^128 - 2^103, and
  bfloat16 makes infinity from 2^128 - 2^119 on.
"""

from collections.abc import Callable

import numpy as np

from fanfold.codes import DataType

from .formats import FLOATS

__all__ = ["Function", "bfloat16", "float16"]

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


def float16(function: Function) -> Function:
    """``function`` of float32 numbers (a sum or a product) as one of arrays of float16 bits."""
    return lambda a, b: _to_float16(function(_FLOAT16_VALUES.take(a), _FLOAT16_VALUES.take(b)))


def bfloat16(function: Function) -> Function:
    """``function`` of float32 numbers (a sum or a product) as one of arrays of bfloat16 bits."""
    return lambda a, b: _to_bfloat16(function(_from_bfloat16(a), _from_bfloat16(b)))


#: what each pattern of float16 means; looking it up takes half the time of NumPy's conversion
_FLOAT16_VALUES = np.arange(1 << 16, dtype="<u2").view("<f2").astype("<f4")

_FLOAT16 = FLOATS[DataType.FLOAT16]
_BFLOAT16 = FLOATS[DataType.BFLOAT16]

#: in float32, the power of two where float16 becomes normal (2^-14), and the one where it ends (2^16)
_NORMAL = 113 << 23
_END = 143 << 23


def _to_float16(number: np.ndarray) -> np.ndarray:
    """Rounds by an addition: float32 numbers that are 2^13 times as large have the last place that float16 has.

    NumPy's own conversion gives the same numbers, but is several times slower where many of them are subnormal.
    """
    bits = number.view("<u4")
    magnitude = bits & 0x7FFFFFFF
    # the power of two at or below the number: the one that says what its last place is in float16
    power = np.minimum(np.maximum(magnitude & 0x7F800000, _NORMAL), _END)
    larger = power + (13 << 23)
    # to even, as ``larger`` is 2^23 of the last places
    places = (magnitude.view("<f4") + larger.view("<f4")).view("<u4") - larger
    # the hidden bit, counted among the places, adds one to the exponent of normal numbers
    rounded = places + ((power - _NORMAL) >> 13)
    folded = (np.minimum(rounded, _FLOAT16.infinity) | bits >> 16 & _FLOAT16.sign).astype("<u2")
    folded[np.isnan(number)] = _FLOAT16.nan
    return folded


def _from_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype("<u4") << 16).view("<f4")


def _to_bfloat16(number: np.ndarray) -> np.ndarray:
    bits = number.view("<u4")
    # bfloat16 is the upper half of float32: half of its last place is added, less one where that place is even
    folded = ((bits + (bits >> 16 & 1) + 0x7FFF) >> 16).astype("<u2")
    folded[np.isnan(number)] = _BFLOAT16.nan
    return folded
