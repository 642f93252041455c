"""Frames are built and read as the wire tables say; scapy, which knows Ethernet, IPv4 and UDP, is the judge."""

import dataclasses
import random

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether

from fanfold.codes import Collective, DataType, Direction, Operator, Status
from fanfold.wire import COLLECTIVE, HEADER_BYTES, RECORD
from fanfold_sim.frames import Address, Packet, build, inspect, internet_checksum, parse
from fanfold_sim.records import read_record, read_total, record, total

PORT = 49169
LEADER = Address(0x020000000001, 0x0A000001, 5001)
NIC = Address(0x02000000FF00, 0x0A0000FE, PORT)


def packet(**changes) -> Packet:
    fields = dict(sender=LEADER, receiver=NIC, comm_id=7, coll_tag=3, coll_tag_high32=0xC0FFEE, payload=b"12345678")
    return Packet(**{**fields, **changes})


def test_headers_of_a_plain_packet_are_one_beat_and_where_the_table_says():
    frame = build(packet(opt_code=Operator.MAX, data_type=DataType.FLOAT32, source=2, root=5))
    assert len(frame) == HEADER_BYTES + 8
    header = COLLECTIVE.unpack(frame[HEADER_BYTES - COLLECTIVE.bytes :])
    assert header == {
        "coll_tag_high32": 0xC0FFEE,
        "coll_tag": 3,
        "comm_id": 7,
        "opt_code": Operator.MAX.value,
        "data_type": DataType.FLOAT32.value,
        "collective": Collective.ALLREDUCE.value,
        "flags": 0x40,
        "source": 2,
        "root": 5,
        "status": 0,
        "length": 8,
    }


@pytest.mark.parametrize("tags", [(), ((0x8100, 0x6005),), ((0x88A8, 100), (0x8100, 200))])
@pytest.mark.parametrize("options", [b"", b"\x01\x01\x01\x00", b"\x94\x04\x00\x00" * 10])
@pytest.mark.parametrize("length", [0, 1, 7, 64, 1024])
def test_scapy_reads_what_is_built(tags, options, length):
    payload = random.Random(length).randbytes(length)
    frame = build(packet(tags=tags, ip_options=options, payload=payload, udp_checksum="correct"))
    scapy = Ether(frame)
    assert scapy.src == "02:00:00:00:00:01" and scapy.dst == "02:00:00:00:ff:00"
    assert [layer.vlan for layer in scapy.iterpayloads() if isinstance(layer, Dot1Q)] == [c & 0xFFF for _, c in tags]
    assert scapy[IP].ihl * 4 == 20 + len(options)
    assert (scapy[UDP].sport, scapy[UDP].dport, scapy[UDP].len) == (5001, PORT, 30 + length)
    assert bytes(scapy[UDP].payload)[COLLECTIVE.bytes :] == payload
    checksums = scapy[IP].chksum, scapy[UDP].chksum
    del scapy[IP].chksum, scapy[UDP].chksum
    again = Ether(bytes(scapy))
    assert checksums == (again[IP].chksum, again[UDP].chksum)


def test_parse_is_the_inverse_of_build():
    rng = random.Random(1)
    for _ in range(300):
        tags = tuple((rng.choice((0x8100, 0x88A8, 0x9100)), rng.getrandbits(16)) for _ in range(rng.randrange(3)))
        payload = rng.randbytes(rng.randrange(100))
        original = packet(
            sender=dataclasses.replace(LEADER, tags=tags),
            direction=rng.choice(list(Direction)),
            repeat=rng.getrandbits(1),
            coll_tag=rng.getrandbits(32),
            collective=rng.choice([*Collective, 99]),
            opt_code=rng.choice([*Operator, 200]),
            data_type=rng.choice([*DataType, 200]),
            status=rng.choice([*Status, 4000]),
            payload=payload,
            ip_options=rng.randbytes(4 * rng.randrange(11)),
            trailer=rng.randbytes(rng.randrange(10)),
            service=rng.getrandbits(8),
            udp_checksum=rng.choice([None, "correct"]),
        )
        read = parse(build(original), PORT)
        assert read.damage == ""
        assert build(read) == build(original)
        assert read.status == original.status and read.collective == original.collective
        assert read.sender == original.sender and read.payload == payload


def test_checksum_of_rfc_1071_and_of_itself():
    assert internet_checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D
    assert internet_checksum(b"") == 0xFFFF
    assert internet_checksum(b"\xff\xff") == 0
    assert internet_checksum(b"\x12") == 0xFFFF ^ 0x1200


def test_a_correct_checksum_of_zero_is_sent_as_ones():
    """RFC 768: 0 on the wire means none."""
    frame = build(packet(payload=b"\0\0", udp_checksum="correct"))
    checksum = int.from_bytes(frame[40:42], "big")
    frame = build(packet(payload=checksum.to_bytes(2, "big"), udp_checksum="correct"))
    assert frame[40:42] == b"\xff\xff"
    assert parse(frame, PORT).damage == ""


def edit(frame: bytes, at: int, new: bytes) -> bytes:
    return frame[:at] + new + frame[at + len(new) :]


def with_ip(frame: bytes, at: int, new: bytes) -> bytes:
    """``frame`` with some of its IPv4 header replaced and the checksum made to fit again."""
    header = edit(edit(frame[14:34], at, new), 10, b"\0\0")
    return edit(frame, 14, edit(header, 10, internet_checksum(header).to_bytes(2, "big")))


@pytest.mark.parametrize(
    "change, reason",
    [
        (lambda frame: frame[:13], "Ethernet header cut short"),
        (lambda frame: frame[:12] + b"\x81\x00\x00", "VLAN tag cut short"),
        (lambda frame: frame[:12] + b"\x81\x00\x00\x01", "Ethernet header cut short"),
        (lambda frame: edit(frame, 12, b"\x08\x06"), "EtherType 0x0806"),
        (lambda frame: frame[:12] + b"\x81\x00\x00\x01" * 3 + frame[12:], "more than 2 VLAN tags"),
        (lambda frame: frame[:33], "IPv4 header cut short"),
        (lambda frame: edit(frame, 14, b"\x65"), "no IPv4 header: version and length are 0x65"),
        (lambda frame: with_ip(frame, 0, b"\x44"), "no IPv4 header: version and length are 0x44"),
        (lambda frame: with_ip(frame, 9, b"\x06"), "IP protocol 6"),
        (lambda frame: with_ip(frame, 6, b"\x20\x00"), "a fragment"),
        (lambda frame: with_ip(frame, 6, b"\x00\x01"), "a fragment"),
        (lambda frame: frame[:63], "headers cut short"),
        (lambda frame: edit(frame, 22, b"\x63"), "wrong IPv4 checksum"),
        (lambda frame: edit(frame, 36, b"\x00\x01"), "UDP port 1"),
        (lambda frame: edit(frame, 38, b"\x00\x27"), "UDP length 39 in 38 bytes of IP"),
        (lambda frame: edit(frame, 55, b"\x80"), "version 2"),
        (lambda frame: edit(frame, 62, b"\x00\x07"), "payload of 7 bytes in a UDP length of 38"),
    ],
)
def test_what_makes_a_frame_regular(change, reason):
    assert inspect(change(build(packet())), PORT) == (None, reason)


def test_damage():
    frame = build(packet(udp_checksum="correct"))
    assert parse(frame, PORT).damage == ""
    assert parse(frame + b"\0" * 5, PORT).damage == ""
    assert parse(frame[:-1], PORT).damage == "cut short"
    assert parse(edit(frame, 70, b"x"), PORT).damage == "wrong UDP checksum"
    assert parse(build(packet(udp_checksum=0x1234)), PORT).damage == "wrong UDP checksum"


def test_build_refuses_options_that_are_no_words():
    with pytest.raises(ValueError, match="5 bytes of IP options"):
        build(packet(ip_options=b"12345"))


def test_registration_payloads():
    root = record(ranks=24, node=1, leaders=4, children=1, window=8)
    assert len(root) == RECORD.bytes
    assert root[:4] == b"\x18\0\0\0" and root[RECORD.offset("flags")] == 1
    assert read_record(root).parent is None
    parent = dataclasses.replace(NIC, tags=((0x88A8, 1), (0x8100, 2)))
    child = record(ranks=24, node=1, leaders=4, window=8, parent=parent, parent_index=5)
    assert read_record(child).parent == parent and read_record(child).parent_index == 5
    at = RECORD.offset("parent_ip")
    assert child[at : at + 4] == bytes([10, 0, 0, 254])
    at = RECORD.offset("parent_outer")
    assert child[at : at + 8] == bytes.fromhex("88a8000181000002")
    assert total(0x0102) == b"\x02\x01\0\0" and read_total(total(192)) == 192
    with pytest.raises(ValueError, match="3 VLAN tags to the parent"):
        record(ranks=1, leaders=1, window=1, parent=dataclasses.replace(NIC, tags=((0x8100, 1),) * 3))
