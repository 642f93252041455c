"""Header layouts as tables: the one definition of what travels, for the hardware and for the host.

A layout is a list of fields in wire order. From it come an Amaranth structure of native numbers, the functions that
turn wire bytes into that structure and back, and packing and unpacking in plain Python.
"""

import builtins
from dataclasses import dataclass
from typing import Literal

from amaranth import *
from amaranth.lib import data

__all__ = ["Field", "Layout", "swap"]


@dataclass(frozen=True)
class Field:
    """One field of a layout: its name, its bytes, and what it means (for the documentation)."""

    name: str
    bytes: int
    meaning: str


@dataclass(frozen=True)
class Layout:
    """Fields one after another, without gaps.

    ``order`` is the byte order of every number in it: ``"big"`` for headers, ``"little"`` for payload records. Fields
    that are byte strings (addresses) read as numbers in wire order, ``big``, in both: ``strings`` names them.
    """

    name: str
    order: Literal["big", "little"]
    fields: tuple[Field, ...]
    strings: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        """Length of the whole layout in bytes."""
        return sum(field.bytes for field in self.fields)

    def offset(self, name: str) -> int:
        """Byte offset of field ``name``."""
        at = 0
        for field in self.fields:
            if field.name == name:
                return at
            at += field.bytes
        raise KeyError(f"{self.name} has no field {name!r}")

    def field_order(self, field: Field) -> Literal["big", "little"]:
        """Byte order of one field."""
        return "big" if field.name in self.strings else self.order

    def struct(self) -> data.StructLayout:
        """Native numbers in wire order (the first field is least significant), one member a field."""
        return data.StructLayout({field.name: 8 * field.bytes for field in self.fields})

    def from_wire(self, value) -> Value:
        """Native structure from ``value``, the layout's bytes as they came (first byte least significant)."""
        return self.struct()(self._convert(value))

    def to_wire(self, native) -> Value:
        """The layout's bytes in wire order (first byte least significant) from a native structure."""
        return self._convert(Value.cast(native))

    def _convert(self, value):
        parts, at = [], 0
        for field in self.fields:
            part = value[8 * at : 8 * (at + field.bytes)]
            parts.append(swap(part) if self.field_order(field) == "big" else part)
            at += field.bytes
        return Cat(*parts)

    def pack(self, **values: int) -> builtins.bytes:
        """The bytes of the layout with these values; what is not named is 0.

        Raises ``KeyError`` for an unknown field and ``ValueError`` for a value that does not fit.
        """
        for name in values:
            self.offset(name)
        packed = b""
        for field in self.fields:
            value = int(values.get(field.name, 0))
            if not 0 <= value < 1 << (8 * field.bytes):
                raise ValueError(f"{self.name}.{field.name} is {value}: it must fit {field.bytes} bytes")
            packed += value.to_bytes(field.bytes, self.field_order(field))
        return packed

    def unpack(self, raw: builtins.bytes) -> dict[str, int]:
        """Field values from the first bytes of ``raw``; raises ``ValueError`` when it is too short."""
        if len(raw) < self.bytes:
            raise ValueError(f"{len(raw)} bytes are no {self.name}: it has {self.bytes}")
        values, at = {}, 0
        for field in self.fields:
            values[field.name] = int.from_bytes(raw[at : at + field.bytes], self.field_order(field))
            at += field.bytes
        return values


def swap(value) -> Value:
    """``value`` with its bytes in the opposite order; its width must be a multiple of 8."""
    value = Value.cast(value)
    assert len(value) % 8 == 0, f"{len(value)} bits are no whole number of bytes"
    return Cat(*reversed([value[at : at + 8] for at in range(0, len(value), 8)]))
