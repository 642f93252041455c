"""What the NICs of a tree are told about time: when to repeat, when to give up, how long to answer after the end."""

from dataclasses import dataclass

__all__ = ["MOST_TICKS", "Timers"]

#: the largest value of each register
MOST_TICKS = {
    "abort_ticks": (1 << 32) - 1,
    "retry_ticks": (1 << 16) - 1,
    "retry_limit": (1 << 16) - 1,
    "linger_ticks": (1 << 16) - 1,
}
#: exchanges with the parent that may be lost one after another before the parent's time to abort has come: with a loss
#: of 20 % each way, 24 in a row happen once in 10^10 times
_LOST_IN_A_ROW = 24


@dataclass(frozen=True, kw_only=True)
class Timers:
    """Register values, in ticks. ``abort_ticks`` is for NICs without children; see ``abort_at``. 0 is never."""

    abort_ticks: int = 0
    retry_ticks: int = 0
    retry_limit: int = 0
    linger_ticks: int = 0

    @classmethod
    def for_tree(cls, depth: int, exchange_cycles: int, tick_bits: int) -> "Timers":
        """Values for a tree of ``depth`` levels of links, in which a packet to the parent and its answer take
        ``exchange_cycles`` when nobody waits."""
        retry = max(2, -(-2 * exchange_cycles >> tick_bits))
        abort = _LOST_IN_A_ROW * retry
        # a child may not give up its parent before the parent has given up those that it waits for
        limit = _LOST_IN_A_ROW * (depth + 2)
        values = dict(abort_ticks=abort, retry_ticks=retry, retry_limit=limit, linger_ticks=retry * (limit + 1))
        return cls(**{name: min(value, MOST_TICKS[name]) for name, value in values.items()})

    def abort_at(self, height: int) -> int:
        """The abort time of a NIC with ``height`` levels of NICs below it.

        Each level waits longer than the one below, so that who is missing is named by the NIC that it is missing at.
        """
        return min(self.abort_ticks * (height + 1), MOST_TICKS["abort_ticks"])

    @property
    def longest(self) -> int:
        """Ticks in which, whatever happens at one NIC, one of its timers comes to its end."""
        waiting = self.retry_ticks * (self.retry_limit + 1) if self.retry_ticks else 2 * self.abort_ticks
        return max(self.abort_ticks, waiting, self.linger_ticks)

    def __str__(self):
        return (
            f"abort {self.abort_ticks} ticks (times the levels of NICs below, and one), retry {self.retry_ticks}, "
            f"at most {self.retry_limit} times, linger {self.linger_ticks}"
        )
