"""Machines and groups: presets, lstopo files of hwloc 1.x, 2.x and 3.x, and files that are none."""

from pathlib import Path

import pytest

from fanfold_sim.topology import (
    MACHINES,
    Core,
    CoreGroup,
    Distance,
    Machine,
    TopologyError,
    group_cores,
    load_machine,
    read_hwloc,
)
from fanfold_sim.topology.hwloc import parse_cpuset

FILES = Path(__file__).parent / "topologies"


def shape(machine):
    """Packages, domains, cores, and what a domain is."""
    return machine.packages, machine.domains, len(machine.cores), machine.domain_kind


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kunpeng920-96", (2, 4, 96, "NUMA")),
        ("xeon-8375c", (2, 2, 64, "NUMA")),
        ("epyc-7742", (2, 2, 128, "NUMA")),
    ],
)
def test_presets(name, expected):
    assert shape(load_machine(name)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hwloc1-sockets", (2, 4, 8, "NUMA")),
        ("hwloc1-numa-outside", (2, 2, 4, "NUMA")),
        ("hwloc1-plain", (1, 1, 4, "Package")),
        ("hwloc2-sockets", (2, 4, 8, "NUMA")),
        ("hwloc2-dies", (1, 2, 6, "Die")),
        ("hwloc3-memory", (2, 2, 4, "NUMA")),
    ],
)
def test_lstopo_files(name, expected):
    machine = load_machine(str(FILES / f"{name}.xml"))
    assert shape(machine) == expected
    assert machine.name == name


def test_the_same_machine_whichever_version_wrote_it():
    assert read_hwloc(FILES / "hwloc1-sockets.xml").cores == read_hwloc(FILES / "hwloc2-sockets.xml").cores


def test_groups_of_the_source_documents_example():
    machine = MACHINES["kunpeng920-96"]
    assert [group.leader for group in group_cores(machine, "socket")] == [0, 48]
    assert [group.leader for group in group_cores(machine, "numa")] == [0, 24, 48, 72]
    assert group_cores(machine, "numa")[3].members == tuple(range(73, 96))
    assert group_cores(machine, "core")[95] == CoreGroup(95, (95,))
    with pytest.raises(TopologyError, match=r"grouping is 'node': it must be one of socket, numa, core"):
        group_cores(machine, "node")


def test_interleaved_cores_group_by_where_they_are():
    cores = tuple(Core(index, package=index % 2, domain=index % 2) for index in range(6))
    groups = group_cores(Machine("interleaved", cores), "socket")
    assert [group.cores for group in groups] == [(0, 2, 4), (1, 3, 5)]


def test_distances():
    machine = MACHINES["kunpeng920-96"]
    assert machine.distance(0, 23) is Distance.SAME_DOMAIN
    assert machine.distance(0, 24) is Distance.SAME_PACKAGE
    assert machine.distance(0, 48) is Distance.OTHER_PACKAGE


def test_cpusets():
    assert parse_cpuset("0x0000000f") == 15
    assert parse_cpuset("0x00000001,,0x2") == 1 << 64 | 2
    assert parse_cpuset("0x1,0x00000000") == 1 << 32
    for text in ("", "15", "0x", "0x123456789", "0xf...f", "0x1;0x2"):
        with pytest.raises(ValueError, match="no list of 32-bit hexadecimal groups"):
            parse_cpuset(text)
    with pytest.raises(ValueError, match="at most"):
        parse_cpuset("," * 5000)


def objects(*kinds_and_sets):
    return (
        "<topology>" + "".join(f'<object type="{kind}" cpuset="{units}"/>' for kind, units in kinds_and_sets)
    ) + "</topology>"


def test_overlapping_and_missing_domains(tmp_path):
    """The smallest set counts; cores without local memory make a domain of their own."""
    path = tmp_path / "odd.xml"
    path.write_text(
        objects(
            ("Package", "0xff"), ("NUMANode", "0xff"), ("NUMANode", "0x3"), *(("Core", hex(1 << n)) for n in range(8))
        )
    )
    assert [core.domain for core in read_hwloc(path).cores] == [0, 0, 1, 1, 1, 1, 1, 1]
    path.write_text(
        objects(
            ("Package", "0xf"), ("NUMANode", "0x1"), ("NUMANode", "0x2"), *(("Core", hex(1 << n)) for n in range(4))
        )
    )
    assert [core.domain for core in read_hwloc(path).cores] == [0, 1, 2, 2]


def test_a_domain_across_packages_is_cut(tmp_path):
    path = tmp_path / "wide.xml"
    path.write_text(
        objects(
            ("Package", "0x3"),
            ("Package", "0xc"),
            ("NUMANode", "0x6"),
            ("NUMANode", "0x9"),
            *(("Core", hex(1 << n)) for n in range(4)),
        )
    )
    assert shape(read_hwloc(path)) == (2, 4, 4, "NUMA")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no XML"),
        ("not xml at all", "no XML"),
        ("<topology><object>", "no XML"),
        ("<html/>", "its root element is <html>"),
        ("<topology/>", "no object of type Core or PU"),
        (objects(("Machine", "0x3")), "no object of type Core or PU"),
        (objects(("Core", "zero")), "cpuset 'zero'"),
        (objects(("Core", "0x1"), ("Core", "0x1")), "shares processing units"),
        (objects(("Package", "0x1"), ("Core", "0x1"), ("Core", "0x2")), "in 0 packages"),
        (objects(("Package", "0x1"), ("Package", "0x3"), ("Core", "0x1")), "in 2 packages"),
    ],
)
def test_files_that_are_no_topology(tmp_path, content, message):
    path = tmp_path / "machine.xml"
    path.write_text(content)
    with pytest.raises(TopologyError, match=message) as caught:
        read_hwloc(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_names():
    with pytest.raises(TopologyError, match=r"nowhere: no such file, and no preset \(presets are kunpeng920-96"):
        load_machine("nowhere")
    with pytest.raises(TopologyError, match="has no cores"):
        Machine("empty", ())
