"""The formats of floating-point numbers, by the widths of their fields."""

from dataclasses import dataclass

from amaranth.lib import data

__all__ = ["FLOAT32", "Format"]


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
