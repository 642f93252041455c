"""The documentation of the wire format says what the tables say, and its example is what is built."""

import re
from pathlib import Path

import pytest

from fanfold.codes import Collective, DataType, Operator, Status
from fanfold.wire import COLLECTIVE, ETHERNET, FLAGS, HEADER_BYTES, IPV4, RECORD, TAG_PROTOCOLS, TOTAL, UDP, VLAN
from fanfold_sim.frames import Address, Packet, build

PAGE = (Path(__file__).parents[2] / "docs" / "wire-format.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The rows of the first table under ``heading``, without its head."""
    section = re.split(r"^##+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    rows = []
    for line in section.splitlines():
        if line.startswith("|"):
            rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
        elif rows:
            break
    return rows[2:]


@pytest.mark.parametrize(
    "heading, layout",
    [
        ("Ethernet", ETHERNET),
        ("VLAN tag", VLAN),
        ("IPv4", IPV4),
        ("UDP", UDP),
        ("The collective header", COLLECTIVE),
        ("Record", RECORD),
        ("Total", TOTAL),
    ],
)
def test_layouts(heading, layout):
    rows = [[str(layout.offset(one.name)), str(one.bytes), one.name, one.meaning] for one in layout.fields]
    assert table(heading) == rows


@pytest.mark.parametrize(
    "heading, members",
    [("Collectives", Collective), ("Operators", Operator), ("Data types", DataType), ("Statuses", Status)],
)
def test_codes(heading, members):
    assert [row[:2] for row in table(heading)] == [[str(member.value), member.name] for member in members]


def test_element_sizes():
    assert [int(row[2]) for row in table("Data types")] == [member.element_bytes for member in DataType]


def test_flags():
    section = PAGE.split("`flags`, from the highest bit:", 1)[1].split("An example", 1)[0]
    rows = re.findall(r"^\| ([\d:]+) \| `(\w+)` \|", section, flags=re.M)
    expected = []
    for name, one in reversed(list(FLAGS)):
        high, low = one.offset + one.width - 1, one.offset
        expected.append((f"{high}:{low}" if one.width > 1 else str(low), name))
    assert rows == expected


def test_numbers_in_the_text():
    for text in (
        f"the headers are {HEADER_BYTES} bytes",
        ", ".join(f"0x{tag:04X}" for tag in TAG_PROTOCOLS),
        f"The UDP length is {UDP.bytes + COLLECTIVE.bytes} + `length`",
        f"UP registration, {RECORD.bytes} bytes",
        f"DOWN registration, {TOTAL.bytes} bytes",
    ):
        assert text in PAGE


def test_the_example_is_what_is_built():
    printed = bytes.fromhex(re.search(r"^c0 ff .*$", PAGE, flags=re.M).group())
    here = Address(1, 1, 1)
    frame = build(
        Packet(
            sender=here,
            receiver=here,
            coll_tag_high32=0xC0FFEE42,
            coll_tag=5,
            comm_id=7,
            data_type=DataType.FLOAT32,
            source=1,
            payload=bytes.fromhex("0000803f00000040"),
        )
    )
    assert frame[HEADER_BYTES - COLLECTIVE.bytes :] == printed
