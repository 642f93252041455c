"""What a lane must give, written down element by element with Amaranth's own operators.

Shares nothing with ``fanfold.fold``: no cut carry chains, no common comparison, no riding through adders.
"""

from amaranth import *

from fanfold.codes import DataType, Operator

__all__ = ["LANE_BITS", "element_bits", "folded", "nan_of"]

LANE_BITS = 64

_SIGNED = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64)
#: exponent and fraction bits
_FIELDS = {
    DataType.FLOAT16: (5, 10),
    DataType.BFLOAT16: (8, 7),
    DataType.FLOAT32: (8, 23),
    DataType.FLOAT64: (11, 52),
}
_VALUES = {
    DataType.FLOAT32_INT32: DataType.FLOAT32,
    DataType.INT32_INT32: DataType.INT32,
    DataType.FLOAT64_INT32: DataType.FLOAT64,
}
_INDEX_BITS = 32


def element_bits(data_type: DataType) -> int:
    return 8 * data_type.element_bytes


def folded(operator: Operator, data_type: DataType, a: Value, b: Value) -> Value:
    """``a`` and ``b``, as many bits as there are, combined element by element."""
    bits = element_bits(data_type)
    rule = _pair if data_type.pair else _extreme if data_type.floating else _integer
    return Cat(rule(operator, data_type, a[at : at + bits], b[at : at + bits])[:bits] for at in range(0, len(a), bits))


def nan_of(data_type: DataType, number: Value) -> Value:
    """Whether ``number``, of a floating-point type, is a NaN."""
    exponent, fraction = _FIELDS[data_type]
    return number[fraction : fraction + exponent].all() & number[:fraction].any()


def _integer(operator, data_type, a, b):
    if data_type in _SIGNED:
        a, b = a.as_signed(), b.as_signed()
    match operator:
        case Operator.SUM:
            return a + b
        case Operator.PROD:
            return a * b
        case Operator.MIN:
            return Mux(a < b, a, b).as_unsigned()
        case Operator.MAX:
            return Mux(a > b, a, b).as_unsigned()
        case Operator.BAND:
            return (a & b).as_unsigned()
        case Operator.BOR:
            return (a | b).as_unsigned()
        case Operator.BXOR:
            return (a ^ b).as_unsigned()
        case Operator.LAND:
            truth = (a != 0) & (b != 0)
        case Operator.LOR:
            truth = (a != 0) | (b != 0)
        case Operator.LXOR:
            truth = (a != 0) ^ (b != 0)
    return Cat(truth, C(0, len(a) - 1))


def _place(data_type, number):
    """Where a number is in the order of all that are no NaN: -0 just below +0."""
    magnitude = number[:-1]
    return Mux(number[-1], -magnitude - 1, magnitude)


def _extreme(operator, data_type, a, b):
    """The lesser or the greater; a NaN, if one of them is, and then the canonical one."""
    exponent, fraction = _FIELDS[data_type]
    canonical = C(((1 << (exponent + 1)) - 1) << (fraction - 1), len(a))
    left, right = _place(data_type, a), _place(data_type, b)
    first = left < right if operator is Operator.MIN else left > right
    return Mux(nan_of(data_type, a) | nan_of(data_type, b), canonical, Mux(first, a, b))


def _pair(operator, data_type, a, b):
    """The value of the one that wins and its index, or of both that do the lower one; a NaN wins over all numbers."""
    value_type = _VALUES[data_type]
    bits = element_bits(value_type)
    plain = Operator.MIN if operator is Operator.MINLOC else Operator.MAX
    (a_value, a_index), (b_value, b_index) = (
        (each[:bits], each[bits : bits + _INDEX_BITS].as_signed()) for each in (a, b)
    )
    lower = Mux(a_index < b_index, a_index, b_index)
    if value_type is DataType.INT32:
        value = _integer(plain, value_type, a_value, b_value)
        a_wins, b_wins = value == a_value, value == b_value
    else:
        value = _extreme(plain, value_type, a_value, b_value)
        a_nan, b_nan = nan_of(value_type, a_value), nan_of(value_type, b_value)
        a_wins = a_nan | (~b_nan & (value == a_value))
        b_wins = b_nan | (~a_nan & (value == b_value))
    index = Mux(a_wins & b_wins, lower, Mux(a_wins, a_index, b_index))
    return Cat(value[:bits], index[:_INDEX_BITS], C(0, len(a) - bits - _INDEX_BITS))
