"""Captures are read whoever wrote them, and ours are read by others: scapy, and tshark where it is installed."""

import json
import shutil
import subprocess

import pytest
from scapy.utils import RawPcapNgReader, RawPcapWriter

from fanfold_sim.captures import CaptureWriter, read_frames

FRAMES = [bytes(range(60)), b"\xff" * 61, b"x", bytes(1514)]
#: times that microseconds, or 32 bits, could not hold
TIMES = [0, 1, 123_456_789_012_345, (1 << 32) + 7]


def written(path) -> None:
    with CaptureWriter(path, ["host", "net"]) as capture:
        for number, (frame, time) in enumerate(zip(FRAMES, TIMES, strict=True)):
            capture.write(("host", "net")[number % 2], frame, time, outbound=number >= 2)


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "ports.pcapng"
    written(path)
    assert read_frames(path) == FRAMES
    assert read_frames(str(path)) == FRAMES


def test_scapy_sees_interfaces_times_and_directions(tmp_path):
    path = tmp_path / "ports.pcapng"
    written(path)
    with RawPcapNgReader(str(path)) as reader:
        read = list(reader)
    assert [frame for frame, _ in read] == FRAMES
    assert [(meta.tshigh << 32) + meta.tslow for _, meta in read] == TIMES
    assert {meta.tsresol for _, meta in read} == {10**9}
    assert [meta.ifname for _, meta in read] == [b"host", b"net"] * 2
    assert [meta.direction for _, meta in read] == [1, 1, 2, 2]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_sees_interfaces_times_and_directions(tmp_path):
    path = tmp_path / "ports.pcapng"
    written(path)
    fields = ["frame.interface_name", "frame.time_epoch", "frame.len", "frame.packet_flags_direction"]
    command = ["tshark", "-r", str(path), "-T", "json", *(part for field in fields for part in ("-e", field))]
    packets = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    layers = [packet["_source"]["layers"] for packet in packets]
    assert [layer["frame.interface_name"] for layer in layers] == [["host"], ["net"]] * 2
    assert [layer["frame.time_epoch"] for layer in layers] == [
        ["0.000000000"],
        ["0.000000001"],
        ["123456.789012345"],
        ["4.294967303"],
    ]
    assert [int(layer["frame.len"][0]) for layer in layers] == [len(frame) for frame in FRAMES]
    directions = [int(layer["frame.packet_flags_direction"][0], 16) for layer in layers]
    assert directions == [1, 1, 2, 2]


@pytest.mark.parametrize("nano", [False, True])
@pytest.mark.parametrize("endianness", ["<", ">"])
def test_classic_pcap_is_read(tmp_path, nano, endianness):
    path = tmp_path / "classic.pcap"
    with RawPcapWriter(str(path), linktype=1, nano=nano, endianness=endianness) as writer:
        writer.write_header(FRAMES[0])
        for frame in FRAMES:
            writer.write_packet(frame)
    assert read_frames(path) == FRAMES


@pytest.mark.parametrize("content", [b"", b"\n", b"no capture at all, just some text\n", bytes(100)])
def test_a_file_that_is_no_capture_is_named(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"notes\.txt: not a pcap or pcapng file"):
        read_frames(path)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere\.pcap: No such file"):
        read_frames(tmp_path / "nowhere.pcap")
    with pytest.raises(ValueError, match="Is a directory"):
        read_frames(tmp_path)


def test_other_link_types_are_refused(tmp_path):
    path = tmp_path / "wifi.pcap"
    with RawPcapWriter(str(path), linktype=105) as writer:
        writer.write_header(b"x")
        writer.write_packet(b"x" * 20)
    with pytest.raises(ValueError, match=r"wifi\.pcap: link type 105 is not Ethernet"):
        read_frames(path)


def test_interfaces_have_names_of_their_own(tmp_path):
    for names in ([], ["host", "host"]):
        with pytest.raises(ValueError, match="interfaces is"):
            CaptureWriter(tmp_path / "x.pcapng", names)
    with CaptureWriter(tmp_path / "x.pcapng", ["host"]) as capture, pytest.raises(KeyError):
        capture.write("net", b"x", 0, outbound=False)
