"""Binary floating-point formats (IEEE 754-2019, section 3.4), exactly: numbers as whole multiples, and back."""

from dataclasses import dataclass
from functools import cached_property

from fanfold.codes import DataType

__all__ = ["FLOATS", "FloatFormat"]


@dataclass(frozen=True)
class FloatFormat:
    """A binary interchange format by the widths of its fields: sign, biased exponent, fraction, from the top down."""

    exponent_bits: int
    fraction_bits: int

    @cached_property
    def bits(self) -> int:
        return 1 + self.exponent_bits + self.fraction_bits

    @cached_property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @cached_property
    def infinity(self) -> int:
        """Plus infinity; a magnitude above it is a NaN."""
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    @cached_property
    def nan(self) -> int:
        """The canonical quiet NaN."""
        return self.infinity | 1 << (self.fraction_bits - 1)

    @cached_property
    def subnormal_exponent(self) -> int:
        """The smallest subnormal is 2 to the power of minus this."""
        bias = (1 << (self.exponent_bits - 1)) - 1
        return bias - 1 + self.fraction_bits

    def is_nan(self, bits: int) -> bool:
        return bits & ~self.sign > self.infinity

    def multiple(self, bits: int) -> int:
        """A finite number as a multiple of the smallest subnormal."""
        exponent = (bits & ~self.sign) >> self.fraction_bits
        fraction = bits & ((1 << self.fraction_bits) - 1)
        magnitude = (fraction | 1 << self.fraction_bits) << (exponent - 1) if exponent else fraction
        return -magnitude if bits & self.sign else magnitude

    def rounded(self, magnitude: int, scale: int = 0) -> int:
        """The bits nearest to ``magnitude`` / 2^``scale`` smallest subnormals, ties to even; infinity from the first
        number on that has no place below it."""
        shift = max(magnitude.bit_length() - self.fraction_bits - 1, scale)
        kept, rest = magnitude >> shift, magnitude & ((1 << shift) - 1)
        half = (1 << shift) >> 1
        kept += rest > half or (shift > 0 and rest == half and kept & 1)
        # adding the exponent to the whole lets a carry out of the fraction raise it; a subnormal has exponent 0
        return min(kept + ((shift - scale) << self.fraction_bits), self.infinity)


FLOATS = {
    DataType.FLOAT16: FloatFormat(exponent_bits=5, fraction_bits=10),
    DataType.BFLOAT16: FloatFormat(exponent_bits=8, fraction_bits=7),
    DataType.FLOAT32: FloatFormat(exponent_bits=8, fraction_bits=23),
    DataType.FLOAT64: FloatFormat(exponent_bits=11, fraction_bits=52),
}
