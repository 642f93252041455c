"""``combine`` for millions of elements: NumPy arrays of bit patterns.

Sums and products of float32 and float64 are the processor's own: it rounds to nearest even and keeps subnormals. Those
of the 16-bit formats go through float32 and are rounded again; ``halves`` says why that gives what one rounding would.
All else is done with whole numbers: NumPy's minimum may return either of -0 and +0, and what NumPy makes of a NaN
depends on the operands' NaNs.
"""

from collections.abc import Callable

import numpy as np

from fanfold.codes import DataType, Operator

from . import halves
from .elements import PAIRED_VALUES, check_defined
from .formats import FLOATS, FloatFormat
from .halves import Function

__all__ = ["as_array", "fold_arrays"]

#: elements combined at a time: few enough for intermediate results to stay in the processor's cache, and for the C
#: library to take their memory from what was freed just now, instead of pages that the system has to clear
_BLOCK = 1 << 14


def as_array(data_type: DataType, payload: bytes) -> np.ndarray:
    """The elements of a payload as ``fold_arrays`` takes them; its ``tobytes`` gives the payload back.

    An element of up to 8 bytes is one unsigned number of its size, lowest byte first; one of 16 bytes (FLOAT64_INT32)
    is a row of two 8-byte numbers: the value, and the index with the padding above it. The array cannot be written.
    """
    size = data_type.element_bytes
    words = np.frombuffer(payload, f"<u{min(size, 8)}")
    return words if size <= 8 else words.reshape(-1, size // 8)


def fold_arrays(operator: Operator, data_type: DataType, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Two arrays of elements (bit patterns, as from ``as_array``, in one shape), combined; a new array.

    Raises ``ValueError`` for an operator that is not defined for the type, and for arrays of another shape or kind.
    """
    check_defined(operator, data_type)
    columns = () if data_type.element_bytes <= 8 else (data_type.element_bytes // 8,)
    word = np.dtype(f"<u{min(data_type.element_bytes, 8)}")
    if not (a.dtype == b.dtype == word and a.shape == b.shape and a.shape[a.ndim - len(columns) :] == columns):
        raise ValueError(f"arrays of {a.dtype}{a.shape} and {b.dtype}{b.shape}: {data_type.name} takes two of {word}, "
                         f"in one shape{' that ends in (2,)' if columns else ''}")  # fmt: skip
    function = _FUNCTIONS[operator, data_type]
    left, right = (np.ascontiguousarray(part).reshape(-1, *columns) for part in (a, b))
    folded = np.empty_like(left)
    with np.errstate(all="ignore"):
        for at in range(0, len(left), _BLOCK):
            folded[at : at + _BLOCK] = function(left[at : at + _BLOCK], right[at : at + _BLOCK])
    return folded.reshape(a.shape)


# ------------------------------------------------------------------------------------------------------------ integers


def _integer_functions(data_type: DataType) -> dict[Operator, Function]:
    size = data_type.element_bytes
    unsigned, ordered = f"<u{size}", f"<i{size}" if data_type.value <= DataType.INT64.value else f"<u{size}"

    def compared(pick: Function) -> Function:
        return lambda a, b: pick(a.view(ordered), b.view(ordered)).view(unsigned)

    def logical(truth: Function) -> Function:
        return lambda a, b: truth(a, b).astype(unsigned)

    return {
        Operator.SUM: np.add,
        Operator.PROD: np.multiply,
        Operator.MIN: compared(np.minimum),
        Operator.MAX: compared(np.maximum),
        Operator.LAND: logical(np.logical_and),
        Operator.LOR: logical(np.logical_or),
        Operator.LXOR: logical(np.logical_xor),
        Operator.BAND: np.bitwise_and,
        Operator.BOR: np.bitwise_or,
        Operator.BXOR: np.bitwise_xor,
    }


# ------------------------------------------------------------------------------------------------------ floating point


def _float_functions(data_type: DataType) -> dict[Operator, Function]:
    form = FLOATS[data_type]
    arithmetic = {DataType.FLOAT16: halves.float16, DataType.BFLOAT16: halves.bfloat16}.get(data_type, _own(form))
    return {
        Operator.SUM: arithmetic(np.add),
        Operator.PROD: arithmetic(np.multiply),
        Operator.MIN: _extreme(form, np.minimum),
        Operator.MAX: _extreme(form, np.maximum),
    }


def _own(form: FloatFormat) -> Callable[[Function], Function]:
    """For a format that the processor calculates in."""
    size = form.bits // 8

    def arithmetic(function: Function) -> Function:
        def calculated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            number = function(a.view(f"<f{size}"), b.view(f"<f{size}"))
            bits = number.view(a.dtype)
            bits[np.isnan(number)] = form.nan
            return bits

        return calculated

    return arithmetic


def _extreme(form: FloatFormat, pick: Function) -> Function:
    def picked(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        bits = _flipped(form, pick(_flipped(form, a), _flipped(form, b))).view(a.dtype)
        bits[_is_nan(form, a) | _is_nan(form, b)] = form.nan
        return bits

    return picked


def _is_nan(form: FloatFormat, bits: np.ndarray) -> np.ndarray:
    return bits & bits.dtype.type(form.sign - 1) > bits.dtype.type(form.infinity)


def _flipped(form: FloatFormat, bits: np.ndarray) -> np.ndarray:
    """Signed numbers that order as the floating-point ones do, -0 below +0; and, from those, the bits again.

    Negative numbers order backwards: flipping their magnitude turns them round.
    """
    signed = bits.view(f"<i{form.bits // 8}")
    return signed ^ (signed >> (form.bits - 1) & (form.sign - 1))


# --------------------------------------------------------------------------------------------------------------- pairs


def _pair_functions(data_type: DataType) -> dict[Operator, Function]:
    value_type = PAIRED_VALUES[data_type]
    return {
        Operator.MINLOC: _located(value_type, np.minimum),
        Operator.MAXLOC: _located(value_type, np.maximum),
    }


def _located(value_type: DataType, pick: Function) -> Function:
    form = FLOATS.get(value_type)
    # the NaN that wins every comparison; only the canonical one leaves
    winning_nan = None if form is None else 2 * form.sign - 1 if pick is np.minimum else form.sign - 1
    size = value_type.element_bytes

    def ordered(values: np.ndarray) -> np.ndarray:
        if form is None:
            return values.view(f"<i{size}")
        nan = _is_nan(form, values)
        if nan.any():
            values = np.where(nan, values.dtype.type(winning_nan), values)
        return _flipped(form, values)

    def bits(best: np.ndarray) -> np.ndarray:
        if form is None:
            return best.view(f"<u{size}")
        values = _flipped(form, best).view(f"<u{size}")
        values[_is_nan(form, values)] = form.nan
        return values

    def located(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        (left, left_index), (right, right_index) = _split(a), _split(b)
        left, right = ordered(left), ordered(right)
        best = pick(left, right)
        # the index of one that lost counts 2^32 more, so that it loses to any
        index = np.minimum(
            left_index + ((left != best).astype(np.int64) << 32),
            right_index + ((right != best).astype(np.int64) << 32),
        )
        return _joined(bits(best), index)

    return located


def _split(pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values' bits, and the indices as signed 64-bit numbers."""
    if pairs.ndim == 1:
        return pairs.astype("<u4"), pairs.view("<i8") >> 32
    return np.ascontiguousarray(pairs[:, 0]), (pairs[:, 1] << 32).view("<i8") >> 32


def _joined(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    unsigned = indices.view("<u8")
    if values.dtype.itemsize == 4:
        return values | unsigned << 32
    return np.stack([values, unsigned & 0xFFFFFFFF], axis=-1)


def _functions(data_type: DataType) -> dict[Operator, Function]:
    if data_type.pair:
        return _pair_functions(data_type)
    return _float_functions(data_type) if data_type.floating else _integer_functions(data_type)


_FUNCTIONS = {
    (operator, data_type): function for data_type in DataType for operator, function in _functions(data_type).items()
}
