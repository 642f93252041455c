"""Registers, counters, statistics and events."""

from .bus import bus_signature
from .description import by_name, counter, describe, register_map
from .events import EVENTS, events_layout
from .registers import Registers
from .reports import report_layout
from .telemetry import Telemetry
from .timing import timing_layout

__all__ = [
    "EVENTS",
    "Registers",
    "Telemetry",
    "bus_signature",
    "by_name",
    "counter",
    "describe",
    "events_layout",
    "register_map",
    "report_layout",
    "timing_layout",
]
