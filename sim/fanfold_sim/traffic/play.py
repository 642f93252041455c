"""Plays a script to a NIC and sorts what comes out."""

from dataclasses import dataclass

from fanfold.codes import Port

from ..nic import Departure, Nic
from .writer import Arrival

__all__ = ["Lanes", "Outcome", "play", "play_batches"]

#: what left a NIC, in order where the order is not free: by port and by "regular" or the receiver's MAC address
Lanes = dict[tuple[Port, str], list[tuple[bytes, int, bool]]]

#: cycles in which a NIC must be done with a batch
_LIMIT = 1_000_000


@dataclass
class Outcome:
    """What a NIC made of a script: frames by port, regular ones and its own apart, and its counters."""

    regular: dict[Port, list[tuple]]
    copies: dict[Port, list[tuple]]
    counters: dict[str, int]
    departures: list[Departure]


def play(nic: Nic, arrivals: list[Arrival]) -> Outcome:
    """Plays ``arrivals`` to ``nic`` and sorts what leaves: what came in at the other port, and its own packets."""
    for one in arrivals:
        nic.offer(one.port, one.frame, cycle=max(one.cycle, nic.cycle), queue=one.queue, bad=one.bad)
    departures = nic.run(arrivals[-1].cycle + 4000)
    outcome = Outcome({port: [] for port in Port}, {port: [] for port in Port}, {}, departures)
    offered = {(one.port, one.frame) for one in arrivals}
    for left in departures:
        came_in = Port.NET if left.port is Port.HOST else Port.HOST
        kind = outcome.regular if (came_in, left.frame) in offered else outcome.copies
        kind[left.port].append((left.frame, left.queue, left.bad))
    outcome.counters = nic.counters()
    return outcome


def play_batches(nic: Nic, batches: list[list[Arrival]]) -> Lanes:
    """Plays ``batches`` (``hostile``) to ``nic``, each when it is done with the one before; what leaves, by lane.

    Raises ``TimeoutError`` when it does not get done with one.
    """
    offered = {(one.port, one.frame) for batch in batches for one in batch}
    lanes: Lanes = {}
    for batch in batches:
        began = nic.cycle
        for one in batch:
            nic.offer(one.port, one.frame, cycle=began + one.cycle, queue=one.queue, bad=one.bad)
        while not nic.quiet:
            if nic.cycle > began + _LIMIT:
                raise TimeoutError(f"not quiet {_LIMIT} cycles after cycle {began}")
            for left in nic.run(nic.cycle + 500):
                came_in = Port.NET if left.port is Port.HOST else Port.HOST
                lane = "regular" if (came_in, left.frame) in offered else left.frame[:6].hex(":")
                lanes.setdefault((left.port, lane), []).append((left.frame, left.queue, left.bad))
    return lanes
