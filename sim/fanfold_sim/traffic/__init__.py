"""Random but lawful and unlawful traffic for one NIC, drawn from a seed: what the tests play to every maker alike.

A ``script`` fixes the order in which packets of both ports reach the fold (between bursts of different ports it leaves
the NIC time to be done), so that two makers that follow the protocol send the same packets in the same order.
``hostile`` traffic comes at both ports at once, with all that an enemy would send, in batches.
"""

from .hostile import hostile
from .play import Lanes, Outcome, play, play_batches
from .script import script
from .writer import Arrival

__all__ = ["Arrival", "Lanes", "Outcome", "hostile", "play", "play_batches", "script"]
