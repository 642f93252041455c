"""From a packet to the bytes of its frame."""

from fanfold.codes import Collective, DataType, Direction, Operator, Status
from fanfold.wire import ETHERTYPE_IPV4, IP_PROTOCOL_UDP, VERSION

from .checksum import internet_checksum, udp_sum
from .packet import Packet
from .tables import COLLECTIVE_STRUCT, IP_CHECKSUM_AT, IPV4_STRUCT, UDP_STRUCT, VLAN_STRUCT, code

__all__ = ["build", "flags_byte", "pack_header"]


def flags_byte(direction: Direction | int, repeat: int = 0, error: int = 0, version: int = VERSION) -> int:
    """The collective header's ``flags``."""
    return version << 6 | code(direction) << 5 | repeat << 4 | error << 3


def pack_header(
    coll_tag_high32: int,
    coll_tag: int,
    comm_id: int,
    opt_code: Operator | int,
    data_type: DataType | int,
    collective: Collective | int,
    flags: int,
    source: int,
    root: int,
    status: Status | int,
    length: int,
) -> bytes:
    """The collective header alone; raises ``struct.error`` for a value that does not fit its field."""
    return COLLECTIVE_STRUCT.pack(
        coll_tag_high32,
        coll_tag,
        comm_id,
        code(opt_code),
        code(data_type),
        code(collective),
        flags,
        source,
        root,
        code(status),
        length,
    )


def build(packet: Packet) -> bytes:
    """The frame of ``packet``, without frame check. Lengths and the IPv4 checksum are made to fit.

    Raises ``struct.error`` for a value that does not fit its field and ``ValueError`` for options that are no whole
    words.
    """
    if len(packet.ip_options) % 4 or len(packet.ip_options) > 40:
        raise ValueError(f"{len(packet.ip_options)} bytes of IP options: they must be whole words, 40 bytes at most")
    sender, receiver, payload = packet.sender, packet.receiver, packet.payload
    status = code(packet.status)
    length = len(payload) if packet.length is None else packet.length
    error = bool(status) if packet.error is None else packet.error
    header = pack_header(
        packet.coll_tag_high32,
        packet.coll_tag,
        packet.comm_id,
        packet.opt_code,
        packet.data_type,
        packet.collective,
        flags_byte(packet.direction, packet.repeat, error, packet.version),
        packet.source,
        packet.root,
        status,
        length,
    )
    udp_length = UDP_STRUCT.size + COLLECTIVE_STRUCT.size + length
    checksum = packet.udp_checksum or 0
    if checksum == "correct":
        bare = UDP_STRUCT.pack(sender.port, receiver.port, udp_length, 0) + header + payload
        checksum = 0xFFFF ^ udp_sum(sender.ip, receiver.ip, bare) or 0xFFFF
    udp = UDP_STRUCT.pack(sender.port, receiver.port, udp_length, checksum)
    ip = _ip_header(packet, udp_length)
    tags = sender.tags if packet.tags is None else packet.tags
    vlans = b"".join(VLAN_STRUCT.pack(*tag) for tag in tags)
    macs = receiver.mac.to_bytes(6, "big") + sender.mac.to_bytes(6, "big")
    ethertype = ETHERTYPE_IPV4.to_bytes(2, "big")
    return b"".join((macs, vlans, ethertype, ip, udp, header, payload, packet.trailer))


def _ip_header(packet: Packet, udp_length: int) -> bytes:
    header_bytes = IPV4_STRUCT.size + len(packet.ip_options)
    fields = [
        0x40 | header_bytes // 4,
        packet.service,
        header_bytes + udp_length,
        packet.identification,
        packet.fragment,
        packet.time_to_live,
        IP_PROTOCOL_UDP,
        0,
        packet.sender.ip,
        packet.receiver.ip,
    ]
    bare = IPV4_STRUCT.pack(*fields) + packet.ip_options
    at = IP_CHECKSUM_AT
    return bare[:at] + internet_checksum(bare).to_bytes(2, "big") + bare[at + 2 :]
