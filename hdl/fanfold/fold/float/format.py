"""The formats of floating-point numbers, by the widths of their fields."""

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth.lib import data

from ...codes import DataType

__all__ = ["FLOAT32", "FORMATS", "Format", "joined"]


@dataclass(frozen=True)
class Format:
    """A binary interchange format of IEEE 754: sign, biased exponent, fraction, from the top down."""

    #: bits of the exponent field
    exponent: int
    #: bits of the fraction field, without the hidden bit
    fraction: int

    @property
    def width(self) -> int:
        """Bits of a number."""
        return 1 + self.exponent + self.fraction

    @property
    def significand(self) -> int:
        """Bits of a significand: the fraction with its hidden bit."""
        return 1 + self.fraction

    @property
    def top_exponent(self) -> int:
        """The exponent field of infinities and NaNs."""
        return (1 << self.exponent) - 1

    @property
    def quiet_nan(self) -> int:
        """The canonical quiet NaN, the only one that a fold makes."""
        return (self.top_exponent << 1 | 1) << (self.fraction - 1)

    def layout(self) -> data.StructLayout:
        """A number's fields; the first field of a layout is the least significant."""
        return data.StructLayout({"fraction": self.fraction, "exponent": self.exponent, "sign": 1})


FLOAT32 = Format(exponent=8, fraction=23)

#: the formats of the types that are floating-point numbers
FORMATS = {
    DataType.FLOAT16: Format(exponent=5, fraction=10),
    DataType.BFLOAT16: Format(exponent=8, fraction=7),
    DataType.FLOAT32: FLOAT32,
    DataType.FLOAT64: Format(exponent=11, fraction=52),
}


def joined(formats: Iterable[Format]) -> Format:
    """The narrowest format that has room for the fields of all of ``formats``.

    A number of one of them lies in it with its exponent field as it is and its fraction at the top. It need not be the
    number that those bits mean in the joined format: the exponents of both count from different biases. A sum never
    asks for the bias, only where exponents begin (1) and end (``top_exponent`` of the number's own format).
    """
    formats = tuple(formats)
    return Format(exponent=max(each.exponent for each in formats), fraction=max(each.fraction for each in formats))
