"""What the cores bring to a collective, and what each must get: the result by reference, compared bit by bit."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fanfold.codes import Collective, DataType, Operator

from ..elements import shown
from ..reference.arithmetic import fold_tree
from ..topology import CoreGroup
from .tree import NicTree

__all__ = ["Mismatch", "Workload", "combine", "expected_result", "first_mismatch", "group_vectors"]


@dataclass(frozen=True)
class Workload:
    """One collective: ``rows`` has a row of elements for each core, node by node; a barrier has none."""

    collective: Collective
    operator: Operator = Operator["SUM"]
    data_type: DataType = DataType["INT32"]
    rows: np.ndarray | None = None

    @property
    def row_bytes(self) -> int:
        """Bytes that each core brings, and gets."""
        return 0 if self.rows is None else self.rows.shape[1] * self.data_type.element_bytes


@dataclass(frozen=True)
class Mismatch:
    """A core's result that is not the reference's, at its first differing element."""

    node: int
    core: int
    element: int
    expected: str
    got: str
    #: elements that differ, over all cores
    count: int

    def __str__(self):
        return (
            f"node {self.node} core {self.core}, element {self.element}: expected {self.expected}, got {self.got} "
            f"({self.count} element{'s' if self.count > 1 else ''} differ in all)"
        )


def combine(workload: Workload, parts: Sequence[bytes]) -> bytes:
    """``parts`` in the order of a NIC whose contributors they are; nothing for a barrier."""
    if workload.rows is None:
        return b""
    return fold_tree(workload.operator, workload.data_type, parts, 1 << (len(parts) - 1).bit_length())


def group_vectors(workload: Workload, groups: Sequence[CoreGroup], first_row: int) -> list[bytes]:
    """What the leaders of one node hold once their members' data is in: rows from ``first_row`` on are its cores'."""
    rows = workload.rows
    if rows is None:
        return [b""] * len(groups)
    return [combine(workload, [rows[first_row + core].tobytes() for core in group.cores]) for group in groups]


def expected_result(workload: Workload, vectors: Sequence[Sequence[bytes]], tree: NicTree) -> bytes:
    """What every core must get, from the leaders' vectors of each node: the tree of each NIC, from the leaves up."""
    if workload.rows is None:
        return b""
    partial: list[bytes] = [b""] * tree.nodes
    for node in reversed(range(tree.nodes)):
        partial[node] = combine(workload, [*vectors[node], *(partial[child] for child in tree.children(node))])
    return partial[0]


def first_mismatch(workload: Workload, results: np.ndarray, expected: bytes, node_cores: int) -> Mismatch | None:
    """Compares the bits of all cores' results (a row of bytes each) with what is expected."""
    if workload.rows is None:
        return None
    size = workload.data_type.element_bytes
    word = min(size, 8)  # NumPy has no larger one
    wanted, got = (
        bits.view(f"<u{word}").reshape(*bits.shape[:-1], -1, size // word)
        for bits in (np.frombuffer(expected, np.uint8), results)
    )
    wrong = (got != wanted).any(axis=-1)
    if not wrong.any():
        return None
    row, element = (int(number) for number in np.argwhere(wrong)[0])
    node, core = divmod(row, node_cores)
    return Mismatch(
        node=node,
        core=core,
        element=element,
        expected=shown(workload.data_type, wanted[element].tobytes()),
        got=shown(workload.data_type, got[row, element].tobytes()),
        count=int(wrong.sum()),
    )
