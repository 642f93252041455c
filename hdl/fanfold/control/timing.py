"""What a host may tell the timers, all in ticks of the clock."""

from amaranth.lib import data

__all__ = ["timing_layout"]


def timing_layout() -> data.StructLayout:
    """How long things may take. Changes are meant for a NIC without open contexts.

    ``abort_ticks``: how long a segment or a registration may wait for its contributors, where the record does not say
    it; 0: for ever. ``retry_ticks``: the time between two repeats to a parent that does not answer; 0: no repeats.
    ``retry_limit``: how many repeats there are before the parent is given up. ``linger_ticks``: how long a context
    that was deregistered goes on answering its children; 0: not at all. ``measure``: the clock runs while segments are
    open, even if nothing is timed, so that it is known how far apart contributions arrive.
    """
    return data.StructLayout(
        {
            "abort_ticks": 32,
            "retry_ticks": 16,
            "retry_limit": 16,
            "linger_ticks": 16,
            "measure": 1,
        }
    )
