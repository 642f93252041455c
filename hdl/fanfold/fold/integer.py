"""Whole numbers, and the order of all numbers: what an element can be besides a floating-point sum."""

from amaranth import *
from amaranth.lib import data

from ..codes import DataType, Operator

__all__ = ["FLOATS", "INTEGERS", "UNSIGNED", "choose", "decode", "selection_layout"]

INTEGERS = (DataType.INT32, DataType.UINT32)
UNSIGNED = (DataType.UINT32,)
FLOATS = (DataType.FLOAT32,)


def selection_layout() -> data.StructLayout:
    """What an element is to be: the first operand unless one of ``float_sum``, ``integer_sum`` and ``extreme``.

    The rest says which order counts: ``minimum`` the least of two instead of the greatest, of ``unsigned`` or
    ``floating`` numbers or, with neither, of signed ones.
    """
    return data.StructLayout(
        {"float_sum": 1, "integer_sum": 1, "extreme": 1, "minimum": 1, "unsigned": 1, "floating": 1}
    )


def decode(operators, types, operator: Value, data_type: Value, combine: Value) -> dict:
    """The selection for an operator and a type; bits that an instance cannot need are constant, and cost nothing.

    Both codes are known to be configured ones: only the bits that tell those apart are looked at, so that the others
    need not travel.
    """

    def one_of(code, members, built):
        chosen = [member for member in members if member in built]
        if len(chosen) == len(built):
            return C(1, 1)
        telling = max(member.value for member in built).bit_length()
        return Cat(Value.cast(code)[:telling] == member.value for member in chosen).any()

    is_sum = one_of(operator, (Operator.SUM,), operators)
    floating = one_of(data_type, FLOATS, types)
    return {
        "float_sum": combine & is_sum & floating,
        "integer_sum": combine & is_sum & one_of(data_type, INTEGERS, types),
        "extreme": combine & one_of(operator, (Operator.MIN, Operator.MAX), operators),
        "minimum": one_of(operator, (Operator.MIN,), operators),
        "unsigned": one_of(data_type, UNSIGNED, types),
        "floating": floating,
    }


def choose(selection: data.View, a_negative: Value, b_negative: Value, b_larger: int) -> Value:
    """Whether the result is the second of two numbers, when ``b_larger`` is the outcome of their comparison.

    ``a_negative`` and ``b_negative`` are the highest bits; the comparison is that of all others as plain binary. Both
    outcomes are prepared while it runs. A floating-point sum takes the larger magnitude. Of equal numbers either may
    be chosen: their bits are the same. Zeros of both signs are not equal, -0 is less.
    """
    b_greater = Mux(
        a_negative ^ b_negative,
        a_negative ^ selection.unsigned,
        b_larger ^ (selection.floating & a_negative),
    )
    extreme = selection.extreme & (b_greater ^ selection.minimum)
    return Mux(selection.float_sum, b_larger, extreme)
