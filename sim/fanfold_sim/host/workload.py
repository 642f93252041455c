"""What the cores bring to a collective, and what each must get: data from a file or made up, results by reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fanfold.codes import Collective, DataType, Operator

from ..reference.arithmetic import fold_tree
from ..topology import CoreGroup
from .tree import NicTree

__all__ = ["NUMPY_TYPES", "Mismatch", "Workload", "WorkloadError", "expected_result", "first_mismatch",
           "group_vectors", "load_rows",
           "made_up_rows"]  # fmt: skip

#: element types as NumPy has them
NUMPY_TYPES: dict[DataType, np.dtype] = {
    DataType["INT32"]: np.dtype("<i4"),
    DataType["UINT32"]: np.dtype("<u4"),
    DataType["FLOAT32"]: np.dtype("<f4"),
}

#: the largest data that is made up or read, all cores together
_MOST_BYTES = 4 << 30


class WorkloadError(ValueError):
    """Data cannot be used; the message names what was given and what is allowed."""


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


def made_up_rows(data_type: DataType, cores: int, row_bytes: int, seed: int) -> np.ndarray:
    """Random rows. Floats have exponents far apart, so that sums in another order have other bits.

    Raises ``WorkloadError`` when the bytes are no whole number of elements.
    """
    if data_type not in NUMPY_TYPES:
        raise WorkloadError(f"no data of type {data_type.name.lower()} can be made up: {_known_types()}")
    size = data_type.element_bytes
    if row_bytes < size or row_bytes % size:
        raise WorkloadError(
            f"{row_bytes} bytes for each core: it must be a whole number of {data_type.name.lower()} "
            f"elements of {size} bytes, at least one"
        )
    if cores * row_bytes > _MOST_BYTES:
        raise WorkloadError(f"{row_bytes} bytes for each of {cores} cores: all together must be at most {_MOST_BYTES}")
    random = np.random.default_rng(seed)
    shape = (cores, row_bytes // size)
    dtype = NUMPY_TYPES[data_type]
    if dtype.kind == "f":
        exponents = random.integers(-12, 13, shape)
        return np.ldexp(random.uniform(-1, 1, shape), exponents).astype(dtype)
    limits: Any = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)


def load_rows(path: Path, cores: int, data_type: DataType | None) -> tuple[np.ndarray, DataType]:
    """The rows in a ``.npy`` file and their type; ``data_type`` is what they must be, if given.

    Raises ``WorkloadError``.
    """
    try:
        rows = np.load(path, mmap_mode=None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "no .npy file of numbers"
        raise WorkloadError(f"{path}: {reason}") from None
    if not isinstance(rows, np.ndarray):
        raise WorkloadError(f"{path}: an archive; it must be one array (.npy)")
    found = next((kind for kind, dtype in NUMPY_TYPES.items() if rows.dtype.newbyteorder("<") == dtype), None)
    if found is None:
        raise WorkloadError(f"{path}: its elements are {rows.dtype}: {_known_types()}")
    if data_type is not None and found is not data_type:
        raise WorkloadError(f"{path}: its elements are {rows.dtype}, but the type is {data_type.name.lower()}")
    if rows.ndim != 2 or rows.shape[0] != cores or not rows.shape[1]:
        shape = " x ".join(map(str, rows.shape)) or "a single number"
        raise WorkloadError(f"{path}: its shape is {shape}: it must be {cores} x N, a row for each core, N at least 1")
    return np.ascontiguousarray(rows, dtype=NUMPY_TYPES[found]), found


def _known_types() -> str:
    return f"types are {', '.join(kind.name.lower() for kind in NUMPY_TYPES)}"


def _fold(workload: Workload, parts: Sequence[bytes]) -> bytes:
    return fold_tree(workload.operator, workload.data_type, parts, 1 << (len(parts) - 1).bit_length())


def group_vectors(workload: Workload, groups: Sequence[CoreGroup], first_row: int) -> list[bytes]:
    """What the leaders of one node hold once their members' data is in: rows from ``first_row`` on are its cores'."""
    rows = workload.rows
    if rows is None:
        return [b""] * len(groups)
    return [_fold(workload, [rows[first_row + core].tobytes() for core in group.cores]) for group in groups]


def expected_result(workload: Workload, vectors: Sequence[Sequence[bytes]], tree: NicTree) -> bytes:
    """What every core must get, from the leaders' vectors of each node: the tree of each NIC, from the leaves up."""
    if workload.rows is None:
        return b""
    partial: list[bytes] = [b""] * tree.nodes
    for node in reversed(range(tree.nodes)):
        partial[node] = _fold(workload, [*vectors[node], *(partial[child] for child in tree.children(node))])
    return partial[0]


def first_mismatch(workload: Workload, results: np.ndarray, expected: bytes, node_cores: int) -> Mismatch | None:
    """Compares the bits of all cores' results (a row of bytes each) with what is expected."""
    if workload.rows is None:
        return None
    unsigned = np.dtype(f"<u{workload.data_type.element_bytes}")
    wanted = np.frombuffer(expected, unsigned)
    got = results.view(unsigned)
    wrong = got != wanted
    if not wrong.any():
        return None
    row, element = (int(number) for number in np.argwhere(wrong)[0])
    dtype = NUMPY_TYPES[workload.data_type]

    def shown(bits) -> str:
        return f"{bits.view(dtype)!s} ({int(bits):#0{2 + 2 * dtype.itemsize}x})"

    return Mismatch(
        *divmod(row, node_cores), element, shown(wanted[element]), shown(got[row, element]), int(wrong.sum())
    )
