"""What admission says of the packets that it decides upon: the source of all statistics and of the queue of events."""

from amaranth.lib import data

from ..codes import Origin, Port, Status
from ..config import Config

__all__ = ["report_layout"]


def report_layout(config: Config) -> data.StructLayout:
    """One item for each tagged packet that was decided upon, in the order in which that was done.

    Where it belongs, as its header says it: ``context``, ``slot`` (the fold slot), and ``contributor``, which means
    something only for packets on their way UP (``down`` is 0) that came from where this contributor registered.
    ``port`` is where a packet of origin RECEIVED came in, ``bytes`` is its payload, ``repeat`` its flag.

    What was decided: ``status`` is OK for a packet that was taken, or the cause for which it was not; ``answered``
    says that its sender gets a result again, and nothing else changes (``status`` is OK then too).

    What became of the segment: ``opens`` with the first packet of it that was taken, ``closes`` with the one after
    which it takes no more contributions (the last contribution, a timer, or a result from above that came early),
    ``ends`` with the one after which it is over here: its result goes to every contributor, and ``outcome`` is what it
    ended with (OK without ``ends``). A segment that is taken up at all has one of each, the first two in this order;
    one packet may be several of them. Where a context is released, the rest is left out.
    """
    return data.StructLayout(
        {
            "context": range(config.contexts),
            "contributor": range(config.contributors),
            "slot": range(config.fold_slots),
            "port": Port,
            "down": 1,
            "status": Status,
            "bytes": 16,
            "repeat": 1,
            "answered": 1,
            "opens": 1,
            "closes": 1,
            "ends": 1,
            "outcome": Status,
            "origin": Origin,
        }
    )
