"""Elements as NumPy and people have them: dtypes, the numbers a pair is made of, corner values, and how they print.

What an element's bits mean follows from its type's name alone; nothing here folds.
"""

import numpy as np

from fanfold.codes import DataType

__all__ = ["NUMPY_TYPES", "corners", "parts", "shown"]


def parts(data_type: DataType) -> tuple[DataType, ...]:
    """The numbers of an element as they follow each other: a pair's value and index, or the type itself."""
    return tuple(DataType[name] for name in data_type.name.split("_"))


def _numpy_number(data_type: DataType) -> np.dtype:
    """NumPy has no bfloat16 of its own: its bits are taken for whole numbers."""
    kind = "f" if data_type.floating and data_type is not DataType.BFLOAT16 else "i" if _signed(data_type) else "u"
    return np.dtype(f"<{kind}{data_type.element_bytes}")


def _numpy_type(data_type: DataType) -> np.dtype:
    numbers = [_numpy_number(part) for part in parts(data_type)]
    if not data_type.pair:
        return numbers[0]
    return np.dtype(
        {
            "names": ["value", "index"],
            "formats": numbers,
            "offsets": [0, numbers[0].itemsize],
            "itemsize": data_type.element_bytes,
        }
    )


def _signed(data_type: DataType) -> bool:
    return data_type.name.startswith("INT")


#: every element type as NumPy has it: little-endian; bfloat16 as the bits of unsigned numbers, pairs as structures
NUMPY_TYPES: dict[DataType, np.dtype] = {member: _numpy_type(member) for member in DataType}

#: bits of the exponent of each floating-point format
_EXPONENT_BITS = {DataType.FLOAT16: 5, DataType.BFLOAT16: 8, DataType.FLOAT32: 8, DataType.FLOAT64: 11}


def corners(data_type: DataType) -> list[int]:
    """The values of a number's type at which arithmetic goes wrong, as bits; not for pairs.

    Whole numbers: 0, 1, -1, the ends of both ranges, single bits and alternating ones. Floating point, of both signs:
    zero, infinity, NaNs quiet and signalling, 1 and its neighbours, the ends of the subnormals and of the normals, and
    the first number after which the next whole number has no place. The most telling come first.
    """
    bits = 8 * data_type.element_bytes
    ones = (1 << bits) - 1
    top = 1 << (bits - 1)
    if not data_type.floating:
        return [0, 1, ones, top, top - 1, 2, ones - 1, top + 1, top >> 1, ones // 3, ones // 3 * 2]
    fraction_bits = bits - 1 - _EXPONENT_BITS[data_type]
    hidden = 1 << fraction_bits
    infinity = top - hidden
    one = infinity // 2 // hidden * hidden
    quiet = infinity | hidden >> 1
    last_whole = one + (fraction_bits + 1) * hidden
    magnitudes = [
        *(0, infinity, infinity + 1, one, quiet, quiet + 1, top - 1, 1, hidden - 1, hidden, hidden + 1, infinity - 1),
        *(one - 1, one + 1, one + hidden, last_whole),
    ]
    return [magnitude | sign for magnitude in magnitudes for sign in (0, top)]


def shown(data_type: DataType, raw: bytes) -> str:
    """One element in words and bits: ``-0.5 (0xbf000000)``, ``-0.5 (0xbf000000) at index 3``."""
    numbers: list[str] = []
    at = 0
    for part in parts(data_type):
        numbers.append(_number_shown(part, raw[at : at + part.element_bytes]))
        at += part.element_bytes
    if not data_type.pair:
        return numbers[0]
    value, index = numbers
    padding = f", padding {raw[at:].hex(' ')}" if any(raw[at:]) else ""
    return f"{value} at index {index}{padding}"


def _number_shown(data_type: DataType, raw: bytes) -> str:
    bits = int.from_bytes(raw, "little")
    if data_type is DataType.BFLOAT16:
        value = np.array(bits << 16, "<u4").view("<f4")[()]
    else:
        value = np.frombuffer(raw, NUMPY_TYPES[data_type])[0]
    return f"{value!s} ({bits:#0{2 + 2 * len(raw)}x})"
