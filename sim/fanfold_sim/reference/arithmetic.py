"""What the operators do to elements: the golden model of the fold's arithmetic.

``combine`` is the judge: plain whole numbers, one element at a time. A finite floating-point number is a whole
multiple of the format's smallest subnormal, so a sum is exact as a whole number and is rounded once. ``fold_bytes``
does the same to whole payloads, with NumPy where they are long, and ``fold_tree`` replays the tree of the fold.

Floating point: round to nearest even, any NaN becomes the canonical quiet one, MIN and MAX are ``minimum`` and
``maximum`` of IEEE 754-2019 (NaN propagates, -0 < +0). Integers wrap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fanfold.codes import DataType, Operator

__all__ = ["FLOATS", "FloatFormat", "combine", "fold_bytes", "fold_tree"]

#: payloads with at least this many elements go through NumPy
_VECTOR_ELEMENTS = 8


@dataclass(frozen=True)
class FloatFormat:
    """A binary interchange format by the widths of its fields."""

    exponent_bits: int
    fraction_bits: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        """Plus infinity; a magnitude above it is a NaN."""
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @property
    def nan(self) -> int:
        """The canonical quiet NaN."""
        return self.infinity | 1 << (self.fraction_bits - 1)

    def is_nan(self, bits: int) -> bool:
        return bits & ~self.sign > self.infinity

    def multiple(self, bits: int) -> int:
        """A finite number as a multiple of the smallest subnormal."""
        exponent = (bits & ~self.sign) >> self.fraction_bits
        fraction = bits & ((1 << self.fraction_bits) - 1)
        magnitude = (fraction | 1 << self.fraction_bits) << (exponent - 1) if exponent else fraction
        return -magnitude if bits & self.sign else magnitude

    def rounded(self, magnitude: int) -> int:
        """The bits nearest to ``magnitude`` times the smallest subnormal, ties to even; infinity from the first
        number that has no place below it."""
        shift = max(magnitude.bit_length() - self.fraction_bits - 1, 0)
        kept, rest = magnitude >> shift, magnitude & ((1 << shift) - 1)
        half = (1 << shift) >> 1
        kept += rest > half or (shift > 0 and rest == half and kept & 1)
        # adding the exponent to the whole lets a carry out of the fraction raise it; a subnormal has exponent 0
        return min(kept + (shift << self.fraction_bits), self.infinity)


FLOATS = {DataType.FLOAT32: FloatFormat(exponent_bits=8, fraction_bits=23)}

#: bits of an integer type, and whether it is signed
_INTEGERS = {DataType.INT32: (32, True), DataType.UINT32: (32, False)}


def combine(operator: Operator, data_type: DataType, a: int, b: int) -> int:
    """``a`` and ``b`` (bit patterns of two elements) combined; the result's bit pattern.

    Raises ``ValueError`` for an operator or a type that is not modelled.
    """
    if data_type in FLOATS and operator in _FLOAT_OPERATORS:
        return _FLOAT_OPERATORS[operator](FLOATS[data_type], a, b)
    if data_type in _INTEGERS and operator in _INTEGER_OPERATORS:
        bits, signed = _INTEGERS[data_type]
        # flipping the sign bit orders two's complement like plain binary
        bias = 1 << (bits - 1) if signed else 0
        return _INTEGER_OPERATORS[operator](a, b, bias) & ((1 << bits) - 1)
    raise ValueError(f"no arithmetic for {operator.name} of {data_type.name}")


def _float_sum(form: FloatFormat, a: int, b: int) -> int:
    if form.is_nan(a) or form.is_nan(b):
        return form.nan
    infinities = {bits for bits in (a, b) if bits & ~form.sign == form.infinity}
    if infinities:
        return infinities.pop() if len(infinities) == 1 else form.nan
    total = form.multiple(a) + form.multiple(b)
    if total == 0:
        return a & b & form.sign  # -0 only from two of them
    return form.rounded(abs(total)) | (form.sign if total < 0 else 0)


def _float_order(form: FloatFormat, bits: int) -> int:
    magnitude = bits & ~form.sign
    return -magnitude - 1 if bits & form.sign else magnitude  # -0 is just below +0


def _float_pick(pick: Callable) -> Callable[[FloatFormat, int, int], int]:
    def picked(form: FloatFormat, a: int, b: int) -> int:
        if form.is_nan(a) or form.is_nan(b):
            return form.nan
        return pick(a, b, key=lambda bits: _float_order(form, bits))

    return picked


_FLOAT_OPERATORS: dict[object, Callable[[FloatFormat, int, int], int]] = {
    Operator.SUM: _float_sum,
    Operator.MIN: _float_pick(min),
    Operator.MAX: _float_pick(max),
}

_INTEGER_OPERATORS: dict[object, Callable[[int, int, int], int]] = {
    Operator.SUM: lambda a, b, bias: a + b,
    Operator.MIN: lambda a, b, bias: min(a, b, key=lambda bits: bits ^ bias),
    Operator.MAX: lambda a, b, bias: max(a, b, key=lambda bits: bits ^ bias),
}


def fold_bytes(operator: Operator, data_type: DataType, a: bytes, b: bytes) -> bytes:
    """Two payloads of one length, combined element by element.

    Raises ``ValueError`` when the lengths differ or are no whole number of elements.
    """
    size = data_type.element_bytes
    if len(a) != len(b) or len(a) % size:
        raise ValueError(f"payloads of {len(a)} and {len(b)} bytes: they must be equal multiples of {size}")
    vector = _VECTORS.get((operator, data_type))
    if vector and len(a) >= _VECTOR_ELEMENTS * size:
        return vector(a, b)
    folded = bytearray()
    for at in range(0, len(a), size):
        pair = (int.from_bytes(part[at : at + size], "little") for part in (a, b))
        folded += combine(operator, data_type, *pair).to_bytes(size, "little")
    return bytes(folded)


def _vector_integer(dtype: str, function: Callable) -> Callable[[bytes, bytes], bytes]:
    return lambda a, b: function(np.frombuffer(a, dtype), np.frombuffer(b, dtype)).tobytes()


def _vector_float(function: Callable) -> Callable[[bytes, bytes], bytes]:
    def folded(a: bytes, b: bytes) -> bytes:
        left, right = np.frombuffer(a, "<i4"), np.frombuffer(b, "<i4")
        bits = function(left, right)
        nan = np.isnan(left.view("<f4")) | np.isnan(right.view("<f4")) | np.isnan(bits.view("<f4"))
        return np.where(nan, np.int32(FLOATS[DataType.FLOAT32].nan), bits).astype("<i4").tobytes()

    return folded


def _vector_float_sum(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return (left.view("<f4") + right.view("<f4")).view("<i4")


def _vector_float_pick(function: Callable) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def flipped(bits: np.ndarray) -> np.ndarray:
        # negative numbers order backwards; flipping their magnitude orders all like integers, and flips back the same
        return bits ^ (bits >> 31 & 0x7FFFFFFF)

    return lambda left, right: flipped(function(flipped(left), flipped(right)))


_VECTORS: dict[object, Callable[[bytes, bytes], bytes]] = {
    (Operator.SUM, DataType.INT32): _vector_integer("<u4", np.add),
    (Operator.MIN, DataType.INT32): _vector_integer("<i4", np.minimum),
    (Operator.MAX, DataType.INT32): _vector_integer("<i4", np.maximum),
    (Operator.SUM, DataType.UINT32): _vector_integer("<u4", np.add),
    (Operator.MIN, DataType.UINT32): _vector_integer("<u4", np.minimum),
    (Operator.MAX, DataType.UINT32): _vector_integer("<u4", np.maximum),
    (Operator.SUM, DataType.FLOAT32): _vector_float(_vector_float_sum),
    (Operator.MIN, DataType.FLOAT32): _vector_float(_vector_float_pick(np.minimum)),
    (Operator.MAX, DataType.FLOAT32): _vector_float(_vector_float_pick(np.maximum)),
}


def fold_tree(operator: Operator, data_type: DataType, parts: Sequence[bytes | None], leaves: int) -> bytes:
    """``parts`` by contributor index (None or beyond the end: nobody there) through the tree of ``leaves`` leaves.

    Level 0 combines indices 2i and 2i + 1, level 1 the pairs, and so on; an empty subtree lets its sibling pass
    unchanged. Raises ``ValueError`` when nobody contributes or there are more parts than leaves.
    """
    if len(parts) > leaves or all(part is None for part in parts):
        raise ValueError(f"{len(parts)} parts for {leaves} leaves: there must be at least one part, and no more")
    nodes = [*parts, *[None] * (leaves - len(parts))]
    while len(nodes) > 1:
        nodes = [_meet(operator, data_type, *nodes[at : at + 2]) for at in range(0, len(nodes), 2)]
    result = nodes[0]
    assert result is not None
    return result


def _meet(operator: Operator, data_type: DataType, a: bytes | None, b: bytes | None) -> bytes | None:
    if a is None or b is None:
        return b if a is None else a
    return fold_bytes(operator, data_type, a, b)
