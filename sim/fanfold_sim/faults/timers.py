"""What the NICs of a tree are told to wait for: from how long a packet and its answer take when nothing goes wrong."""

from fanfold.config import Config
from fanfold.wire import HEADER_BYTES

from ..host.parameters import NetworkParameters
from ..network import WIRE_OVERHEAD_BYTES
from ..nic import Timing

__all__ = ["abort_at", "described", "exchange_cycles", "longest", "timing_for"]

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


def timing_for(depth: int, exchange_cycles: int, tick_bits: int) -> Timing:
    """For a tree with ``depth`` levels of links, in which a packet to the parent and its answer take
    ``exchange_cycles`` when nobody waits. ``abort_ticks`` is that of NICs without children (``abort_at``)."""
    retry = min(max(2, -(-2 * exchange_cycles >> tick_bits)), _MOST_16)
    # a child may not give up its parent before the parent has given up those that it waits for
    limit = _LOST_IN_A_ROW * (depth + 2)
    return Timing(
        abort_ticks=_LOST_IN_A_ROW * retry,
        retry_ticks=retry,
        retry_limit=limit,
        linger_ticks=min(retry * (limit + 1), _MOST_16),
    )


def abort_at(timing: Timing, height: int) -> int:
    """The abort time of a NIC with ``height`` levels of NICs below it.

    Each level waits longer than the one below, so that who is missing is named by the NIC that it is missing at.
    """
    return min(timing.abort_ticks * (height + 1), _MOST_32)


def longest(timing: Timing, height: int) -> int:
    """Ticks after which, whatever happens, one of a NIC's timers has come to its end; 0 when nothing ends by time."""
    abort = abort_at(timing, height)
    waiting = timing.retry_ticks * (timing.retry_limit + 1) if timing.retry_ticks else 2 * abort
    return max(abort, waiting, timing.linger_ticks)


def described(timing: Timing) -> str:
    """The figures in words."""
    repeats = (
        f"retry {timing.retry_ticks} ticks, at most {timing.retry_limit} times" if timing.retry_ticks else "no retry"
    )
    return f"abort {timing.abort_ticks} ticks and as many for each level below, {repeats}, linger {timing.linger_ticks}"
