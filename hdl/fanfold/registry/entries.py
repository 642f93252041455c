"""What enrolment remembers of a context, and whether a registration fits it: no state, only checks."""

from amaranth import *
from amaranth.lib import data

from ..codes import Direction, Port, Status
from ..config import Config
from ..wire import FLAGS, RECORD, RECORD_FLAGS
from .ports import key_layout

__all__ = ["down_causes", "entry_layout", "is_down", "is_for_another_nic", "is_root", "up_causes"]


def entry_layout(config: Config) -> data.StructLayout:
    """A context that is not free. ``tag`` is the registration's sequence number; ``record`` means something once a
    leader has ``described`` the node; children before may have ``promised`` how many contributors it has (0: none did).
    ``count`` contributors are ``enrolled`` and stand for ``ranks`` ranks."""
    return data.StructLayout(
        {
            "names": key_layout(),
            "tag": 32,
            "window": 16,
            "local_mac": 48,
            "local_ip": 32,
            "described": 1,
            "record": RECORD.struct(),
            "promised": range(config.contributors + 1),
            "enrolled": config.contributors,
            "count": range(config.contributors + 1),
            "ranks": 32,
        }
    )


def up_causes(config: Config, known, leftover, room, entry, packet, record, same_address) -> list[tuple[Status, Value]]:
    """Causes to refuse a contributor's registration, in the order in which they apply (protocol, section 2).

    ``known``: the context is not free and ``entry`` means something; ``leftover``: it was released, and results of its
    last life have not left yet; ``room``: there are places for a new one; ``packet`` is a beat with the head.
    """
    head, header = packet.head, packet.head.header
    leader = packet.port == Port.HOST
    described = known & entry.described
    # ranks may differ, for they are the contributor's own
    wanted, agreed = (
        Cat(getattr(each, field.name) for field in RECORD.fields if field.name != "ranks")
        for each in (record, entry.record)
    )
    first = entry.record
    leaders = Mux(leader, record.leaders, first.leaders)
    total = Mux(leader, record.leaders + record.children, first.leaders + first.children)
    # how many contributors the node has, as a child knows it
    said = record.parent_total
    promised = Mux(known, entry.promised, 0)
    strays = Cat(entry.enrolled[index] & ((index < leaders) | (index >= total)) for index in range(config.contributors))
    enrolled = known & (entry.enrolled.bit_select(header.source[: (config.contributors - 1).bit_length()], 1))
    return [
        (Status.BAD_LENGTH, header.length != RECORD.bytes),
        (Status.NO_ROOM, Mux(known, Value.cast(entry.names) != Cat(header.comm_id, header.coll_tag_high32), leftover)),
        (
            Status.TOO_LARGE,
            (record.window == 0)
            | (record.window > config.window)
            | Mux(leader, (total == 0) | (total > config.contributors), (said == 0) | (said > config.contributors)),
        ),
        (
            Status.OUT_OF_RANGE,
            Mux(
                leader,
                (header.source >= record.leaders) | (known & ~entry.described & strays.any()),
                (header.source >= said) | (described & ((header.source < leaders) | (header.source >= total))),
            ),
        ),
        (Status.NO_ROOM, ~known & ~room),
        (
            Status.DISAGREE,
            (
                known
                & (
                    (record.window != entry.window)
                    | (header.coll_tag != entry.tag)
                    | (head.local_mac != entry.local_mac)
                    | (head.local_ip != entry.local_ip)
                )
            )
            | Mux(
                leader,
                Mux(described, wanted != agreed, (promised != 0) & (total != promised)),
                Mux(described, said != total, (promised != 0) & (said != promised)),
            ),
        ),
        (Status.DUPLICATE, enrolled & same_address),
        (Status.WRONG_SOURCE, enrolled),
    ]


def is_for_another_nic(known, entry, packet) -> Value:
    """Whether a registration from the network is for a communicator that is here, but was sent to another address: one
    of this NIC's own that came back, or another's. An answer would go out under an address that is not its own."""
    head, header = packet.head, packet.head.header
    here = Value.cast(entry.names) == Cat(header.comm_id, header.coll_tag_high32)
    elsewhere = (head.local_mac != entry.local_mac) | (head.local_ip != entry.local_ip)
    return (packet.port == Port.NET) & known & here & elsewhere


def down_causes(known, waiting, is_open, entry, packet) -> list[tuple[Status, Value]]:
    """Causes to refuse the parent's answer to a registration, in the order in which they apply."""
    head, header = packet.head, packet.head.header
    parent = entry.record
    return [
        (Status.WRONG_SOURCE, packet.port == Port.HOST),
        (Status.NOT_OPEN, ~known | (Value.cast(entry.names) != Cat(header.comm_id, header.coll_tag_high32))),
        (Status.DUPLICATE, is_open),
        (Status.NOT_OPEN, ~waiting),
        (
            Status.WRONG_SOURCE,
            (head.remote.mac != parent.parent_mac)
            | (head.remote.ip != parent.parent_ip)
            | (head.remote.port != parent.parent_port),
        ),
        (Status.OUT_OF_WINDOW, header.coll_tag != entry.tag),
        (Status.BAD_LENGTH, (header.status == 0) & (header.length != 4)),
    ]


def is_root(record) -> Value:
    """Whether the record says that this NIC is the root of the tree."""
    return RECORD_FLAGS(record.flags).root


def is_down(header) -> Value:
    """Whether the header says DOWN."""
    return FLAGS(header.flags).direction == Direction.DOWN.value
