"""Which of the built types the elements of a lane have: one bit each, decoded once and carried beside the data."""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data

from ...codes import DataType, Operator, defined
from ...config import Config

__all__ = ["choice_layout", "choose", "decode", "integer_bits", "multiplied"]


def multiplied(config: Config) -> tuple[DataType, ...]:
    """The types of an instance that have products: all but pairs."""
    return tuple(each for each in config.types if defined(Operator.PROD, each))


def integer_bits(config: Config) -> tuple[int, ...]:
    """The widths of the integer types of an instance: products of signed and unsigned ones have the same bits."""
    return tuple(sorted({8 * each.element_bytes for each in multiplied(config) if not each.floating}))


def choice_layout(config: Config) -> data.StructLayout:
    """A bit for each floating-point type and each width of integers, by their names: ``float16``, ``integer32``."""
    return data.StructLayout({name: 1 for name in sorted({_name(each) for each in multiplied(config)})})


def decode(config: Config, data_type: Value) -> dict[str, Value]:
    """The fields of a choice. The type is known to be a built one that has products, so only the bits that tell those
    apart are looked at, and an instance with one of them has a constant."""
    built = multiplied(config)
    telling = max(each.value for each in built).bit_length()
    codes = Value.cast(data_type)[:telling]
    found = {}
    for name in choice_layout(config).members:
        members = [each for each in built if _name(each) == name]
        everything = len(members) == len(built)
        found[name] = C(1, 1) if everything else Cat(codes == each.value for each in members).any()
    return found


def choose(choice: data.View, values: Mapping[DataType, Value]) -> Value:
    """The value of the type that is chosen; anything when it is none of them.

    What there is only one value for is that value, whatever is chosen.
    """
    if len(values) == 1:
        return next(iter(values.values()))
    masked = [Value.cast(value) & choice[_name(each)].replicate(len(value)) for each, value in values.items()]
    return reduce(or_, masked)


def _name(each: DataType) -> str:
    return each.name.lower() if each.floating else f"integer{8 * each.element_bytes}"
