"""Plays a script to a NIC and sorts what comes out."""

from dataclasses import dataclass

from fanfold.codes import Port

from ..nic import Departure, Nic
from .writer import Arrival

__all__ = ["Outcome", "play"]


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
