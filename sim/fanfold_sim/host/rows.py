"""Rows of elements, one for each core of the cluster: made up, or read from a file."""

from pathlib import Path

import numpy as np

from fanfold.codes import DataType, Operator

from ..elements import NUMPY_TYPES
from .made_up import made_up_elements

__all__ = ["WorkloadError", "load_rows", "made_up_rows"]

#: the largest data that is made up or read, all cores together
_MOST_BYTES = 4 << 30


class WorkloadError(ValueError):
    """Data cannot be used; the message names what was given and what is allowed."""


def made_up_rows(
    data_type: DataType, cores: int, row_bytes: int, seed: int, operator: Operator = Operator.SUM
) -> np.ndarray:
    """Random rows, fit for ``operator``.

    Raises ``WorkloadError`` when the bytes are no whole number of elements, or too many.
    """
    size = data_type.element_bytes
    if row_bytes < size or row_bytes % size:
        raise WorkloadError(
            f"{row_bytes} bytes for each core: it must be a whole number of {data_type.name.lower()} "
            f"elements of {_count(size)}, at least one"
        )
    if cores * row_bytes > _MOST_BYTES:
        raise WorkloadError(f"{row_bytes} bytes for each of {cores} cores: all together must be at most {_MOST_BYTES}")
    return made_up_elements(operator, data_type, (cores, row_bytes // size), seed)


def load_rows(path: Path, cores: int, data_type: DataType | None) -> tuple[np.ndarray, DataType]:
    """The rows in a ``.npy`` file and their type; ``data_type`` is what they must be, if given.

    A pair is a structure of two numbers, whatever their names and the padding around them. NumPy has no bfloat16: rows
    of uint16 are taken for its bits when it is the ``data_type``, and so are the two bytes without a meaning that NumPy
    makes of other packages' bfloat16 when it saves them. Raises ``WorkloadError``.
    """
    try:
        rows = np.load(path, mmap_mode=None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "no .npy file of numbers"
        raise WorkloadError(f"{path}: {reason}") from None
    if not isinstance(rows, np.ndarray):
        raise WorkloadError(f"{path}: an archive; it must be one array (.npy)")
    if data_type is DataType.BFLOAT16 and rows.dtype == np.dtype("V2"):
        rows = rows.view("<u2")
    found = [kind for kind, dtype in NUMPY_TYPES.items() if _holds(rows.dtype, dtype)]
    if not found:
        raise WorkloadError(f"{path}: its elements are {rows.dtype}: types are {_types()}")
    if data_type is not None and data_type not in found:
        raise WorkloadError(f"{path}: its elements are {rows.dtype}, but the type is {data_type.name.lower()}")
    if rows.ndim != 2 or rows.shape[0] != cores or not rows.shape[1]:
        shape = " x ".join(map(str, rows.shape)) or "a single number"
        raise WorkloadError(f"{path}: its shape is {shape}: it must be {cores} x N, a row for each core, N at least 1")
    kind = data_type or found[0]
    return _as_elements(rows, NUMPY_TYPES[kind]), kind


def _holds(given: np.dtype, wanted: np.dtype) -> bool:
    """Whether an array of ``given`` has the numbers of ``wanted``, in either byte order."""
    if wanted.names is None or given.names is None:
        return given.newbyteorder("<") == wanted
    if len(given.names) != len(wanted.names):
        return False
    return all(_holds(given[at], wanted[at]) for at in range(len(wanted.names)))


def _as_elements(rows: np.ndarray, wanted: np.dtype) -> np.ndarray:
    if wanted.names is None:
        return np.ascontiguousarray(rows, dtype=wanted)
    elements = np.zeros(rows.shape, wanted)
    assert rows.dtype.names is not None
    for name, given in zip(wanted.names, rows.dtype.names, strict=True):
        elements[name] = rows[given]
    return elements


def _types() -> str:
    return ", ".join(kind.name.lower() for kind in NUMPY_TYPES)


def _count(size: int) -> str:
    return f"{size} byte{'s' if size > 1 else ''}"
