"""What cores bring: made-up rows whose results tell something, and rows from files of every type."""

import functools

import numpy as np
import pytest

from fanfold.codes import DataType, Operator, defined
from fanfold_sim.elements import NUMPY_TYPES, parts
from fanfold_sim.host.rows import WorkloadError, load_rows, made_up_rows
from fanfold_sim.reference.arithmetic import fold_bytes, fold_tree

PAIRS = [(operator, kind) for operator in Operator for kind in DataType if defined(operator, kind)]
CORES = 96


def named(pair):
    return pair.name.lower() if isinstance(pair, Operator | DataType) else None


def bits_of(rows: np.ndarray) -> np.ndarray:
    return np.unpackbits(np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1), axis=1)


@pytest.mark.parametrize(("operator", "kind"), PAIRS, ids=named)
def test_results_tell_something(operator, kind):
    """A NIC that gives one core's row, zeros, or all ones would be found out."""
    size = 64
    rows = made_up_rows(kind, CORES, size * kind.element_bytes, 5, operator)
    assert (rows.shape, rows.dtype) == ((CORES, size), NUMPY_TYPES[kind])
    again = made_up_rows(kind, CORES, size * kind.element_bytes, 5, operator)
    other = made_up_rows(kind, CORES, size * kind.element_bytes, 6, operator)
    assert rows.tobytes() == again.tobytes() != other.tobytes()
    payload = fold_tree(operator, kind, [row.tobytes() for row in rows], 128)
    result = np.frombuffer(payload, NUMPY_TYPES[kind])
    if operator.name in ("LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR"):
        logical = operator.name[0] == "L"
        found = result != 0 if logical else bits_of(result.reshape(1, -1))
        assert 0.2 < np.mean(found) < 0.8
    elif kind.pair:
        assert set(rows["index"][:, 0]) == set(range(CORES))
        assert len(set(result["index"])) > size / 8
        best = (rows["value"] == result["value"]).sum(axis=0)
        assert np.mean(best > 1) > 0.9, "ties"
    else:
        assert len(set(result.tolist())) > (size / 8 if operator.name in ("MIN", "MAX") else size / 2)
        if kind.floating and kind is not DataType.BFLOAT16:
            assert np.isfinite(result).all() and np.mean(result == 0) < 0.1


@pytest.mark.parametrize("kind", [kind for kind in DataType if kind.floating], ids=named)
def test_made_up_sums_tell_orders_apart(kind):
    parts = [row.tobytes() for row in made_up_rows(kind, CORES, 64 * kind.element_bytes, 1)]
    running = functools.reduce(functools.partial(fold_bytes, Operator.SUM, kind), parts)
    in_tree = fold_tree(Operator.SUM, kind, parts, 128)
    unsigned = f"<u{kind.element_bytes}"
    differ = np.frombuffer(running, unsigned) != np.frombuffer(in_tree, unsigned)
    assert np.mean(differ) > 0.4


@pytest.mark.parametrize("row_bytes", [0, 15, 17])
def test_rows_of_no_whole_number_of_elements(row_bytes):
    with pytest.raises(WorkloadError, match=f"{row_bytes} bytes for each core: .* float64_int32 elements of 16 bytes"):
        made_up_rows(DataType.FLOAT64_INT32, 4, row_bytes, 0)


def saved(path, rows):
    np.save(path / "rows.npy", rows)
    return path / "rows.npy"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", DataType, ids=named)
def test_rows_from_a_file(tmp_path, kind, order):
    rows = made_up_rows(kind, 3, 5 * kind.element_bytes, 2)
    path = saved(tmp_path, rows.astype(rows.dtype.newbyteorder(order)))
    given = None if kind is not DataType.BFLOAT16 else kind
    found, found_kind = load_rows(path, 3, given)
    assert found_kind is kind and found.dtype == NUMPY_TYPES[kind]
    assert found.tobytes() == rows.tobytes()
    assert load_rows(path, 3, kind)[0].tobytes() == rows.tobytes()


def test_whole_numbers_are_bfloat16_only_where_asked_for(tmp_path):
    path = saved(tmp_path, np.array([[0x3F80, 0xC000]], "<u2"))
    assert load_rows(path, 1, None)[1] is DataType.UINT16
    assert load_rows(path, 1, DataType.BFLOAT16)[1] is DataType.BFLOAT16


def test_bytes_without_a_meaning_are_bfloat16_where_asked_for(tmp_path):
    """What ``numpy.save`` makes of a dtype that it does not know, such as that of ml_dtypes."""
    path = saved(tmp_path, np.array([[0x3F80, 0xC000]], "<u2").view("V2"))
    found, _ = load_rows(path, 1, DataType.BFLOAT16)
    assert found.tolist() == [[0x3F80, 0xC000]]
    with pytest.raises(WorkloadError, match=r"its elements are \|V2: types are int8, "):
        load_rows(path, 1, None)


@pytest.mark.parametrize("kind", [kind for kind in DataType if kind.pair], ids=named)
@pytest.mark.parametrize("aligned", [False, True])
def test_pairs_by_other_names_and_with_other_padding(tmp_path, kind, aligned):
    """A structure as C has it, or without padding; padding that holds something goes as zeros."""
    numbers = [NUMPY_TYPES[part] for part in parts(kind)]
    dtype = np.dtype(list(zip(("mass", "rank"), numbers, strict=True)), align=aligned)
    rows = np.frombuffer(bytes(range(1, 6 * dtype.itemsize + 1)), dtype).reshape(2, 3)
    found, found_kind = load_rows(saved(tmp_path, rows), 2, None)
    assert found_kind is kind and found.dtype == NUMPY_TYPES[kind]
    assert found["value"].tobytes() == rows["mass"].tobytes()
    assert found["index"].tobytes() == rows["rank"].tobytes()
    used = sum(number.itemsize for number in numbers)
    assert not any(any(element.tobytes()[used:]) for element in found.flat)


@pytest.mark.parametrize(
    ("dtype", "kind", "message"),
    [
        ("<f4", DataType.INT32, "its elements are float32, but the type is int32"),
        ("<i2", DataType.BFLOAT16, "its elements are int16, but the type is bfloat16"),
        ("<c8", None, "its elements are complex64: types are int8, .*, float64_int32"),
        ([("value", "<i4"), ("index", "<f4")], None, "its elements are .*value.*: types are int8"),
        ([("value", "<f4"), ("index", "<i4"), ("more", "<i4")], None, "its elements are .*more.*: types are int8"),
        ([("value", "<f4"), ("index", "<i4")], DataType.INT32_INT32, "but the type is int32_int32"),
    ],
)
def test_files_of_other_types(tmp_path, dtype, kind, message):
    with pytest.raises(WorkloadError, match=message):
        load_rows(saved(tmp_path, np.zeros((2, 2), dtype)), 2, kind)
