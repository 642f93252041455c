"""All that a lane does without rounding: integer sums, logic, the least and the greatest, and operands as they are.

In three steps. ``compare`` forms everything that needs the operands side by side, ``decide`` says of each byte where it
comes from, ``choose`` takes it from there. A byte's decision is that of the top byte of its element, for there an
element's comparison ends and its sign stands.
"""

from functools import reduce
from operator import or_
from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data

from ..codes import DataType
from ..config import Config
from .float.classify import classify
from .float.format import FORMATS
from .segments import WORD_BYTES, larger, summed
from .selection import SIZES, VALUE_FORMATS, selection_layout

__all__ = ["LANE_BYTES", "b_larger_at", "choose", "compare", "decide", "kinds_at"]

LANE_BYTES = 8
_WORD = 8 * WORD_BYTES


def _sizes(config: Config) -> list[int]:
    """Bytes that elements, values and indices of this instance can take."""
    sizes = {each.element_bytes for each in config.types if not each.pair}
    if any(each.pair for each in config.types):
        sizes.add(4)
    if DataType.FLOAT64_INT32 in config.types:
        sizes.add(8)
    return sorted(sizes)


def _top(config: Config, selection: data.View, byte: int) -> Value:
    """Whether ``byte`` is the top one of an element."""
    sizes = _sizes(config)
    here = [size for size in sizes if (byte + 1) % size == 0]
    if len(here) in (0, len(sizes)):
        return C(bool(here), 1)
    return Cat(selection.bytes[SIZES.index(size)] for size in here).any()


def _of_element(config: Config, selection: SimpleNamespace, at_tops: dict[int, Value], byte: int) -> Value:
    """What ``at_tops`` has for the element that ``byte`` is part of."""
    value = C(0, 1)
    for size in _sizes(config):
        top = byte | (size - 1)
        if top in at_tops:
            value |= selection.bytes[SIZES.index(size)] & at_tops[top]
    return at_tops[LANE_BYTES - 1] if byte == LANE_BYTES - 1 and byte in at_tops else value


def kinds_at(m: Module, config: Config, operand: Value, name: str) -> dict[tuple[int, DataType], data.View]:
    """What kind of number begins at each bit where a floating-point number can: by that bit and the format's type."""
    kinds = {}
    for form_type, form in FORMATS.items():
        served = [each for each in config.types if VALUE_FORMATS.get(each) == form]
        if not served:
            continue
        for start in range(0, 8 * LANE_BYTES, form.width):
            # of a pair, only the value is one
            if start and all(each.pair for each in served):
                continue
            bits = operand[start : start + form.width]
            kinds[start, form_type] = classify(m, form, bits, f"{name}_{form_type.name.lower()}_{start}")
    return kinds


def compare(m: Module, config: Config, s: data.View, a: Value, b: Value, kinds: tuple[dict, dict]) -> dict:
    """What the operands are to each other, and integer sums; the values at the end of the step ``compare``."""
    tops = [_top(config, s, byte) for byte in range(LANE_BYTES)]
    found: dict = {"a": a, "b": b, "selection": s}
    for word in range(2):
        bits = slice(_WORD * word, _WORD * (word + 1))
        part = tops[WORD_BYTES * word : WORD_BYTES * (word + 1)]
        for byte, bit in enumerate(larger(m, f"difference_{word}", a[bits], b[bits], part), WORD_BYTES * word):
            found[f"larger_{byte}"] = bit
        found[f"sum_{word}"], found[f"carry_{word}"] = summed(m, f"total_{word}", a[bits], b[bits], part)
    found["equal_low"] = a[:_WORD] == b[:_WORD]
    found["alike_high"] = a[_WORD:-1] == b[_WORD:-1]
    found["signs_equal"] = a[-1] == b[-1]
    for byte in range(LANE_BYTES):
        one, both = _nans(s, kinds, byte)
        choices = [_second(s, byte, a[8 * byte + 7], b[8 * byte + 7], b_larger) for b_larger in (0, 1)]
        # where one is a NaN it is the larger magnitude; it is chosen, whatever is looked for
        found[f"second_if_not_{byte}"] = choices[0] & ~one
        found[f"second_if_larger_{byte}"] = choices[1] | (one & s.extreme)
        found[f"nan_{byte}"] = one & s.extreme
        found[f"both_nan_{byte}"] = both
        found[f"true_a_{byte}"] = a.word_select(byte, 8).any()
        found[f"true_b_{byte}"] = b.word_select(byte, 8).any()
    return found


def _nans(s: data.View, kinds: tuple[dict, dict], top: int) -> tuple[Value, Value]:
    """Whether one of the elements that end with byte ``top``, and whether each of them, is a NaN."""
    one: Value = C(0, 1)
    both: Value = C(0, 1)
    for index, (form_type, form) in enumerate(FORMATS.items()):
        at = (8 * top + 8 - form.width, form_type)
        if at in kinds[0]:
            a, b = (each[at].nan for each in kinds)
            here = s.format[index] & s.floating
            if top == LANE_BYTES - 1 and form.width <= _WORD:
                here &= ~s.pair  # there is the index
            one |= here & (a | b)
            both |= here & a & b
    return one, both


def _second(s: data.View, byte: int, a_negative: Value, b_negative: Value, b_larger: int) -> Value:
    """Whether the result is the second of the numbers that end with ``byte``, when ``b_larger`` is the outcome of their
    comparison.

    ``a_negative`` and ``b_negative`` are the highest bits; the comparison is that of all others as plain binary. Both
    outcomes are prepared while it runs. Of equal numbers either may be chosen: their bits are the same. Zeros of both
    signs are not equal, -0 is less.
    """
    # the upper half of a pair is its index: whole numbers, of which the least counts
    of_pair = s.pair if byte == LANE_BYTES - 1 else C(0, 1)
    floating, minimum = s.floating & ~of_pair, s.minimum | of_pair
    b_greater = Mux(a_negative ^ b_negative, a_negative ^ s.unsigned, b_larger ^ (floating & a_negative))
    return s.extreme & (b_greater ^ minimum)


def b_larger_at(c: SimpleNamespace, top: int, size: int) -> Value:
    """Whether the second of the numbers of ``size`` bytes that end with byte ``top`` is larger in magnitude, from what
    ``compare`` left."""
    b_larger = getattr(c, f"larger_{top}")
    # of 64 bits, both words count
    return b_larger | (c.alike_high & getattr(c, f"larger_{WORD_BYTES - 1}")) if size == LANE_BYTES else b_larger


def decide(m: Module, config: Config, c: SimpleNamespace, before: Value) -> tuple[dict, Value]:
    """Where each byte comes from, out of what ``compare`` left: values for the end of the step ``swap``.

    And how the values of a 16-byte pair compare, for the lane with their indices: whether the second was chosen, and
    whether they are equal. ``before`` is that of the lane before.
    """
    s = data.View(selection_layout(), c.selection)
    sizes = _sizes(config)
    tops = [byte for byte in range(LANE_BYTES) if any((byte + 1) % size == 0 for size in sizes)]
    wide, high, low = s.bytes[SIZES.index(8)], LANE_BYTES - 1, WORD_BYTES - 1

    second_at, nan_at = {}, {}
    for top in tops:
        b_larger = b_larger_at(c, top, 1)
        if top == high and 8 in sizes:
            b_larger = Mux(wide, b_larger_at(c, top, 8), b_larger)
        second_at[top] = Signal(name=f"second_at_{top}")
        m.d.comb += second_at[top].eq(
            Mux(b_larger, getattr(c, f"second_if_larger_{top}"), getattr(c, f"second_if_not_{top}"))
        )
        nan_at[top] = getattr(c, f"nan_{top}")

    tie = c.equal_low | getattr(c, f"both_nan_{low}")
    wide_tie = (c.equal_low & c.alike_high & c.signs_equal) | getattr(c, f"both_nan_{high}")
    second = [_of_element(config, s, second_at, byte) for byte in range(LANE_BYTES)]
    zero = [s.logical | _of_element(config, s, nan_at, byte) for byte in range(LANE_BYTES)]
    if any(each.pair for each in config.types):
        index_of_low, index_alone = Signal(), Signal()
        m.d.comb += [
            index_of_low.eq(Mux(tie, second_at[high], second_at[low])),
            index_alone.eq(Mux(before[1], second_at[low], before[0])),
        ]
        second[:WORD_BYTES] = [Mux(s.index, index_alone, each) for each in second[:WORD_BYTES]]
        second[WORD_BYTES:] = [Mux(s.pair, index_of_low, each) for each in second[WORD_BYTES:]]
        # the padding behind an index
        zero[WORD_BYTES:] = [each | (s.index & s.extreme) for each in zero[WORD_BYTES:]]

    # a carry between the words is added to the upper one a step after both were formed
    upper = (c.sum_1 + (c.carry_0 & wide))[:_WORD] if 8 in sizes else c.sum_1
    found = {
        "a": c.a,
        "b": c.b,
        "sum": Cat(c.sum_0, upper),
        "product": c.product,
        "selection": c.selection,
        "second": Cat(second),
        "zero": Cat(zero),
        "truth": Cat(_truth(config, s, c, byte) for byte in range(LANE_BYTES)),
        "nan": Cat(nan_at.get(top, C(0, 1)) for top in range(1, LANE_BYTES, 2)),
    }
    return found, Cat(second_at[high], wide_tie)


def choose(c: SimpleNamespace) -> Value:
    """The 64 bits, from what ``decide`` found."""
    s = data.View(selection_layout(), c.selection)
    chosen = []
    for byte in range(LANE_BYTES):
        a, b = c.a.word_select(byte, 8), c.b.word_select(byte, 8)
        value = Mux(s.bitwise, _logic(s, a, b), Mux(c.second[byte], b, a))
        chosen.append((value & ~c.zero[byte].replicate(8)) | c.truth[byte])
    value = Cat(chosen) | Cat(_canonical(s, nan) for nan in c.nan)
    whole = Mux(s.integer_sum, c.sum, value)
    return Mux(s.integer_product, c.product, whole) if len(c.product) else whole


def _logic(s: data.View, a: Value, b: Value) -> Value:
    return Mux(s.function[1], a ^ b, Mux(s.function[0], a | b, a & b))


def _truth(config: Config, s: data.View, c: SimpleNamespace, start: int) -> Value:
    """The byte that begins with ``start`` when an element is 1 or 0: so much of it is 1."""
    truths = []
    for operand in "ab":
        truth: Value = C(0, 1)
        for size in _sizes(config):
            if start % size == 0:
                element = Cat(getattr(c, f"true_{operand}_{byte}") for byte in range(start, start + size)).any()
                truth |= s.bytes[SIZES.index(size)] & element
        truths.append(truth)
    return s.logical & _logic(s, *truths)


def _canonical(s: data.View, nan: Value) -> Value:
    """The 16 bits at the top of an element: those of the canonical NaN where it is a ``nan``."""
    pieces = reduce(
        or_,
        [
            Mux(s.format[index], C(form.quiet_nan >> (form.width - 16), 16), 0)
            for index, form in enumerate(FORMATS.values())
        ],
    )
    return Mux(nan, pieces, 0)
