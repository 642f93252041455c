"""The order of a reduction (docs/protocol.md, section 5): a fixed binary tree over the contributors' indices."""

from collections.abc import Mapping

from fanfold.codes import DataType, Operator

from .arithmetic import fold_bytes

__all__ = ["fold"]


def fold(operator: Operator, data_type: DataType, parts: Mapping[int, bytes]) -> bytes:
    """All ``parts``, each at its contributor's index, combined in the tree's order.

    A part that meets nobody goes up unchanged, so the only one is the result bit for bit.
    """
    level = dict(parts)
    while len(level) > 1:
        above: dict[int, bytes] = {}
        for index in sorted(level):
            pair = index // 2
            left = above.get(pair)
            above[pair] = level[index] if left is None else fold_bytes(operator, data_type, left, level[index])
        level = above
    return next(iter(level.values()))
