"""From the bytes of a frame to its packet, or to why it is none: docs/protocol.md, section 1, rules 1 to 4.

Whether a communicator is open is for those who know.
"""

from fanfold.wire import ETHERTYPE_IPV4, IP_PROTOCOL_UDP, MAX_VLAN_TAGS, TAG_PROTOCOLS, VERSION

from .checksum import ones_sum, udp_sum
from .packet import Address, Packet
from .tables import (
    COLLECTIVE_STRUCT,
    COLLECTIVES,
    DIRECTIONS,
    ETHERTYPE_AT,
    IPV4_STRUCT,
    OPERATORS,
    STATUSES,
    TYPES,
    UDP_STRUCT,
    VLAN_STRUCT,
)

__all__ = ["inspect", "parse"]

#: IPv4 addresses from here up are multicast, reserved or broadcast
_GROUP_ADDRESSES = 0xE000_0000
#: the flag for more fragments, and the offset: a packet with any of these bits is a fragment
_FRAGMENT_BITS = 0x3FFF


def parse(frame: bytes, udp_port: int) -> Packet | None:
    """The collective packet in ``frame``, or ``None`` when its form makes it regular traffic."""
    return inspect(frame, udp_port)[0]


def inspect(frame: bytes, udp_port: int, *, queue: int = 0) -> tuple[Packet | None, str]:
    """The collective packet in ``frame`` and nothing, or ``None`` and why it is regular traffic.

    ``queue`` is the host queue that the frame came from. A packet may be
    damaged: then its ``damage`` says how, and its payload is as much as there is.
    """
    tags, at, reason = _skip_tags(frame)
    if reason:
        return None, reason
    options_at = at + IPV4_STRUCT.size
    if len(frame) < options_at:
        return None, "IPv4 header cut short"
    (version_length, service, ip_length, identification, fragment, time_to_live, protocol, _, source_ip, own_ip) = (
        IPV4_STRUCT.unpack_from(frame, at)
    )
    ip_header_bytes = 4 * (version_length & 15)
    udp_at = at + ip_header_bytes
    if version_length >> 4 != 4 or ip_header_bytes < IPV4_STRUCT.size:
        return None, f"no IPv4 header: version and length are {version_length:#04x}"
    if protocol != IP_PROTOCOL_UDP:
        return None, f"IP protocol {protocol}"
    if fragment & _FRAGMENT_BITS:
        return None, "a fragment"
    header_at = udp_at + UDP_STRUCT.size
    payload_at = header_at + COLLECTIVE_STRUCT.size
    if len(frame) < payload_at:
        return None, "headers cut short"
    if ones_sum(frame[at:udp_at]) != 0xFFFF:
        return None, "wrong IPv4 checksum"
    if (frame[0] | frame[6]) & 1 or max(source_ip, own_ip) >= _GROUP_ADDRESSES:
        return None, "from or to a group"
    source_port, own_port, udp_length, checksum = UDP_STRUCT.unpack_from(frame, udp_at)
    if own_port != udp_port:
        return None, f"UDP port {own_port}"
    if udp_length != ip_length - ip_header_bytes:
        return None, f"UDP length {udp_length} in {ip_length - ip_header_bytes} bytes of IP"
    (key, tag, comm_id, opt_code, data_type, collective, flags, source, root, status, length) = (
        COLLECTIVE_STRUCT.unpack_from(frame, header_at)
    )
    if flags >> 6 != VERSION:
        return None, f"version {flags >> 6}"
    if udp_length != UDP_STRUCT.size + COLLECTIVE_STRUCT.size + length:
        return None, f"payload of {length} bytes in a UDP length of {udp_length}"
    end = udp_at + udp_length
    damage = ""
    if len(frame) < end:
        damage = "cut short"
    elif checksum and udp_sum(source_ip, own_ip, frame[udp_at:end]) != 0xFFFF:
        damage = "wrong UDP checksum"
    return Packet(
        sender=Address(int.from_bytes(frame[6:12], "big"), source_ip, source_port, tags, queue),
        receiver=Address(int.from_bytes(frame[0:6], "big"), own_ip, own_port),
        coll_tag_high32=key,
        coll_tag=tag,
        comm_id=comm_id,
        opt_code=OPERATORS.get(opt_code, opt_code),
        data_type=TYPES.get(data_type, data_type),
        collective=COLLECTIVES.get(collective, collective),
        direction=DIRECTIONS[flags >> 5 & 1],
        repeat=flags >> 4 & 1,
        error=flags >> 3 & 1,
        version=flags >> 6,
        source=source,
        root=root,
        status=STATUSES.get(status, status),
        length=length,
        payload=frame[payload_at:end],
        tags=tags,
        service=service,
        identification=identification,
        fragment=fragment,
        time_to_live=time_to_live,
        ip_options=frame[options_at:udp_at],
        udp_checksum=checksum or None,
        trailer=frame[end:],
        damage=damage,
    ), ""


def _skip_tags(frame: bytes) -> tuple[tuple[tuple[int, int], ...], int, str]:
    """VLAN tags, outer first, where the IPv4 header begins, and why there is none."""
    tags: list[tuple[int, int]] = []
    at = ETHERTYPE_AT
    while True:
        ethertype = int.from_bytes(frame[at : at + 2], "big")
        if len(frame) < at + 2:
            return (), at, "Ethernet header cut short"
        if ethertype == ETHERTYPE_IPV4:
            return tuple(tags), at + 2, ""
        if ethertype not in TAG_PROTOCOLS:
            return (), at, f"EtherType {ethertype:#06x}"
        if len(tags) == MAX_VLAN_TAGS:
            return (), at, f"more than {MAX_VLAN_TAGS} VLAN tags"
        if len(frame) < at + VLAN_STRUCT.size:
            return (), at, "VLAN tag cut short"
        tags.append(VLAN_STRUCT.unpack_from(frame, at))
        at += VLAN_STRUCT.size
