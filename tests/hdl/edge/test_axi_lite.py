"""AXI4-Lite in front of the registers: orders of arrival, responses, errors, and fair turns."""

import random
from itertools import pairwise

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from fanfold.config import PRESETS
from fanfold.control import Registers, by_name
from fanfold.edge import AxiLite, axi_lite_signature
from fanfold_sim.bench import cycle, run

TINY = PRESETS["tiny"]
OKAY, SLVERR = 0, 2
SCRATCH, MAGIC, RELEASE = (by_name(TINY)[name].address for name in ("scratch", "magic", "release"))


class Control(wiring.Component):
    """The port and the registers behind it."""

    axil: In(axi_lite_signature())

    def elaborate(self, platform):
        m = Module()
        m.submodules.front = front = AxiLite()
        m.submodules.registers = registers = Registers(TINY)
        wiring.connect(m, wiring.flipped(self.axil), front.axil)
        wiring.connect(m, front.bus, registers.bus)
        return m


async def give(ctx, axil, channel, delay=0, **fields):
    """Offers one item on an incoming channel; between offers its fields are rubbish, as they may be."""
    for _ in range(delay):
        await cycle(ctx)
    for name, value in fields.items():
        ctx.set(getattr(axil, f"{channel}{name}"), value)
    ctx.set(getattr(axil, f"{channel}valid"), 1)
    while not (await cycle(ctx, getattr(axil, f"{channel}ready")))[0]:
        pass
    ctx.set(getattr(axil, f"{channel}valid"), 0)
    for name, value in fields.items():
        ctx.set(getattr(axil, f"{channel}{name}"), ~value)


async def take(ctx, axil, channel, *names, delay=0):
    """Takes one item from an outgoing channel, ready ``delay`` cycles after it is valid; it must stand still."""
    signals = [getattr(axil, f"{channel}{name}") for name in names]
    valid = getattr(axil, f"{channel}valid")
    offered = None
    while True:
        ctx.set(getattr(axil, f"{channel}ready"), offered is not None and delay == 0)
        is_valid, *values = await cycle(ctx, valid, *signals)
        if offered is not None:
            assert is_valid and values == offered, "a response changed while stalled"
            if delay == 0:
                ctx.set(getattr(axil, f"{channel}ready"), 0)
                return tuple(values)
            delay -= 1
        elif is_valid:
            offered = values


async def read(ctx, axil, address, *, delay=0):
    await give(ctx, axil, "ar", addr=address, prot=0)
    return await take(ctx, axil, "r", "data", "resp", delay=delay)


@pytest.mark.parametrize("late_response", [0, 5])
@pytest.mark.parametrize(("address_delay", "data_delay"), [(0, 0), (0, 7), (7, 0), (1, 0), (0, 1)])
def test_address_and_data_come_in_any_order(address_delay, data_delay, late_response):
    dut = Control()
    values = [0x01234567, 0x89ABCDEF, 0xFFFFFFFF]
    written = Signal(range(len(values) + 1))

    async def addresses(ctx):
        for _ in values:
            await give(ctx, dut.axil, "aw", address_delay, addr=SCRATCH, prot=0)

    async def words(ctx):
        for value in values:
            await give(ctx, dut.axil, "w", data_delay, data=value, strb=0xF)

    async def responses(ctx):
        for number, _ in enumerate(values, start=1):
            assert await take(ctx, dut.axil, "b", "resp", delay=late_response) == (OKAY,)
            ctx.set(written, number)
        assert await read(ctx, dut.axil, SCRATCH, delay=late_response) == (values[-1], OKAY)

    run(dut, addresses, words, responses, cycles=500)


def test_strobes_reach_the_registers():
    dut = Control()

    async def manager(ctx):
        held = 0
        choices = random.Random(7)
        for strobe in range(16):
            value = choices.getrandbits(32)
            await give(ctx, dut.axil, "aw", addr=SCRATCH, prot=0)
            await give(ctx, dut.axil, "w", data=value, strb=strobe)
            assert await take(ctx, dut.axil, "b", "resp") == (OKAY,)
            chosen = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            held = held & ~chosen | value & chosen
            assert await read(ctx, dut.axil, SCRATCH) == (held, OKAY)

    run(dut, manager, cycles=1000)


@pytest.mark.parametrize(
    ("address", "write"),
    [
        (MAGIC, True),  # read only
        (RELEASE, False),  # write only
        (0xFFC, False),  # nothing there
        (0xFFC, True),
        (RELEASE, True),  # no such context
    ],
)
def test_what_the_registers_refuse_is_an_error_and_no_hang(address, write):
    dut = Control()

    async def manager(ctx):
        for _ in range(2):
            if write:
                await give(ctx, dut.axil, "aw", addr=address, prot=7)
                await give(ctx, dut.axil, "w", data=0xDEADBEEF, strb=0xF)
                assert await take(ctx, dut.axil, "b", "resp") == (SLVERR,)
            else:
                assert await read(ctx, dut.axil, address) == (0, SLVERR)
            assert await read(ctx, dut.axil, MAGIC) == (0x464F4C44, OKAY)

    run(dut, manager, cycles=200)


def test_reads_and_writes_take_turns():
    """Both sides always have the next access waiting: they alternate."""
    dut = Control()
    order = []

    async def addresses(ctx):
        for _ in range(10):
            await give(ctx, dut.axil, "aw", addr=SCRATCH, prot=0)

    async def words(ctx):
        for value in range(10):
            await give(ctx, dut.axil, "w", data=value, strb=0xF)

    async def reads(ctx):
        for _ in range(10):
            await give(ctx, dut.axil, "ar", addr=SCRATCH, prot=0)

    async def written(ctx):
        for _ in range(10):
            await take(ctx, dut.axil, "b", "resp")
            order.append("write")

    async def answered(ctx):
        for _ in range(10):
            await take(ctx, dut.axil, "r", "data", "resp")
            order.append("read")

    run(dut, addresses, words, reads, written, answered, cycles=500)
    assert all(first != second for first, second in pairwise(order)), order


def test_half_a_write_stops_no_read():
    dut = Control()

    async def manager(ctx):
        await give(ctx, dut.axil, "aw", addr=SCRATCH, prot=0)
        assert await read(ctx, dut.axil, MAGIC) == (0x464F4C44, OKAY)
        await give(ctx, dut.axil, "w", data=5, strb=0xF)
        assert await take(ctx, dut.axil, "b", "resp") == (OKAY,)
        assert await read(ctx, dut.axil, SCRATCH) == (5, OKAY)

    run(dut, manager, cycles=200)
