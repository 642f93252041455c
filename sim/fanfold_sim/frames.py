"""Frames in plain Python: from a ``Packet`` to the bytes of its frame, and back.

Everything is derived from the tables in ``fanfold.wire``; nothing here knows time, contexts or protocol. ``parse``
applies the rules of a frame's form (docs/protocol.md, section 1, rules 1 to 4); whether a communicator is open is for
those who know.
"""

from dataclasses import dataclass, field
from struct import Struct

from fanfold.codes import Collective, DataType, Direction, Operator, Status
from fanfold.wire import (
    COLLECTIVE,
    ETHERNET,
    ETHERTYPE_IPV4,
    IP_PROTOCOL_UDP,
    IPV4,
    MAX_VLAN_TAGS,
    TAG_PROTOCOLS,
    TOTAL,
    UDP,
    VERSION,
    VLAN,
    Layout,
)

__all__ = [
    "DONT_FRAGMENT",
    "Address",
    "Packet",
    "build",
    "flags_byte",
    "inspect",
    "internet_checksum",
    "pack_header",
    "parse",
]

#: the flag in IPv4's ``fragment`` field
DONT_FRAGMENT = 0x4000
#: IPv4 addresses from here up are multicast, reserved or broadcast
_GROUP_ADDRESSES = 0xE000_0000
#: the flag for more fragments, and the offset: a packet with any of these bits is a fragment
_FRAGMENT_BITS = 0x3FFF


@dataclass(frozen=True, slots=True)
class Address:
    """Where packets come from and go to. ``tags`` are the VLAN tags on the way, outer first, each (protocol, control).

    ``queue`` is the host queue at the NIC; no frame carries it.
    """

    mac: int
    ip: int
    port: int
    tags: tuple[tuple[int, int], ...] = ()
    queue: int = 0


@dataclass(kw_only=True, slots=True)
class Packet:
    """A packet with a collective header. Names of header fields are those of the wire table.

    Codes are members of their enumeration; numbers that are no member are allowed, and ``parse`` leaves them numbers.
    What is ``None`` follows from the rest: ``tags`` are the sender's, ``length`` is that of the payload, ``error``
    says that ``status`` is not 0.
    """

    sender: Address
    receiver: Address
    coll_tag_high32: int = 0
    coll_tag: int = 0
    comm_id: int = 0
    opt_code: Operator | int = Operator.SUM
    data_type: DataType | int = DataType.INT32
    collective: Collective | int = Collective.ALLREDUCE
    direction: Direction | int = Direction.UP
    repeat: int = 0
    error: int | None = None
    version: int = VERSION
    source: int = 0
    root: int = 0
    status: Status | int = Status.OK
    length: int | None = None
    payload: bytes = b""

    #: the frame around it
    tags: tuple[tuple[int, int], ...] | None = None
    service: int = 0
    identification: int = 0
    fragment: int = DONT_FRAGMENT
    time_to_live: int = 64
    ip_options: bytes = b""
    #: ``None`` sends none (0), ``"correct"`` the one that belongs to the packet, a number that number
    udp_checksum: int | str | None = None
    #: what follows the payload in the frame: Ethernet padding
    trailer: bytes = b""
    #: as parsed: why the frame is damaged ("cut short", "wrong UDP checksum"), or nothing
    damage: str = field(default="", compare=False)


# ------------------------------------------------------------------------------------------------- tables to structs

_LETTERS = {1: "B", 2: "H", 4: "I", 6: "6s"}


def _struct_of(layout: Layout) -> Struct:
    """The table's fields for ``struct``; MAC addresses as byte strings."""
    assert not layout.strings, f"{layout.name} mixes byte orders"
    order = {"big": ">", "little": "<"}[layout.order]
    return Struct(order + "".join(_LETTERS[one.bytes] for one in layout.fields))


_ETHERNET, _VLAN, _IPV4, _UDP, _COLLECTIVE, _TOTAL = map(_struct_of, (ETHERNET, VLAN, IPV4, UDP, COLLECTIVE, TOTAL))
_ETHERTYPE_AT, _IP_CHECKSUM_AT = ETHERNET.offset("ethertype"), IPV4.offset("checksum")
#: what a UDP checksum covers beside the datagram (RFC 768): addresses, protocol, length
_PSEUDO_HEADER = Struct(">IIHH")

_OPERATORS, _TYPES, _COLLECTIVES, _STATUSES = (
    {member.value: member for member in members} for members in (Operator, DataType, Collective, Status)
)
_DIRECTIONS = (Direction.UP, Direction.DOWN)


def _code(value) -> int:
    return value if isinstance(value, int) else value.value


# -------------------------------------------------------------------------------------------------------- checksums


def _ones_sum(raw: bytes) -> int:
    """One's complement sum of ``raw`` as 16-bit words, padded with a zero byte.

    The remainder modulo 0xFFFF is that sum, but for 0xFFFF, which reads 0.
    """
    value = int.from_bytes(raw, "big") << (8 * (len(raw) % 2))
    return value % 0xFFFF or (0xFFFF if value else 0)


def internet_checksum(raw: bytes) -> int:
    """The checksum of RFC 1071 over ``raw``; 0 for bytes that already hold their correct checksum."""
    return 0xFFFF ^ _ones_sum(raw)


def _udp_sum(source_ip: int, destination_ip: int, datagram: bytes) -> int:
    return _ones_sum(_PSEUDO_HEADER.pack(source_ip, destination_ip, IP_PROTOCOL_UDP, len(datagram)) + datagram)


# ------------------------------------------------------------------------------------------------------------ frames


def flags_byte(direction: Direction | int, repeat: int = 0, error: int = 0, version: int = VERSION) -> int:
    """The collective header's ``flags``."""
    return version << 6 | _code(direction) << 5 | repeat << 4 | error << 3


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
    return _COLLECTIVE.pack(
        coll_tag_high32,
        coll_tag,
        comm_id,
        _code(opt_code),
        _code(data_type),
        _code(collective),
        flags,
        source,
        root,
        _code(status),
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
    status = _code(packet.status)
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
    udp_length = _UDP.size + _COLLECTIVE.size + length
    checksum = packet.udp_checksum or 0
    if checksum == "correct":
        bare = _UDP.pack(sender.port, receiver.port, udp_length, 0) + header + payload
        checksum = 0xFFFF ^ _udp_sum(sender.ip, receiver.ip, bare) or 0xFFFF
    udp = _UDP.pack(sender.port, receiver.port, udp_length, checksum)
    ip = _ip_header(packet, udp_length)
    tags = sender.tags if packet.tags is None else packet.tags
    vlans = b"".join(_VLAN.pack(*tag) for tag in tags)
    macs = receiver.mac.to_bytes(6, "big") + sender.mac.to_bytes(6, "big")
    ethertype = ETHERTYPE_IPV4.to_bytes(2, "big")
    return b"".join((macs, vlans, ethertype, ip, udp, header, payload, packet.trailer))


def _ip_header(packet: Packet, udp_length: int) -> bytes:
    header_bytes = _IPV4.size + len(packet.ip_options)
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
    bare = _IPV4.pack(*fields) + packet.ip_options
    at = _IP_CHECKSUM_AT
    return bare[:at] + internet_checksum(bare).to_bytes(2, "big") + bare[at + 2 :]


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
    options_at = at + _IPV4.size
    if len(frame) < options_at:
        return None, "IPv4 header cut short"
    (version_length, service, ip_length, identification, fragment, time_to_live, protocol, _, source_ip, own_ip) = (
        _IPV4.unpack_from(frame, at)
    )
    ip_header_bytes = 4 * (version_length & 15)
    udp_at = at + ip_header_bytes
    if version_length >> 4 != 4 or ip_header_bytes < _IPV4.size:
        return None, f"no IPv4 header: version and length are {version_length:#04x}"
    if protocol != IP_PROTOCOL_UDP:
        return None, f"IP protocol {protocol}"
    if fragment & _FRAGMENT_BITS:
        return None, "a fragment"
    header_at = udp_at + _UDP.size
    payload_at = header_at + _COLLECTIVE.size
    if len(frame) < payload_at:
        return None, "headers cut short"
    if _ones_sum(frame[at:udp_at]) != 0xFFFF:
        return None, "wrong IPv4 checksum"
    if (frame[0] | frame[6]) & 1 or max(source_ip, own_ip) >= _GROUP_ADDRESSES:
        return None, "from or to a group"
    source_port, own_port, udp_length, checksum = _UDP.unpack_from(frame, udp_at)
    if own_port != udp_port:
        return None, f"UDP port {own_port}"
    if udp_length != ip_length - ip_header_bytes:
        return None, f"UDP length {udp_length} in {ip_length - ip_header_bytes} bytes of IP"
    (key, tag, comm_id, opt_code, data_type, collective, flags, source, root, status, length) = _COLLECTIVE.unpack_from(
        frame, header_at
    )
    if flags >> 6 != VERSION:
        return None, f"version {flags >> 6}"
    if udp_length != _UDP.size + _COLLECTIVE.size + length:
        return None, f"payload of {length} bytes in a UDP length of {udp_length}"
    end = udp_at + udp_length
    damage = ""
    if len(frame) < end:
        damage = "cut short"
    elif checksum and _udp_sum(source_ip, own_ip, frame[udp_at:end]) != 0xFFFF:
        damage = "wrong UDP checksum"
    return Packet(
        sender=Address(int.from_bytes(frame[6:12], "big"), source_ip, source_port, tags, queue),
        receiver=Address(int.from_bytes(frame[0:6], "big"), own_ip, own_port),
        coll_tag_high32=key,
        coll_tag=tag,
        comm_id=comm_id,
        opt_code=_OPERATORS.get(opt_code, opt_code),
        data_type=_TYPES.get(data_type, data_type),
        collective=_COLLECTIVES.get(collective, collective),
        direction=_DIRECTIONS[flags >> 5 & 1],
        repeat=flags >> 4 & 1,
        error=flags >> 3 & 1,
        version=flags >> 6,
        source=source,
        root=root,
        status=_STATUSES.get(status, status),
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
    at = _ETHERTYPE_AT
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
        if len(frame) < at + _VLAN.size:
            return (), at, "VLAN tag cut short"
        tags.append(_VLAN.unpack_from(frame, at))
        at += _VLAN.size
