"""What travels between the parts of a product, and what comes out of it."""

from amaranth.lib import data

from ..float.format import Format

__all__ = ["COUNT_GROUP", "kinds_layout", "product_layout"]

#: leading zeros are counted, and numbers moved, first by groups of this many bits, then within one
COUNT_GROUP = 8


def product_layout(form: Format) -> data.StructLayout:
    """A product before it is rounded, for an adder that calculates in ``form``.

    ``magnitude`` has, from the top: the carry, the hidden bit, the fraction, a guard and a round bit; ``sticky`` says
    that the exact product has ones below those. ``exponent`` is the biased exponent (by the bias of the element's own
    type) of a number whose leading one is the hidden bit. The product is

        magnitude x 2^(exponent - bias - fraction - 2 - distance)

    and with ``sticky`` more than that, by less than one unit of the last bit. ``exponent`` is at least 1; the leading
    one is the carry or the hidden bit, unless the product is zero or that of two subnormals, which is below half of
    the smallest number. ``distance`` is not 0 only where ``exponent`` is 1. A zero has exponent 1 and no sticky bit.

    With ``nan`` no other field has a meaning; otherwise, with ``infinite`` only ``sign`` has. A product is infinite,
    too, when its exponent is beyond the largest of its type; one that the carry or the rounding takes there is not
    marked.
    """
    return data.StructLayout(
        {
            "sticky": 1,
            "magnitude": form.significand + 3,
            "exponent": form.exponent,
            "sign": 1,
            "distance": form.exponent,
            "infinite": 1,
            "nan": 1,
        }
    )


def kinds_layout(form: Format) -> data.StructLayout:
    """What is known of two floating-point operands beside their significands; ``sign`` is that of their product."""
    operand = data.StructLayout(
        {
            #: the exponent field, zero-extended
            "exponent": form.exponent,
            #: the exponent field is 0: a subnormal, or zero
            "subnormal": 1,
            #: the exponent field is its type's largest: an infinity or a NaN
            "special": 1,
            #: the fraction field is not 0
            "filled": 1,
        }
    )
    return data.StructLayout({"a": operand, "b": operand, "sign": 1})
