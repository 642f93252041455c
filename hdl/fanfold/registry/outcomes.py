"""The packets that come of registrations, filled in: announcements to the fold, and refusals. No state."""

from amaranth import *
from amaranth.lib import data

from ..codes import Collective, DataType, Direction, Operator, Origin
from ..wire import FLAGS, RECORD, TOTAL, VERSION

__all__ = ["announcing_layout", "fill_announcement", "fill_refusal"]


def announcing_layout() -> data.StructLayout:
    """How a registration is announced: ``up`` to the parent (``repeat``: once more), where this NIC is contributor
    ``parent_index``, otherwise down to all contributors, or to the ``sole`` one that asked."""
    return data.StructLayout({"up": 1, "repeat": 1, "sole": 1, "parent_index": 16})


def fill_announcement(announced, how, packet, status) -> list:
    """Fills in a beat of a packet to the fold, all but its data and its place. ``packet`` is a beat with the head of
    what it answers; when it goes down it says ``status``, and the total when that is 0."""
    told = announced.head.header
    flags = FLAGS(told.flags)
    return [
        announced.origin.eq(Origin.ANNOUNCED),
        announced.sole.eq(how.sole),
        announced.port.eq(packet.port),
        announced.head.eq(packet.head),
        told.opt_code.eq(Operator.SUM),
        told.data_type.eq(DataType.UINT32),
        told.collective.eq(Collective.REGISTER),
        told.flags.eq(0),
        flags.version.eq(VERSION),
        flags.direction.eq(Mux(how.up, Direction.UP, Direction.DOWN)),
        flags.repeat.eq(how.repeat),
        told.source.eq(Mux(how.up, how.parent_index, packet.head.header.source)),
        told.root.eq(0),
        told.status.eq(Mux(how.up, 0, status)),
        told.length.eq(Mux(how.up, RECORD.bytes, Mux(status != 0, 0, TOTAL.bytes))),
    ]


def fill_refusal(refusal, packet, remote, status) -> list:
    """Fills in the answer to a registration that is refused, or no longer waited for: a header alone, to ``remote``."""
    segment = refusal.segment
    return [
        segment.direction.eq(Direction.DOWN),
        segment.header.eq(packet.head.header),
        segment.header.opt_code.eq(Operator.SUM),
        segment.header.data_type.eq(DataType.UINT32),
        segment.header.collective.eq(Collective.REGISTER),
        segment.header.flags.eq(0),
        segment.header.root.eq(0),
        segment.header.status.eq(status),
        segment.header.length.eq(0),
        refusal.remote.eq(remote),
        refusal.local_mac.eq(packet.head.local_mac),
        refusal.local_ip.eq(packet.head.local_ip),
    ]
