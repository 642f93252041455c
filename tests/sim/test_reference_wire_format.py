"""The documentation of the wire format says what the tables say, and its example is what is built."""

import ctypes
import re
from pathlib import Path

import pytest

from fanfold.codes import Collective, DataType, Operator, Status, defined
from fanfold.wire import COLLECTIVE, ETHERNET, FAULT, FLAGS, HEADER_BYTES, IPV4, RECORD, TAG_PROTOCOLS, TOTAL, UDP, VLAN
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
        ("Fault", FAULT),
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


def test_mpi_names_of_operators():
    assert [row[2] for row in table("Operators")] == [f"MPI_{member.name}" for member in Operator]


def mpi_name(member: DataType) -> str:
    """MPI's name by the rule of its kind; C's integers of a fixed width have theirs in MPI."""
    words = member.name.split("_")
    c_types = {"INT32": "INT", "FLOAT32": "FLOAT", "FLOAT64": "DOUBLE"}
    if member.pair:
        names = [c_types[word] for word in words]
        return "MPI_2INT" if names[0] == names[1] else f"MPI_{'_'.join(names)}"
    if member.floating:
        return f"MPI_{c_types[member.name]}" if member.name in c_types else "no name"
    return f"MPI_{member.name}_T"


def test_mpi_names_of_types():
    assert [row[4] for row in table("Data types")] == [mpi_name(member) for member in DataType]


def test_layouts_of_pairs():
    """A pair is the structure that a C compiler, here behind ``ctypes``, makes of its parts."""
    c_types = {"INT32": ctypes.c_int32, "FLOAT32": ctypes.c_float, "FLOAT64": ctypes.c_double}
    section = PAGE.split("A pair lies in the payload", 1)[1].split("### ", 1)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\| `.*", section, flags=re.M)
    ]
    expected = []
    for member in (member for member in DataType if member.pair):
        names = member.name.split("_")
        kinds = [(part, c_types[name]) for part, name in zip(("value", "index"), names, strict=True)]
        structure = type(member.name, (ctypes.LittleEndianStructure,), {"_fields_": kinds})
        size, end = ctypes.sizeof(structure), structure.index.offset + structure.index.size
        assert size == member.element_bytes
        parts = [getattr(structure, part) for part, _ in kinds]
        spans = [f"{at.offset} to {at.offset + at.size - 1}, `{name}`" for at, name in zip(parts, names, strict=True)]
        expected.append([f"`{member.name}`", str(size), *spans, f"{end} to {size - 1}" if end < size else ""])
    assert rows == expected


def test_defined_pairs():
    columns = [r"U?INT\d+", r"B?FLOAT\d+", r"\w+\d+_INT\d+"]
    said = {}
    for operators, *answers in table("Defined pairs"):
        for operator in re.findall(r"\w+", operators):
            for kind in DataType:
                [column] = [at for at, pattern in enumerate(columns) if re.fullmatch(pattern, kind.name)]
                said[operator, kind.name] = answers[column]
    expected = {(one.name, kind.name): "yes" if defined(one, kind) else "no" for one in Operator for kind in DataType}
    assert said == expected


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
