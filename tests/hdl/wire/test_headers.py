"""The wire tables: offsets, bytes by hand, and the same numbers in hardware and in Python."""

import random

import pytest
from amaranth import *
from amaranth.sim import Simulator

from fanfold.wire import (
    COLLECTIVE,
    ETHERNET,
    FAULT,
    FLAGS,
    HEADER_BYTES,
    IPV4,
    RECORD,
    RECORD_FLAGS,
    TOTAL,
    UDP,
    VLAN,
    Field,
    Layout,
    swap,
)
from fanfold_sim.bench import refuses

LAYOUTS = {each.name: each for each in (ETHERNET, VLAN, IPV4, UDP, COLLECTIVE, RECORD, TOTAL, FAULT)}


def test_sizes_are_those_of_the_standards():
    assert [layout.bytes for layout in (ETHERNET, VLAN, IPV4, UDP, COLLECTIVE)] == [14, 4, 20, 8, 22]
    assert HEADER_BYTES == 64
    assert (RECORD.bytes, TOTAL.bytes, FAULT.bytes) == (44, 4, 24)


@pytest.mark.parametrize(
    "name, offset",
    [
        ("coll_tag_high32", 0),
        ("coll_tag", 4),
        ("comm_id", 8),
        ("opt_code", 10),
        ("data_type", 11),
        ("collective", 12),
        ("flags", 13),
        ("source", 14),
        ("root", 16),
        ("status", 18),
        ("length", 20),
    ],
)
def test_collective_header_offsets(name, offset):
    assert COLLECTIVE.offset(name) == offset


def test_headers_are_big_endian():
    raw = COLLECTIVE.pack(
        coll_tag_high32=0x01020304, coll_tag=0x05060708, comm_id=0x090A, opt_code=0x0B, data_type=0x0C,
        collective=0x0D, flags=0x0E, source=0x0F10, root=0x1112, status=0x1314, length=0x1516,
    )  # fmt: skip
    assert raw == bytes(range(1, 23))


def test_records_are_little_endian_but_for_addresses():
    raw = RECORD.pack(
        ranks=0x04030201, node=0x08070605, leaders=0x0A09, children=0x0C0B, window=0x0E0D, parent_index=0x100F,
        flags=0x11, parent_tags=0x12, parent_mac=0x131415161718, parent_ip=0x191A1B1C, parent_port=0x1E1D,
        parent_outer=0x1F202122, parent_inner=0x23242526, parent_total=0x2827, abort_ticks=0x2C2B2A29,
    )  # fmt: skip
    assert raw == bytes(range(1, 45))


def test_flag_bits():
    assert [FLAGS[name].offset for name in ("error", "repeat", "direction", "version")] == [3, 4, 5, 6]
    assert FLAGS.size == 8 and RECORD_FLAGS.size == 8
    assert RECORD_FLAGS["root"].offset == 0


@pytest.mark.parametrize("name", LAYOUTS)
def test_hardware_and_python_read_the_same_numbers(name):
    layout = LAYOUTS[name]
    choices = random.Random(name)
    wire = Signal(8 * layout.bytes)
    native = Signal(layout.struct())
    again = Signal(8 * layout.bytes)
    m = Module()
    m.d.comb += [native.eq(layout.from_wire(wire)), again.eq(layout.to_wire(native))]
    simulator = Simulator(m)

    async def body(ctx):
        for _ in range(5):
            raw = choices.randbytes(layout.bytes)
            ctx.set(wire, int.from_bytes(raw, "little"))
            values = layout.unpack(raw)
            assert {field.name: getattr(ctx.get(native), field.name) for field in layout.fields} == values
            assert ctx.get(again) == ctx.get(wire)
            assert layout.pack(**values) == raw

    simulator.add_testbench(body)
    simulator.run()


def test_what_does_not_fit_is_named():
    with refuses(r"UDP\.length is 65536: it must fit 2 bytes"):
        UDP.pack(length=65536)
    with pytest.raises(KeyError, match="no field 'lenght'"):
        UDP.pack(lenght=1)
    with refuses("7 bytes are no UDP: it has 8"):
        UDP.unpack(bytes(7))


def test_bytes_behind_the_layout_do_not_matter():
    assert VLAN.unpack(bytes.fromhex("8100 0123 ff")) == {"protocol": 0x8100, "control": 0x0123}


def test_a_string_reads_in_wire_order_in_both():
    layout = Layout("pair", "little", (Field("number", 2, ""), Field("address", 2, "")), frozenset({"address"}))
    assert layout.pack(number=0x0201, address=0x0304) == bytes([1, 2, 3, 4])


def test_swap():
    value = Signal(24)
    m = Module()
    result = Signal(24)
    m.d.comb += result.eq(swap(value))
    simulator = Simulator(m)

    async def body(ctx):
        ctx.set(value, 0x010203)
        assert ctx.get(result) == 0x030201

    simulator.add_testbench(body)
    simulator.run()
    with pytest.raises(AssertionError, match="12 bits"):
        swap(Signal(12))
