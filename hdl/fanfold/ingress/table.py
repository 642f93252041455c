"""Small functions as tables."""

from amaranth import *

__all__ = ["table"]


def table(index, values, size: int) -> Value:
    """``values[index]``, each of ``size`` bits: logic of its own for each bit, where arithmetic would take a carry
    chain and an ``Array`` a memory. ``values`` are as many as ``index`` can have."""
    columns = [sum((value >> bit & 1) << at for at, value in enumerate(values)) for bit in range(size)]
    return Cat(C(column, len(values)).bit_select(index, 1) for column in columns)
