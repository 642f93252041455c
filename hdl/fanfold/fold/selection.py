"""What a lane is to do: an operator and a type, taken apart into the bits that its parts look at."""

from collections.abc import Iterable

from amaranth import *
from amaranth.lib import data

from ..codes import DataType, Operator
from ..config import Config
from .float.format import FORMATS

__all__ = ["BITWISE", "LOGICAL", "SIZES", "VALUE_FORMATS", "decode", "selection_layout"]

#: bytes that an element, or each half of a pair, can take
SIZES = (1, 2, 4, 8)

LOGICAL = (Operator.LAND, Operator.LOR, Operator.LXOR)
BITWISE = (Operator.BAND, Operator.BOR, Operator.BXOR)
_LOCATED = (Operator.MINLOC, Operator.MAXLOC)
_UNSIGNED = (DataType.UINT8, DataType.UINT16, DataType.UINT32, DataType.UINT64)

#: the format of each type whose elements, or the values of whose pairs, are floating-point numbers
VALUE_FORMATS = FORMATS | {
    DataType.FLOAT32_INT32: FORMATS[DataType.FLOAT32],
    DataType.FLOAT64_INT32: FORMATS[DataType.FLOAT64],
}

#: bytes of each type's elements, or of the values of its pairs
_VALUE_BYTES = {
    **{each: each.element_bytes for each in DataType if not each.pair},
    DataType.FLOAT32_INT32: 4,
    DataType.INT32_INT32: 4,
    DataType.FLOAT64_INT32: 8,
}


def selection_layout() -> data.StructLayout:
    """The first operand, unless one of the first seven bits says what else.

    ``float_sum`` and ``float_product``, ``integer_sum`` and ``integer_product``, ``bitwise`` and ``logical`` with their
    ``function`` (0 and, 1 or, 2 exclusive or), ``extreme``: the ``minimum`` or the greatest. ``unsigned`` and
    ``floating`` say how numbers compare, ``bytes`` (a bit for each of ``SIZES``) how long they are, ``format`` (a bit
    for each of the floating-point types, in their order) what they look like. ``pair``: the upper half of the lane is
    the index of the lower half; ``index``: the lane is the index of the lane before.
    """
    return data.StructLayout(
        {
            "float_sum": 1,
            "float_product": 1,
            "integer_sum": 1,
            "integer_product": 1,
            "bitwise": 1,
            "logical": 1,
            "extreme": 1,
            "function": 2,
            "minimum": 1,
            "unsigned": 1,
            "floating": 1,
            "bytes": len(SIZES),
            "format": len(FORMATS),
            "pair": 1,
            "index": 1,
        }
    )


def decode(config: Config, operator: Value, data_type: Value, combine: Value, half: Value) -> dict[str, Value]:
    """The selection for an operator and a type; bits that an instance cannot need are constant, and cost nothing.

    Both codes are known to be configured ones: only the bits that tell those apart are looked at, so that the others
    need not travel. ``half`` says which half of a 16-byte pair the lane has: 1 is the index.
    """

    def does(*operators: Operator) -> Value:
        return _one_of(operator, operators, config.operators)

    def of(types: Iterable[DataType]) -> Value:
        return _one_of(data_type, tuple(types), config.types)

    floating = of(VALUE_FORMATS)
    integers = of(each for each in DataType if not each.floating)
    index = of([DataType.FLOAT64_INT32]) & half
    bytes_of = {
        size: of(each for each in DataType if _VALUE_BYTES[each] == size) for size in SIZES
    }  # the value of a 16-byte pair has 8 bytes, its index 4
    return {
        "float_sum": combine & does(Operator.SUM) & floating,
        "float_product": combine & does(Operator.PROD) & floating,
        "integer_sum": combine & does(Operator.SUM) & integers,
        "integer_product": combine & does(Operator.PROD) & integers,
        "bitwise": combine & does(*BITWISE),
        "logical": combine & does(*LOGICAL),
        "extreme": combine & does(Operator.MIN, Operator.MAX, *_LOCATED),
        "function": Cat(does(Operator.LOR, Operator.BOR), does(Operator.LXOR, Operator.BXOR)),
        "minimum": does(Operator.MIN, Operator.MINLOC) | index,
        "unsigned": of(_UNSIGNED),
        "floating": floating & ~index,
        "bytes": Cat(bytes_of[1], bytes_of[2], bytes_of[4] | index, bytes_of[8] & ~index),
        "format": Cat(of(each for each, form in VALUE_FORMATS.items() if form == FORMATS[kind]) for kind in FORMATS),
        "pair": of([DataType.FLOAT32_INT32, DataType.INT32_INT32]),
        "index": index,
    }


def _one_of(code: Value, members: tuple, built: tuple) -> Value:
    """Whether ``code``, one of ``built``, is one of ``members``."""
    chosen = [member for member in members if member in built]
    if len(chosen) == len(built):
        return C(1, 1)
    telling = max(member.value for member in built).bit_length()
    return Cat(Value.cast(code)[:telling] == member.value for member in chosen).any()
