"""What can go wrong in a simulated cluster, and when: what is injected, what links do to frames, what timers wait for.

Files in order: injection (what the user asks for), impairment (frames on links), timers (what the NICs are told).
"""

from .impairment import Arrival, Impaired, Impairment
from .injection import Injection, Rates
from .timers import described, exchange_cycles, longest, timing_at, timing_for

__all__ = [
    "Arrival",
    "Impaired",
    "Impairment",
    "Injection",
    "Rates",
    "described",
    "exchange_cycles",
    "longest",
    "timing_at",
    "timing_for",
]
