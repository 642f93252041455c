"""Registers and counters."""

from .bus import bus_signature
from .description import by_name, counter, describe, register_map
from .events import EVENTS, events_layout
from .registers import Registers
from .timing import timing_layout

__all__ = [
    "EVENTS",
    "Registers",
    "bus_signature",
    "by_name",
    "counter",
    "describe",
    "events_layout",
    "register_map",
    "timing_layout",
]
