"""Payloads at which arithmetic goes wrong: corner values of the element type among random bits."""

import random

from fanfold.codes import DataType

from ..elements import corners, parts

__all__ = ["corner_payload"]

#: elements that a payload is drawn from: so few that two payloads often have the same value at the same place
_POOL = 24
#: values of pairs: fewer still, for there the indices of equal values are what counts
_TIES = 8
#: indices of pairs, besides random ones: small, equal, negative
_INDICES = (0, 1, 2, 3, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def corner_payload(choices: random.Random, data_type: DataType | int, length: int) -> bytes:
    """``length`` bytes of elements, about half of them corner values of ``data_type``, the others random bits.

    A rest that is no whole element is random, and so is everything when the type is a number that is no type.
    """
    if not isinstance(data_type, DataType):
        return choices.randbytes(length)
    make = _pair if data_type.pair else _number
    pool = [make(choices, data_type) for _ in range(_POOL)]
    count, rest = divmod(length, data_type.element_bytes)
    return b"".join(choices.choices(pool, k=count)) + choices.randbytes(rest)


def _number(choices: random.Random, data_type: DataType) -> bytes:
    size = data_type.element_bytes
    if choices.random() < 0.5:
        return choices.randbytes(size)
    return choices.choice(_CORNERS[data_type]).to_bytes(size, "little")


def _pair(choices: random.Random, data_type: DataType) -> bytes:
    """A value that others are likely to have too, or random bits; its index; what C leaves in the padding."""
    value, index = parts(data_type)
    if choices.random() < 0.25:
        return choices.randbytes(data_type.element_bytes)
    element = choices.choice(_CORNERS[value][:_TIES]).to_bytes(value.element_bytes, "little")
    element += choices.choice(_INDICES).to_bytes(index.element_bytes, "little")
    return element + choices.randbytes(data_type.element_bytes - len(element))


_CORNERS = {kind: corners(kind) for kind in DataType if not kind.pair}
