"""Carry chains over a word of 32 bits that are cut where one element ends and the next begins.

Between two bytes where a cut can be there is a bit more in the chain: with operands that add to 1 it lets the carry
through, with equal ones it does not, and its own sum shows the carry that came.
"""

from amaranth import *

__all__ = ["WORD_BYTES", "larger", "summed"]

#: bytes of one chain
WORD_BYTES = 4


def summed(m: Module, name: str, a: Value, b: Value, tops: list[Value]) -> tuple[Value, Value]:
    """``a`` + ``b`` by elements, and the carry out of the last: ``tops`` says of each byte whether it is the top one of
    an element."""
    left: list[Value] = []
    right: list[Value] = []
    for index in range(WORD_BYTES):
        left.append(a.word_select(index, 8))
        right.append(b.word_select(index, 8))
        if index < WORD_BYTES - 1 and _possible(tops[index]):
            left.append(~tops[index])
            right.append(C(0, 1))
    total = _added(m, name, left, right)
    places = _places(tops)
    return Cat(total[at : at + 8] for at in places), total[places[-1] + 8]


def larger(m: Module, name: str, a: Value, b: Value, tops: list[Value]) -> list[Value]:
    """Of each byte that is the top one of an element: whether ``b``'s element is larger in magnitude: the highest bit
    of an element is left out. For other bytes the bit has no meaning; the last byte's is that of the bytes up to it."""
    left: list[Value] = [C(1, 1)]  # a - b is a + ~b + 1
    right: list[Value] = [C(1, 1)]
    for index, top in enumerate(tops):
        left += [a.word_select(index, 8)[:7], a[8 * index + 7] & ~top]
        right += [~b.word_select(index, 8)[:7], ~(b[8 * index + 7] & ~top)]
        last = index == WORD_BYTES - 1
        if last or _possible(top):
            left.append(C(1, 1))
            right.append(C(1, 1) if last else top)
    total = _added(m, name, left, right)
    places = _places(tops)
    return [~total[1 + at + 8] for at in places]


def _possible(top: Value) -> bool:
    return not (isinstance(top, Const) and top.value == 0)


def _places(tops: list[Value]) -> list[int]:
    """Where each byte is in a chain with a bit behind every byte that can be cut off."""
    places = [0]
    for top in tops[: WORD_BYTES - 1]:
        places.append(places[-1] + 8 + _possible(top))
    return places


def _added(m: Module, name: str, left: list[Value], right: list[Value]) -> Signal:
    total = Signal(len(Cat(left)) + 1, name=name)
    m.d.comb += total.eq(Cat(left) + Cat(right))
    return total
