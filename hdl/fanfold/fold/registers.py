"""Registers in a row, where something has to wait for what is calculated beside it."""

from amaranth import *

__all__ = ["delayed"]


def delayed(m: Module, value, cycles: int, name: str, *, reset: bool = False):
    """``value``, or a view of one, after ``cycles`` registers, which ``reset`` clears or does not touch."""
    for cycle in range(1, cycles + 1):
        register = Signal(value.shape(), name=f"{name}_{cycle}", reset_less=not reset)
        m.d.sync += register.eq(value)
        value = register
    return value
