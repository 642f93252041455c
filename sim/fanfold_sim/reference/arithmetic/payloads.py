"""Payloads combined element by element, and replayed through the tree of the fold."""

from collections.abc import Sequence

from fanfold.codes import DataType, Operator

from .arrays import as_array, fold_arrays
from .elements import check_defined, combine

__all__ = ["fold_bytes", "fold_tree"]

#: payloads with at least this many elements go through NumPy
_VECTOR_ELEMENTS = 8


def fold_bytes(operator: Operator, data_type: DataType, a: bytes, b: bytes) -> bytes:
    """Two payloads of one length, combined element by element.

    Raises ``ValueError`` when the lengths differ or are no whole number of elements, and for an operator that is not
    defined for the type.
    """
    check_defined(operator, data_type)
    size = data_type.element_bytes
    if len(a) != len(b) or len(a) % size:
        raise ValueError(f"payloads of {len(a)} and {len(b)} bytes: they must be equal multiples of {size}")
    if len(a) >= _VECTOR_ELEMENTS * size:
        return fold_arrays(operator, data_type, as_array(data_type, a), as_array(data_type, b)).tobytes()
    folded = bytearray()
    for at in range(0, len(a), size):
        pair = (int.from_bytes(part[at : at + size], "little") for part in (a, b))
        folded += combine(operator, data_type, *pair).to_bytes(size, "little")
    return bytes(folded)


def fold_tree(operator: Operator, data_type: DataType, parts: Sequence[bytes | None], leaves: int) -> bytes:
    """``parts`` by contributor index (None or beyond the end: nobody there) through the tree of ``leaves`` leaves.

    Level 0 combines indices 2i and 2i + 1, level 1 the pairs, and so on; an empty subtree lets its sibling pass
    unchanged. Raises ``ValueError`` when nobody contributes or there are more parts than leaves, and as ``fold_bytes``.
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
