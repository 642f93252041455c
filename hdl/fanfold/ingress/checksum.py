"""One's complement sums (RFC 1071) over masked words.

A sum over 16-bit words may be made in either byte order: a correct one comes out as all ones in both. So words are
taken as they come, first byte low.
"""

from amaranth import *

__all__ = ["add_up", "correct", "partial_sums", "split_words"]


def split_words(value) -> list[Value]:
    """The 16-bit words of ``value``, first byte low."""
    value = Value.cast(value)
    return [value[at : at + 16] for at in range(0, len(value), 16)]


def add_up(values) -> Value:
    """The sum of ``values`` as a balanced tree, without loss."""
    values = list(values)
    while len(values) > 1:
        pairs = [a + b for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[2 * len(pairs) :]
    return values[0]


def partial_sums(m: Module, words, name: str, size: int = 4) -> list[Signal]:
    """One rank of registers: sums of up to ``size`` neighbouring ``words``."""
    sums = []
    for number, at in enumerate(range(0, len(words), size)):
        total = add_up(words[at : at + size])
        register = Signal(len(total), reset_less=True, name=f"{name}_{number}")
        m.d.sync += register.eq(total)
        sums.append(register)
    return sums


def correct(total) -> Value:
    """Whether a plain sum of words, one of them not 0 and fewer than 2^15 of them, is correct: all ones when folded."""
    assert len(total) <= 32, f"a sum of {len(total)} bits needs to be folded more than once"
    low, high = total[:16], total[16:]
    return (~low)[:16] == high  # their sum is all ones without an adder
