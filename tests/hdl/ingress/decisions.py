"""Frames for every row of the tables in docs/ingress.md: what real links carry, and what only a hostile one does."""

import dataclasses
from pathlib import Path

from ingress_bench import COMM_ID, OTHER_COMM_ID, RECEIVER, Frame, packet

from fanfold.codes import Collective, Direction
from fanfold_sim.frames import internet_checksum

__all__ = ["DECISIONS", "documented", "frames"]

DATA = bytes(range(1, 30))
PLAIN = packet(DATA)
CHECKED = packet(DATA, udp_checksum="correct")
#: UDP, collective header and payload of a packet that would be ours
OURS = PLAIN[34:]
VLAN_PROTOCOLS = (b"\x81\x00", b"\x88\xa8", b"\x91\x00")


def changed(raw: bytes, at: int, new: bytes) -> bytes:
    """``raw`` with ``new`` at ``at``."""
    return raw[:at] + new + raw[at + len(new) :]


def with_ip(at: int, new: bytes, raw: bytes = PLAIN) -> bytes:
    """An untagged frame with ``new`` at byte ``at`` of its IP header, and the checksum that belongs to it."""
    bare = changed(changed(raw, 14 + at, new), 24, bytes(2))
    return changed(bare, 24, internet_checksum(bare[14 : 14 + 4 * (raw[14] & 15)]).to_bytes(2, "big"))


def with_tags(*tags: bytes, raw: bytes = PLAIN) -> bytes:
    return raw[:12] + b"".join(tags) + raw[12:]


def with_ethertype(value: int, rest: bytes = PLAIN[14:]) -> bytes:
    return PLAIN[:12] + value.to_bytes(2, "big") + rest


def ipv6(next_header: int, extensions: bytes = b"") -> bytes:
    """A packet of ours over IPv6, behind ``extensions``."""
    body = extensions + OURS
    header = b"\x60\0\0\0" + len(body).to_bytes(2, "big") + bytes((next_header, 64)) + bytes(range(32))
    return with_ethertype(0x86DD, header + body)


def checksum_of_all_ones() -> bytes:
    """A packet whose UDP checksum comes out as 0, and so is sent as 0xFFFF."""
    bare = packet(bytes(16), udp_checksum="correct")
    missing = int.from_bytes(bare[40:42], "big")
    raw = packet(bytes(14) + missing.to_bytes(2, "big"), udp_checksum="correct")
    assert raw[40:42] == b"\xff\xff"
    return raw


REGISTRATION = packet(bytes(38), collective=Collective.REGISTER)
ELSEWHERE = dataclasses.replace(RECEIVER, mac=RECEIVER.mac ^ 1 << 46)
#: what else than the NIC's address a frame may be sent to: each differs from it in one bit, no two in the same four
OTHER_MACS = tuple(
    (RECEIVER.mac ^ 1 << bit).to_bytes(6, "big") for bit in (1, 6, 11, 12, 18, 23, 25, 28, 35, 39, 42, 47)
)
OTHER_IPS = tuple((RECEIVER.ip ^ 1 << bit).to_bytes(4, "big") for bit in (0, 15, 24))

TCI = (b"\x00\x00", b"\xe0\x00", b"\x10\x00", b"\x0f\xff")

#: first column of a table in docs/ingress.md: frames to which it applies
DECISIONS: dict[str, list[bytes]] = {
    # ------------------------------------------------------------------------------------------ VLAN tags, Ethernet
    "no VLAN tag, one, or two, each with 0x8100, 0x88A8 or 0x9100": [
        PLAIN,
        *(with_tags(one + b"\x20\x07") for one in VLAN_PROTOCOLS),
        *(with_tags(one + b"\x20\x07", two + b"\x00\x63") for one in VLAN_PROTOCOLS for two in VLAN_PROTOCOLS),
    ],
    "a priority tag (VLAN 0), any priority, drop eligible": [
        *(with_tags(b"\x81\x00" + control) for control in TCI),
        *(with_tags(b"\x88\xa8\x00\x01", b"\x81\x00" + control) for control in TCI),
    ],
    "three VLAN tags or more": [
        with_tags(*(b"\x81\x00\x00\x01",) * 3),
        with_tags(*(b"\x88\xa8\x00\x01",) * 4),
        with_tags(b"\x91\x00\x00\x01", b"\x88\xa8\x08\x00", b"\x81\x00\x08\x00"),
    ],
    "a tag of another protocol (0x9200, 0x88E5)": [
        with_tags(b"\x92\x00\x00\x01"),
        with_tags(b"\x88\xe5\x00\x01"),
        with_tags(b"\x81\x00\x00\x01", b"\x92\x00\x00\x01"),
        with_tags(b"\x08\x00\x00\x01"),
    ],
    "a length in place of the EtherType (802.3, LLC, SNAP)": [
        with_ethertype(len(PLAIN) - 14),
        with_ethertype(0x05DC),
        with_ethertype(46, b"\x42\x42\x03" + PLAIN[14:]),
        with_ethertype(len(PLAIN) - 6, b"\xaa\xaa\x03\0\0\0\x08\x00" + PLAIN[14:]),
        PLAIN[:12] + b"\x81\x00\x00\x01" + (200).to_bytes(2, "big") + PLAIN[14:],
    ],
    "another EtherType (ARP, MPLS, PPPoE, 0)": [
        *(with_ethertype(value) for value in (0x0806, 0x8847, 0x8864, 0x0000, 0x0801, 0x0008, 0xFFFF)),
        PLAIN[:12] + b"\x81\x00\x08\x00" + b"\x08\x06" + PLAIN[14:],
    ],
    "to a multicast or broadcast MAC address, or from one": [
        changed(PLAIN, 0, b"\xff" * 6),
        changed(PLAIN, 0, b"\x01\x00\x5e\x00\x00\x01"),
        changed(PLAIN, 0, b"\x33\x33"),
        changed(PLAIN, 6, b"\x03"),
        with_tags(b"\x81\x00\x00\x01", raw=changed(CHECKED, 0, b"\xff" * 6)),
    ],
    # ----------------------------------------------------------------------------------------------------------- IP
    "IPv4 header of 5 to 15 words, any options": [
        packet(DATA, option_words=words, tags=tags) for words in range(11) for tags in range(3)
    ],
    "options that look like our headers": [
        packet(DATA, options=(OURS + bytes(40))[: 4 * words], tags=tags) for words in (2, 8, 10) for tags in range(3)
    ],
    "any service, identification, time to live, DF and the reserved flag": [
        packet(DATA, service=255, identification=0xFFFF, time_to_live=0, fragment=0),
        packet(DATA, fragment=0x8000, service=3),
        packet(DATA, fragment=0xC000, time_to_live=255),
    ],
    "IPv4 header length below 5 words": [with_ip(0, bytes((0x40 | words,))) for words in range(5)],
    "another version behind EtherType 0x0800": [
        with_ip(0, bytes((version << 4 | 5,))) for version in range(16) if version != 4
    ],
    "wrong header checksum": [
        changed(PLAIN, 24, b"\0\0"),
        changed(PLAIN, 24, b"\xff\xff"),
        changed(PLAIN, 22, b"\x3f"),
        changed(packet(DATA, option_words=10), 70, b"\x11\x11"),
        changed(packet(DATA, option_words=1, tags=2), 42, b"\xee"),
    ],
    "a fragment: first, middle or last, whatever it looks like": [
        packet(DATA, fragment=fragment, tags=tags)
        for fragment in (0x2000, 0x2001, 0x3FFF, 0x0001, 0x1FFF, 0x6000, 0xE0B9, 0x4100)
        for tags in range(3)
    ],
    "another protocol (TCP, ICMP, GRE, 41)": [with_ip(9, bytes((number,))) for number in (6, 1, 47, 41, 0, 16, 255)],
    "to a multicast or broadcast IP address, or from one": [
        *(with_ip(16, bytes((first,))) for first in (224, 239, 240)),
        with_ip(16, b"\xff" * 4),
        with_ip(12, b"\xe0\0\0\1"),
        with_ip(12, b"\xff" * 4, CHECKED),
    ],
    "IPv6, without and with extension headers, whatever is in them": [
        ipv6(17),
        ipv6(0, b"\x11\x00" + bytes(6)),
        ipv6(44, b"\x11\0\0\1" + bytes(4)),
        ipv6(43, b"\x11\x02" + bytes(22)),
        with_ethertype(0x86DD),
        with_tags(b"\x81\x00\x00\x01", raw=ipv6(60, b"\x11\x00" + bytes(6))),
        with_ethertype(0x86DD, b"\x60" + bytes(7) + PLAIN[14:]),
    ],
    # ------------------------------------------------------------------------------------- UDP and collective header
    "another UDP port": [changed(PLAIN, 36, port.to_bytes(2, "big")) for port in (0, 53, 4791, 49168, 49170, 0x11C0)],
    "UDP length is not what IP has for it": [
        *(changed(PLAIN, 38, length.to_bytes(2, "big")) for length in (0, 7, 8, 29, 30, 58, 60, 0xFFFF)),
        *(with_ip(2, length.to_bytes(2, "big")) for length in (0, 19, 20, 28, 78, 80, 0xFFFF)),
        with_ip(2, (79 + 4).to_bytes(2, "big"), changed(PLAIN, 38, (59 + 3).to_bytes(2, "big"))),
    ],
    "`length` is not what UDP has for it": [
        *(changed(PLAIN, 62, length.to_bytes(2, "big")) for length in (0, 28, 30, 0xFFFF)),
        with_ip(2, (20 + 8).to_bytes(2, "big"), changed(PLAIN, 38, (8).to_bytes(2, "big"))),
        with_ip(2, (20 + 0).to_bytes(2, "big"), changed(PLAIN, 38, (0).to_bytes(2, "big"))),
    ],
    "UDP checksum 0: there is none": [PLAIN, changed(CHECKED, 40, b"\0\0"), packet(b"", option_words=3)],
    "UDP checksum correct, 0xFFFF among them": [
        CHECKED,
        checksum_of_all_ones(),
        packet(b"", udp_checksum="correct", tags=2, option_words=10),
        packet(b"\x80", udp_checksum="correct", tags=1),
        packet(bytes(300), udp_checksum="correct"),
        packet(b"\xff" * 300, udp_checksum="correct"),
    ],
    "UDP checksum wrong, 0xFFFF among them": [
        changed(CHECKED, 40, b"\xff\xff"),
        changed(CHECKED, 40, b"\x00\x01"),
        changed(CHECKED, 40, CHECKED[41:42] + CHECKED[40:41]),
        packet(b"", udp_checksum=0xFFFF, tags=2),
        CHECKED[:-1] + bytes((CHECKED[-1] ^ 0x80,)),
    ],
    "another version of the collective header": [packet(DATA, version=version) for version in (0, 2, 3)],
    "no context open with this communicator and key": [
        packet(DATA, comm_id=OTHER_COMM_ID),
        packet(DATA, coll_tag_high32=0, tags=2),
        packet(DATA, comm_id=0, udp_checksum=7),
        packet(DATA, comm_id=OTHER_COMM_ID)[:70],
    ],
    "a context is open with this communicator and key, but the NIC has another MAC or IP address in it": [
        *(changed(PLAIN, 0, other) for other in OTHER_MACS),
        *(with_tags(*(b"\x81\x00\x20\x07",) * tags, raw=with_ip(16, other)) for tags, other in enumerate(OTHER_IPS)),
        changed(CHECKED, 0, OTHER_MACS[0]),
        packet(DATA, direction=Direction.DOWN, receiver=dataclasses.replace(RECEIVER, mac=RECEIVER.mac ^ 2)),
    ],
    "a registration of any communicator, to the NIC's MAC address": [
        *(
            packet(bytes(38), comm_id=comm_id, collective=Collective.REGISTER, tags=tags)
            for comm_id in (0, COMM_ID, OTHER_COMM_ID, 0xFFFF)
            for tags in range(3)
        ),
        with_ip(16, OTHER_IPS[0], REGISTRATION),
    ],
    "a registration to another MAC address": [
        *(changed(REGISTRATION, 0, other) for other in OTHER_MACS),
        with_tags(b"\x81\x00\x20\x07", raw=changed(REGISTRATION, 0, OTHER_MACS[0])),
        packet(bytes(38), comm_id=OTHER_COMM_ID, collective=Collective.REGISTER, receiver=ELSEWHERE),
    ],
    "codes that nobody knows, a length beyond the segment, the wrong direction": [
        packet(DATA, collective=255, opt_code=254, data_type=253, status=0xFFFF, source=0xFFFF),
        packet(bytes(1500)),
        packet(bytes(8970), udp_checksum="correct"),
        packet(DATA, direction=Direction.DOWN),
        packet(DATA, repeat=1, error=1, root=9),
    ],
    # -------------------------------------------------------------------------------------------------------- frame
    "ends within its headers, at any byte": [
        *(PLAIN[:length] for length in range(1, 64)),
        *(packet(b"", tags=2, option_words=10)[:length] for length in range(60, 112, 3)),
    ],
    "ends within its payload, lengths agreeing": [
        *(PLAIN[:length] for length in range(64, len(PLAIN))),
        CHECKED[:-1],
        packet(bytes(100), tags=2, option_words=10)[:112],
    ],
    "padding behind the payload, of any length and content": [
        packet(b"", trailer=b"\xff"),
        packet(DATA, trailer=OURS, udp_checksum="correct"),
        packet(b"abc", trailer=bytes(range(200)), udp_checksum="correct", tags=1),
        packet(b"", trailer=b"\xa5" * 64, udp_checksum="correct", option_words=1),
    ],
    "shorter than an Ethernet header, or than 60 bytes": [
        *(bytes(length) for length in (1, 6, 12, 13, 14, 15, 18, 22, 33, 59, 60)),
        with_ethertype(0x0800, b"")[:14],
        with_tags(b"\x81\x00\x00\x01", raw=PLAIN[:14]),
        with_tags(b"\x81\x00\x00\x01")[:16],
    ],
    "regular, with the bad-frame mark": [
        bytes(60),
        PLAIN[:50],
        changed(PLAIN, 36, b"\0\1"),
        ipv6(17),
        bytes(range(200)),
    ],
    "tagged, with the bad-frame mark": [PLAIN, CHECKED, packet(b""), packet(bytes(200), trailer=b"x" * 70)],
    "regular jumbo, up to `frame_bytes` and beyond": [
        bytes(range(256)) * 36,
        changed(packet(bytes(9000)), 36, b"\0\1"),
        with_ethertype(0x86DD) + bytes(range(256)) * 40,
    ],
}

_DOCUMENT = Path(__file__).parents[3] / "docs" / "ingress.md"


def documented() -> dict[str, tuple[str, str]]:
    """Of every row in docs/ingress.md that decides: its name, the decision, and what it counts as."""
    rows = {}
    for line in _DOCUMENT.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and cells[1] in ("tagged", "regular", "dropped"):
            rows[cells[0]] = (cells[1], cells[2])
    return rows


def frames(row: str) -> list[Frame]:
    """The frames of a row, marked bad where it is about that."""
    return [Frame(raw, bad="bad-frame mark" in row, queue=number % 256) for number, raw in enumerate(DECISIONS[row])]
