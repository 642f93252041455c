"""Shapes of what moves between the rooms.

Byte 0 of a beat, the first on the wire, is in bits 7:0. Numbers inside these structures are native; only ``data`` is
in wire order.
"""

from amaranth import *
from amaranth.lib import data

from ..codes import DataType, Direction, Operator, Origin, Port
from ..config import Config
from .headers import COLLECTIVE, MAX_VLAN_TAGS, VLAN

__all__ = [
    "address_layout",
    "copy_layout",
    "fold_layout",
    "frame_layout",
    "head_layout",
    "payload_layout",
    "result_layout",
    "segment_layout",
    "tagged_layout",
]

#: one VLAN tag as a number in wire order: protocol in the high half, control in the low half
_TAG_BITS = 8 * VLAN.bytes


def frame_layout(config: Config) -> data.StructLayout:
    """One beat of an Ethernet frame (without preamble and frame check), as it enters and leaves at a port.

    ``count`` is the number of bytes in this beat: ``beat_bytes`` in every beat but the last, 1 to ``beat_bytes`` in the
    last. ``bad`` counts on the last beat: the frame is known to be damaged. ``queue`` is the host queue it came from
    or goes to, the same in all beats of a frame.
    """
    return data.StructLayout(
        {
            "data": 8 * config.beat_bytes,
            "count": range(config.beat_bytes + 1),
            "last": 1,
            "bad": 1,
            "queue": config.queue_bits,
        }
    )


def payload_layout(config: Config) -> data.StructLayout:
    """One beat of a tagged packet's payload, byte 0 first; a packet without payload is one beat of no meaning.

    ``bad`` counts on the last beat: the packet must change nothing (damaged frame, wrong checksum, cut short). The
    bytes after the header's ``length`` in the last beat have no meaning.
    """
    return data.StructLayout({"data": 8 * config.beat_bytes, "last": 1, "bad": 1})


def address_layout(config: Config) -> data.StructLayout:
    """Where a packet came from, and where its answer goes: MAC, IPv4, UDP port, VLAN tags, host queue.

    ``tags`` is how many of ``outer`` and ``inner`` are in the frame; one that is not is 0, and so is ``queue`` on the
    network side.
    """
    return data.StructLayout(
        {
            "mac": 48,
            "ip": 32,
            "port": 16,
            "tags": range(MAX_VLAN_TAGS + 1),
            "outer": _TAG_BITS,
            "inner": _TAG_BITS,
            "queue": config.queue_bits,
        }
    )


def head_layout(config: Config) -> data.StructLayout:
    """What an ingress knows of a tagged packet: one item a packet, beside its payload beats.

    ``header`` holds native numbers whose codes are not checked yet; ``remote`` is the sender, ``local_mac`` and
    ``local_ip`` are the addresses the packet was sent to.
    """
    return data.StructLayout(
        {
            "header": COLLECTIVE.struct(),
            "remote": address_layout(config),
            "local_mac": 48,
            "local_ip": 32,
        }
    )


def tagged_layout(config: Config) -> data.StructLayout:
    """One beat of a tagged packet with its head (the same in all its beats), where both ports' packets meet.

    Packets of another ``origin`` than a port are the NIC's own, on their way through the fold to delivery: the outcome
    of a registration, for all contributors or for the ``sole`` one that its header names, or what a timer found.
    """
    return data.StructLayout(
        {
            "data": 8 * config.beat_bytes,
            "first": 1,
            "last": 1,
            "bad": 1,
            "head": head_layout(config),
            "port": Port,
            "origin": Origin,
            "sole": 1,
        }
    )


def fold_layout(config: Config) -> data.StructLayout:
    """One beat on its way into the fold, with the packet's plan (the same in all its beats).

    ``leaf`` is the contributor's place in the tree, ``slot`` the fold slot (context and sequence number modulo the
    window), ``beat`` the place in the segment. At level k of the tree: with ``combine[k]`` the beat meets what the
    sibling subtree stored and goes on; with ``keep[k]`` it is stored there and stops; with neither it passes
    unchanged. After a ``keep`` the higher bits have no meaning. ``bad`` counts on the last beat.
    """
    return data.StructLayout(
        {
            "data": 8 * config.beat_bytes,
            "first": 1,
            "last": 1,
            "bad": 1,
            "beat": range(config.segment_beats),
            "slot": range(config.fold_slots),
            "leaf": range(config.leaves),
            "operator": Operator,
            "type": DataType,
            "combine": config.levels,
            "keep": config.levels,
        }
    )


def result_layout(config: Config) -> data.StructLayout:
    """One beat that leaves the fold: part of a complete segment, or of what passed; ``bad`` counts on the last beat."""
    return data.StructLayout(
        {
            "data": 8 * config.beat_bytes,
            "first": 1,
            "last": 1,
            "bad": 1,
            "beat": range(config.segment_beats),
        }
    )


def segment_layout(config: Config) -> data.StructLayout:
    """A segment whose result is stored, or will be: one item a packet that leaves the fold.

    ``context`` and ``slot`` (the sequence number modulo two windows) say where; ``direction`` says which way it
    travels on from here: UP to the parent NIC, DOWN to every contributor, of which the first ``leaders`` are at the
    host port and the next ``children`` at the network port. ``header`` is complete, but ``source`` is the copy's when
    it goes DOWN to all; with ``sole`` it goes to that contributor alone.

    The beats of a packet that ``writes`` are stored; one that ``completes`` makes the segment leave.
    """
    return data.StructLayout(
        {
            "context": range(config.contexts),
            "slot": range(2 * config.window),
            "direction": Direction,
            "leaders": range(config.contributors + 1),
            "children": range(config.contributors + 1),
            "header": COLLECTIVE.struct(),
            "writes": 1,
            "completes": 1,
            "sole": 1,
        }
    )


def copy_layout(config: Config) -> data.StructLayout:
    """One packet for an egress to build: a copy of a segment, with the addresses it travels under.

    ``silent`` copies send nothing; ``closing`` marks the last copy of a deregistration at this port: once it is
    handled, the egress reports the context as closed here.
    """
    return data.StructLayout(
        {
            "segment": segment_layout(config),
            "remote": address_layout(config),
            "local_mac": 48,
            "local_ip": 32,
            "silent": 1,
            "closing": 1,
        }
    )
