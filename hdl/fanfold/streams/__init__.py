"""The only flow control there is: registers, queues, fork, arbiter, and the stream's rules.

Every stream is an ``amaranth.lib.stream``: an item moves in a cycle in which ``valid`` and ``ready`` are both high;
``valid`` never waits for ``ready``; while stalled, the payload stands still; ``valid`` is low in reset.
"""

from .arbiter import PacketArbiter
from .fork import Fork
from .packet_queue import PacketQueue
from .queue import Queue
from .registers import Skid, Slice
from .rules import assume_or_assert

__all__ = ["Fork", "PacketArbiter", "PacketQueue", "Queue", "Skid", "Slice", "assume_or_assert"]
