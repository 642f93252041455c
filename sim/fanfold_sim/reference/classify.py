"""Tagged or regular (docs/protocol.md, section 1): what a port decides about a frame from its bytes alone."""

from collections.abc import Callable
from dataclasses import dataclass

from fanfold.codes import Collective
from fanfold.wire import ETHERNET, ETHERTYPE_IPV4, HEADER_BYTES, IPV4, MAX_VLAN_TAGS, TAG_PROTOCOLS, VLAN

from ..frames import Packet, inspect

__all__ = ["Classified", "classify", "headers_end"]


@dataclass(frozen=True, slots=True)
class Classified:
    """A frame and what it is: ``packet`` is there when it is tagged, otherwise ``reason`` says why it is regular.

    ``unmatched`` regular frames have a collective header, but belong to no open context and register nobody here.
    """

    packet: Packet | None
    reason: str
    unmatched: bool = False


def classify(
    frame: bytes,
    udp_port: int,
    hears: Callable[[int, int, int, int], bool],
    *,
    local_mac: int = 0,
    queue: int = 0,
    bad: bool = False,
) -> Classified:
    """What ``frame`` is, to a NIC that has a communicator open at an address when ``hears(comm_id, key, mac, ip)``.

    Registrations are taken at ``local_mac`` alone; 0: at any address. A tagged frame that carries the bad-frame mark
    is damaged.
    """
    packet, reason = inspect(frame, udp_port, queue=queue)
    if packet is None:
        return Classified(None, reason)
    to = packet.receiver
    registers = packet.collective is Collective.REGISTER and local_mac in (0, to.mac)
    if not registers and not hears(packet.comm_id, packet.coll_tag_high32, to.mac, to.ip):
        return Classified(None, f"communicator {packet.comm_id} is not open with this key at this address", True)
    if bad and not packet.damage:
        packet.damage = "marked bad"
    return Classified(packet, "")


def headers_end(frame: bytes) -> int:
    """Bytes of ``frame`` in which all headers are, if it is tagged: what a port must have seen for its verdict.

    A frame that is no IPv4 is known as such where its IPv4 header would begin; a frame may end before.
    """
    at = ETHERNET.bytes
    for _ in range(MAX_VLAN_TAGS):
        if int.from_bytes(frame[at - 2 : at], "big") in TAG_PROTOCOLS:
            at += VLAN.bytes
    version, words = divmod(frame[at], 16) if len(frame) > at else (0, 0)
    if version != 4 or words < IPV4.bytes // 4 or int.from_bytes(frame[at - 2 : at], "big") != ETHERTYPE_IPV4:
        return min(len(frame), ETHERNET.bytes + MAX_VLAN_TAGS * VLAN.bytes + 1)
    return min(len(frame), HEADER_BYTES - ETHERNET.bytes + at + 4 * words - IPV4.bytes)
