"""Two judges of what a lane makes of a block of elements, and the check that asks both.

NumPy judges every element: ``fold_arrays`` lets the processor calculate. A sample of the block goes to Berkeley
SoftFloat, which calculates in whole numbers and shares nothing with either; what is no arithmetic of floating-point
numbers goes to ``combine``, the reference in plain Python.
"""

from collections.abc import Callable

import numpy as np
import softfloatpy as soft

from fanfold.codes import DataType, Operator
from fanfold_sim.reference.arithmetic import combine, fold_arrays

__all__ = ["Wrong", "check", "check_mixed", "numbers", "second_judge"]

_NEAREST_EVEN = 0


class Wrong(AssertionError):
    """A result is not what a judge expects, or the judges disagree; the message says which."""


def check(lane, operator: Operator, data_type: DataType, a, b, *, sample: int, rng: np.random.Generator) -> None:
    """Folds ``a`` and ``b`` in ``lane``, and raises ``Wrong`` unless both judges agree with what comes out: NumPy with
    all of it, the other with ``sample`` elements of it."""
    found = _folded(lane, operator, data_type, a, b)
    expected = fold_arrays(operator, data_type, a, b)
    _compare(operator, data_type, a, b, found, expected)
    chosen = rng.integers(0, len(a), sample) if sample < len(a) else np.arange(len(a))
    left, right, bits = (numbers(each[chosen]) for each in (a, b, found))
    for x, y, z in zip(left, right, bits, strict=True):
        other = second_judge(operator, data_type, x, y)
        if other != z:
            raise Wrong(f"judges disagree: {_shown(operator, data_type, x, y)} = {z:#x}, the second says {other:#x}")


def check_mixed(lane, choices: list[tuple[Operator, DataType]], chosen, combines, a, b) -> None:
    """Words ``a`` and ``b``, each by the operator and type that ``chosen`` picks of ``choices``, in one go through the
    pipeline; raises ``Wrong`` unless NumPy agrees with all, and those without ``combines`` are as in ``a``."""
    operators, types = (np.array([pair[at].value for pair in choices], np.uint8)[chosen] for at in (0, 1))
    found = lane.fold_mixed(operators, types, combines, a, b)
    if not np.array_equal(found[combines == 0], a[combines == 0]):
        raise Wrong("a word that was not to be combined did not stay as it was")
    for index, (operator, data_type) in enumerate(choices):
        mine = (chosen == index) & (combines != 0)
        left, right, bits = (_elements(data_type, each[mine]) for each in (a, b, found))
        _compare(operator, data_type, left, right, bits, fold_arrays(operator, data_type, left, right))


def numbers(elements: np.ndarray) -> list[int]:
    """Elements as Python has them; the two words of a 16-byte pair as one number."""
    if elements.ndim == 1:
        return elements.tolist()
    return [low | high << 64 for low, high in elements.tolist()]


def second_judge(operator: Operator, data_type: DataType, a: int, b: int) -> int:
    """What SoftFloat makes of two floating-point numbers, or ``combine`` of other elements."""
    if data_type not in _SOFT:
        return combine(operator, data_type, a, b)
    number, functions, nan = _SOFT[data_type]
    size = data_type.element_bytes
    x, y = (number.from_bytes(bits.to_bytes(size, "big")) for bits in (a, b))
    if operator in (Operator.MIN, Operator.MAX):
        return nan if x.is_nan() or y.is_nan() else _extreme(functions, operator, data_type, (a, x), (b, y))
    result = functions[operator](x, y)
    return nan if result.is_nan() else int.from_bytes(result.to_bytes(), "big")


def _folded(lane, operator, data_type, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The lane takes whole words: zeros fill up the last."""
    left, right = a.reshape(-1), b.reshape(-1)
    if missing := -left.nbytes % 8:
        left, right = (np.concatenate([each, np.zeros(missing // each.itemsize, each.dtype)]) for each in (left, right))
    return lane.fold(operator, data_type, left, right)[: a.size].reshape(a.shape)


def _elements(data_type: DataType, words: np.ndarray) -> np.ndarray:
    if data_type.element_bytes > 8:
        return words.reshape(-1, 2)
    return np.ascontiguousarray(words).view(f"<u{data_type.element_bytes}")


def _compare(operator, data_type, a, b, found, expected) -> None:
    wrong = found != expected
    if not wrong.any():
        return
    where = np.flatnonzero(wrong.any(axis=1) if wrong.ndim == 2 else wrong)
    shown = []
    for at in where[:3]:
        x, y, z, w = (numbers(each[at : at + 1])[0] for each in (a, b, found, expected))
        shown.append(f"{_shown(operator, data_type, x, y)} = {z:#x}, expected {w:#x}")
    raise Wrong(f"{len(where)} of {len(a)} wrong: {'; '.join(shown)}")


def _shown(operator, data_type, a: int, b: int) -> str:
    return f"{operator.name} of {data_type.name} {a:#x} and {b:#x}"


# ----------------------------------------------------------------------------------------------------------- SoftFloat


def _extreme(functions, operator, data_type, first, second) -> int:
    """Of numbers that compare as equal and differ, the zeros, -0 is the lesser."""
    (a, x), (b, y) = first, second
    less = functions["lt"](x, y) or (not functions["lt"](y, x) and bool(a >> (8 * data_type.element_bytes - 1)))
    return a if less == (operator is Operator.MIN) else b


def _wider(function: Callable) -> Callable:
    """SoftFloat converts bfloat16, but calculates in float32; rounding twice gives what rounding once does, for float32
    has more than twice the digits."""
    return lambda x, y: soft.f32_to_bf16(function(soft.bf16_to_f32(x), soft.bf16_to_f32(y)))


def _functions(prefix: str) -> dict:
    names = {Operator.SUM: "add", Operator.PROD: "mul", "lt": "lt_quiet"}
    return {key: getattr(soft, f"{prefix}_{name}") for key, name in names.items()}


_SINGLE = _functions("f32")
#: the class of a number, what calculates, and the canonical NaN
_SOFT = {
    DataType.FLOAT16: (soft.Float16, _functions("f16"), 0x7E00),
    DataType.BFLOAT16: (
        soft.BFloat16,
        {
            **{operator: _wider(_SINGLE[operator]) for operator in (Operator.SUM, Operator.PROD)},
            "lt": lambda x, y: _SINGLE["lt"](soft.bf16_to_f32(x), soft.bf16_to_f32(y)),
        },
        0x7FC0,
    ),
    DataType.FLOAT32: (soft.Float32, _SINGLE, 0x7FC00000),
    DataType.FLOAT64: (soft.Float64, _functions("f64"), 0x7FF8000000000000),
}
assert soft.get_rounding_mode() == _NEAREST_EVEN
