"""The judge: what an operator makes of two elements, in whole numbers without bounds.

- Integers wrap. An element is true when it is not zero; LAND, LOR and LXOR give 0 or 1.
- Floating-point sums and products are exact and rounded once, to nearest even, in the element's own format; subnormals
  and the sign of zero are kept. Any NaN becomes the canonical quiet one, and so does infinity - infinity and
  infinity * 0. MIN and MAX are ``minimum`` and ``maximum`` of IEEE 754-2019: NaN propagates, -0 is less than +0.
- MINLOC and MAXLOC: the value is what MIN or MAX makes of both values, the index that of the value that won; where
  both did (equal, or both NaN), the lower index. Padding is 0.

Every operator gives the same bits for both orders of its operands.
"""

from collections.abc import Callable
from functools import cache, partial

from fanfold.codes import DataType, Operator, defined

from .formats import FLOATS, FloatFormat

__all__ = ["PAIRED_VALUES", "check_defined", "combine", "float_product", "float_sum"]

#: the type of a pair's value; its index, an int32, comes right behind
PAIRED_VALUES = {
    DataType.FLOAT32_INT32: DataType.FLOAT32,
    DataType.INT32_INT32: DataType.INT32,
    DataType.FLOAT64_INT32: DataType.FLOAT64,
}

_INDEX_MASK = (1 << 32) - 1
_INDEX_SIGN = 1 << 31


def check_defined(operator: Operator, data_type: DataType) -> None:
    """Raises ``ValueError`` when MPI does not define ``operator`` for ``data_type``."""
    if not defined(operator, data_type):
        raise ValueError(f"no arithmetic for {operator.name} of {data_type.name}")


def combine(operator: Operator, data_type: DataType, a: int, b: int) -> int:
    """``a`` and ``b`` (bit patterns of two elements) combined; the result's bit pattern.

    Raises ``ValueError`` for an operator that is not defined for the type.
    """
    return _function(operator, data_type)(a, b)


@cache
def _function(operator: Operator, data_type: DataType) -> Callable[[int, int], int]:
    check_defined(operator, data_type)
    if data_type.pair:
        return partial(_located, _EXTREMES[operator], PAIRED_VALUES[data_type])
    if data_type.floating:
        return partial(_FLOAT_OPERATORS[operator], FLOATS[data_type])
    function, bits = _INTEGER_OPERATORS[operator], 8 * data_type.element_bytes
    # flipping the sign bit orders two's complement like plain binary
    bias = 1 << (bits - 1) if data_type.value <= DataType.INT64.value else 0
    return lambda a, b: function(a, b, bias) & ((1 << bits) - 1)


def float_sum(form: FloatFormat, a: int, b: int) -> int:
    """The sum of two numbers of any format, as ``combine`` makes it."""
    if form.is_nan(a) or form.is_nan(b):
        return form.nan
    infinities = {bits for bits in (a, b) if bits & ~form.sign == form.infinity}
    if infinities:
        return infinities.pop() if len(infinities) == 1 else form.nan
    total = form.multiple(a) + form.multiple(b)
    if total == 0:
        return a & b & form.sign  # -0 only from two of them
    return form.rounded(abs(total)) | (form.sign if total < 0 else 0)


def float_product(form: FloatFormat, a: int, b: int) -> int:
    """The product of two numbers of any format, as ``combine`` makes it."""
    if form.is_nan(a) or form.is_nan(b):
        return form.nan
    sign = (a ^ b) & form.sign
    magnitudes = [bits & ~form.sign for bits in (a, b)]
    if form.infinity in magnitudes:
        return form.nan if 0 in magnitudes else sign | form.infinity
    # a product of multiples counts squares of the smallest subnormal
    left, right = (form.multiple(magnitude) for magnitude in magnitudes)
    return sign | form.rounded(left * right, scale=form.subnormal_exponent)


def _float_order(form: FloatFormat, bits: int) -> int:
    magnitude = bits & ~form.sign
    return -magnitude - 1 if bits & form.sign else magnitude  # -0 is just below +0


def _float_pick(pick: Callable) -> Callable[[FloatFormat, int, int], int]:
    def picked(form: FloatFormat, a: int, b: int) -> int:
        if form.is_nan(a) or form.is_nan(b):
            return form.nan
        return pick(a, b, key=lambda bits: _float_order(form, bits))

    return picked


def _located(extreme: Operator, value_type: DataType, a: int, b: int) -> int:
    """``a`` and ``b`` are pairs, ``extreme`` is MIN or MAX."""
    width = 8 * value_type.element_bytes
    values = [pair & ((1 << width) - 1) for pair in (a, b)]
    indices = [pair >> width & _INDEX_MASK for pair in (a, b)]
    best = combine(extreme, value_type, *values)
    # a value combined with itself is itself, and any NaN the canonical one, as ``best`` is
    winners = [
        index
        for value, index in zip(values, indices, strict=True)
        if combine(extreme, value_type, value, value) == best
    ]
    return min(winners, key=lambda index: index ^ _INDEX_SIGN) << width | best


_EXTREMES: dict[object, Operator] = {Operator.MINLOC: Operator.MIN, Operator.MAXLOC: Operator.MAX}

_FLOAT_OPERATORS: dict[object, Callable[[FloatFormat, int, int], int]] = {
    Operator.SUM: float_sum,
    Operator.PROD: float_product,
    Operator.MIN: _float_pick(min),
    Operator.MAX: _float_pick(max),
}

#: of two bit patterns, and what to flip in them before they are compared
_INTEGER_OPERATORS: dict[object, Callable[[int, int, int], int]] = {
    Operator.SUM: lambda a, b, bias: a + b,
    # modulo a power of two the sign makes no difference to a product
    Operator.PROD: lambda a, b, bias: a * b,
    Operator.MIN: lambda a, b, bias: min(a, b, key=lambda bits: bits ^ bias),
    Operator.MAX: lambda a, b, bias: max(a, b, key=lambda bits: bits ^ bias),
    Operator.LAND: lambda a, b, bias: int(a != 0 and b != 0),
    Operator.LOR: lambda a, b, bias: int(a != 0 or b != 0),
    Operator.LXOR: lambda a, b, bias: int((a != 0) != (b != 0)),
    Operator.BAND: lambda a, b, bias: a & b,
    Operator.BOR: lambda a, b, bias: a | b,
    Operator.BXOR: lambda a, b, bias: a ^ b,
}
