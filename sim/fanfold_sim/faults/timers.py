"""What the NICs of a tree are told to wait for: from how long a packet and its answer take when nothing goes wrong."""

from dataclasses import replace

from fanfold.config import Config
from fanfold.wire import HEADER_BYTES

from ..host.parameters import NetworkParameters
from ..network import WIRE_OVERHEAD_BYTES
from ..nic import Timing

__all__ = ["described", "exchange_cycles", "longest", "timing_at", "timing_for"]

_MOST_16, _MOST_32 = (1 << 16) - 1, (1 << 32) - 1
#: exchanges with the parent that may be lost one after another before its time to abort has come: with a loss of 20 %
#: each way, 24 in a row are once in 4 * 10^10 times
_LOST_IN_A_ROW = 24


#: cycles that a packet spends in a NIC beside those of its beats, ample: `fanfold bench` measures less
_THROUGH_NIC = 100


def exchange_cycles(network: NetworkParameters, config: Config) -> int:
    """Cycles until a packet of the largest segment has gone to the parent NIC and its answer has come back, when
    nothing else is in the way."""
    size = HEADER_BYTES + config.segment_bytes
    wire_ns = 2 * network.link_ns + network.switch_ns + 8 * (size + WIRE_OVERHEAD_BYTES) / network.link_gbps
    return round(2 * (wire_ns * network.nic_mhz / 1000 + 2 * size / config.beat_bytes + _THROUGH_NIC))


def timing_for(
    depth: int, exchange: int, tick_bits: int, *, abort_ticks: int | None = None, retry_ticks: int | None = None
) -> Timing:
    """What ``timing_at`` begins with, for a tree with ``depth`` levels of links in which a packet to the parent and its
    answer take ``exchange`` cycles when nobody waits; what is given is kept, and the rest is made to fit."""
    retry = min(max(2, -(-2 * exchange >> tick_bits)), _MOST_16) if retry_ticks is None else retry_ticks
    abort = min(_LOST_IN_A_ROW * retry, _MOST_32) if abort_ticks is None else abort_ticks
    # a child may not give up its parent before the parent has given up those that it waits for
    patience = (abort or _LOST_IN_A_ROW * retry) * (depth + 2)
    limit = min(-(-patience // retry), _MOST_16) if retry > 0 else 0
    return Timing(
        abort_ticks=abort,
        retry_ticks=retry,
        retry_limit=limit,
        linger_ticks=min(retry * (limit + 1), _MOST_16),
    )


def timing_at(timing: Timing, above: int, below: int) -> Timing:
    """What a NIC is told that has so many levels of NICs above and below it.

    Nearer to the root a NIC waits longer for contributors, and farther from it longer for its parent: so who is missing
    is named by the NIC next to it. Where children ask longer, their parent lingers longer.
    """
    return replace(
        timing,
        abort_ticks=min(timing.abort_ticks * (below + 1), _MOST_32),
        retry_limit=min(timing.retry_limit * max(1, above), _MOST_16),
        linger_ticks=min(timing.linger_ticks * (above + 1), _MOST_16),
    )


def longest(timing: Timing) -> int:
    """Ticks after which, whatever happens, one of a NIC's timers has come to its end; 0 when nothing ends by time."""
    waiting = timing.retry_ticks * (timing.retry_limit + 1) if timing.retry_ticks else 2 * timing.abort_ticks
    return max(timing.abort_ticks, waiting, timing.linger_ticks)


def described(timing: Timing) -> str:
    """What ``timing_at`` begins with, in words."""
    repeats = "no retry"
    if timing.retry_ticks:
        repeats = f"retry {timing.retry_ticks} ticks, at most {timing.retry_limit} times"
    return f"abort {timing.abort_ticks} ticks, {repeats}, linger {timing.linger_ticks} (more by level)"
