"""How an egress reads stored results."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Direction
from ..config import Config

__all__ = ["READ_LATENCY", "beat_address_layout", "read_signature"]

#: enabled cycles from an address to its data
READ_LATENCY = 2


def beat_address_layout(config: Config) -> data.StructLayout:
    """One stored beat: partial results (UP) and results (DOWN) have slots of their own; of an UP slot number only the
    bits of one window count."""
    return data.StructLayout(
        {
            "beat": range(config.segment_beats),
            "slot": range(2 * config.window),
            "context": range(config.contexts),
            "direction": Direction,
        }
    )


def read_signature(config: Config) -> wiring.Signature:
    """A read port as seen by the egress: ``data`` belongs to the address of ``READ_LATENCY`` enabled cycles before.

    Cycles with ``enable`` low do not count and change nothing, so a stalled pipeline simply holds it low.
    """
    return wiring.Signature(
        {
            "address": Out(beat_address_layout(config)),
            "enable": Out(1),
            "data": In(8 * config.beat_bytes),
        }
    )
