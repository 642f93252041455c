"""Frames in plain Python: from a ``Packet`` to the bytes of its frame, and back.

Everything is derived from the tables in ``fanfold.wire``; nothing here knows time, contexts or protocol. Files in
order: packet, tables, checksum, writing, reading.
"""

from .checksum import internet_checksum
from .packet import DONT_FRAGMENT, Address, Packet
from .reading import inspect, parse
from .writing import build, flags_byte, pack_header

__all__ = [
    "DONT_FRAGMENT",
    "Address",
    "Packet",
    "build",
    "flags_byte",
    "inspect",
    "internet_checksum",
    "pack_header",
    "parse",
]
