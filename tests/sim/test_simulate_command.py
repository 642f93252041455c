"""``fanfold simulate`` as a user runs it: what it prints and writes, its exit codes, and bad input in one line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fanfold_sim.cli.simulate
from fanfold.codes import DataType, Operator, Port
from fanfold.config import PRESETS, Config
from fanfold_sim.captures import CaptureWriter, read_frames
from fanfold_sim.cli import main
from fanfold_sim.cli.options import CONFIG_HELP
from fanfold_sim.host.background import synthetic_frames
from fanfold_sim.host.node import SimulationError
from fanfold_sim.host.rows import made_up_rows

TOPOLOGIES = Path(__file__).parent / "topologies"
SMALL = ("--topology", str(TOPOLOGIES / "hwloc2-sockets.xml"), "--simulator", "reference")


def simulate(*arguments):
    return main(["simulate", *SMALL, *map(str, arguments)])


def test_the_main_job(capsys, tmp_path):
    report = tmp_path / "report.json"
    arguments = (
        "--simulator",
        "reference",
        "--background",
        "synthetic:40",
        "--json",
        report,
        "--pcap",
        tmp_path / "cap",
    )
    assert main(["simulate", *map(str, arguments)]) == 0
    text = capsys.readouterr().out
    assert "correct: all 192 cores have the reference's bits" in text
    assert "160 of 160 frames came out as they went in" in text
    found = json.loads(report.read_text())
    assert found["correct"] is True
    assert found["latency_ns"] == pytest.approx(sum(found["parts_ns"].values()))
    assert found["nic_cycles"] == pytest.approx(found["parts_ns"]["nic"] / 5.12, abs=1)
    assert (found["regular"]["sent"], found["regular"]["identical"]) == (160, 160)
    assert found["seed"] == 0
    assert {"fanfold", "python", "amaranth", "numpy"} <= set(found["versions"])
    assert Config.from_dict(found["config"]) == PRESETS["numa"]
    for node in range(2):
        # 80 regular frames in and 80 out each way, and the collectives of four leaders and one other NIC, in and out
        assert len(read_frames(tmp_path / "cap" / f"node{node}.pcapng")) == 4 * 40 + 2 * 3 * (4 + 1)


def test_the_same_seed_gives_the_same_run(capsys, tmp_path):
    texts = []
    for seed in (5, 5, 6):
        assert simulate("--seed", seed, "--background", "synthetic:9") == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("by", ["socket", "numa", "core"])
@pytest.mark.parametrize("name", ["hwloc1-sockets", "hwloc2-dies", "hwloc3-memory", "hwloc1-plain"])
def test_lstopo_files(name, by, capsys):
    arguments = ("--topology", str(TOPOLOGIES / f"{name}.xml"), "--group-by", by, "--op", "min", "--type", "int32")
    assert simulate(*arguments, "--bytes", 40, "--nodes", 3) == 0
    assert name in capsys.readouterr().out


#: NICs that have everything
ALL = ("--operators", "all", "--types", "all")


@pytest.mark.parametrize("kind", [*DataType], ids=lambda kind: kind.name)
def test_data_from_a_file(tmp_path, capsys, kind):
    path = tmp_path / "rows.npy"
    np.save(path, made_up_rows(kind, 16, 10 * kind.element_bytes, 4))
    name = kind.name.lower()
    # whole numbers of 16 bits may be those of bfloat16, which NumPy does not have
    said = ("--type", name) if name == "bfloat16" else ()
    operator = "minloc" if kind.pair else "max"
    assert simulate("--data", path, "--op", operator, *said, *ALL) == 0
    assert f"{operator} of {name}, {10 * kind.element_bytes} bytes a core" in capsys.readouterr().out


@pytest.mark.parametrize("operator", [*Operator], ids=lambda operator: operator.name)
def test_an_operator_takes_the_usual_type_that_fits(tmp_path, operator):
    report = tmp_path / "report.json"
    name = operator.name.lower()
    assert simulate("--op", name, *ALL, "--json", report) == 0
    found = json.loads(report.read_text())
    usual = "float32" if name in ("sum", "prod", "min", "max") else "int32"
    assert (found["operator"], found["type"]) == (name, "float32_int32" if name.endswith("loc") else usual)


@pytest.mark.parametrize("kind", [*DataType], ids=lambda kind: kind.name)
def test_a_type_takes_the_usual_operator_that_fits(tmp_path, kind):
    report = tmp_path / "report.json"
    assert simulate("--type", kind.name.lower(), *ALL, "--json", report) == 0
    found = json.loads(report.read_text())
    expected = ("minloc" if kind.pair else "sum", kind.name.lower())
    assert (found["operator"], found["type"], found["correct"]) == (*expected, True)


def test_a_pair_of_the_configuration_is_taken(tmp_path):
    report = tmp_path / "report.json"
    assert simulate("--types", "int8,uint64", "--operators", "band,max", "--json", report) == 0
    found = json.loads(report.read_text())
    assert (found["operator"], found["type"]) == ("band", "int8"), "the first"


def test_a_barrier(tmp_path):
    report = tmp_path / "barrier.json"
    assert simulate("--collective", "barrier", "--json", report) == 0
    found = json.loads(report.read_text())
    assert (found["correct"], found["operator"], found["bytes"]) == (True, None, 0)


def test_background_from_a_capture(tmp_path, capsys):
    capture = tmp_path / "regular.pcapng"
    with CaptureWriter(capture, ["any"]) as writer:
        for frame in synthetic_frames(25, 1, 49169):
            writer.write("any", frame, 0, outbound=False)
    assert simulate("--background", capture) == 0
    assert "100 of 100 frames" in capsys.readouterr().out
    # a capture of a run has its registrations in it, and with the same seed all its collectives: no regular traffic
    assert simulate("--pcap", tmp_path, "--background", "synthetic:3") == 0
    capsys.readouterr()
    assert simulate("--background", tmp_path / "node0.pcapng") == 0
    assert "48 of 48 frames came out as they went in; 30 of the capture are collectives" in capsys.readouterr().out


def test_options_of_the_model(capsys, tmp_path):
    latencies = []
    for extra in ((), ("--set", "switch_ns=1250"), ("--host-profile", "epyc-7742")):
        report = tmp_path / "report.json"
        assert simulate("--json", report, *extra) == 0
        latencies.append(json.loads(report.read_text())["latency_ns"])
    assert latencies[1] == pytest.approx(latencies[0] + 2000, abs=20)
    assert latencies[2] != latencies[0]


def test_every_configuration_parameter_has_an_option():
    assert set(CONFIG_HELP) == set(Config().as_dict())


def test_configuration_options(tmp_path):
    report = tmp_path / "report.json"
    assert simulate("--preset", "tiny", "--contributors", 6, "--types", "int32", "--operators", "min,max",
                    "--op", "min", "--json", report) == 0  # fmt: skip
    found = json.loads(report.read_text())
    expected = dict(beat_bytes=8, contributors=6, contexts=2, window=2, segment_bytes=128)
    assert {name: found["config"][name] for name in expected} == expected
    assert found["type"] == "int32"


def npy(path, array):
    np.save(path, array)
    return path


SOME = ("--operators", "sum,min,bor", "--types", "int32,float32")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--topology", "nowhere.xml"), "nowhere.xml: no such file, and no preset (presets are kunpeng920-96"),
        (("--topology", __file__), "no XML"),
        (("--nodes", 0), "--nodes 0: it must be from 1 to 16384"),
        (("--nodes", -1), "--nodes -1: it must be from 1 to 16384"),
        (("--nodes", "two"), "argument --nodes: invalid int value: 'two'"),
        (("--group-by", "rack"), "'rack' (choose from 'socket', 'numa', 'core')"),
        (("--collective", "alltoall"), "'alltoall' (choose from 'allreduce', 'barrier')"),
        (("--simulator", "spice"), "'spice' (choose from 'auto', 'reference', 'amaranth', 'verilator')"),
        ((*SOME, "--op", "prod"), "--op prod: this configuration has sum, min, bor; --operators gives it others"),
        ((*SOME, "--op", "median"), "--op median: it must be one of sum, prod, min"),
        ((*SOME, "--type", "int8"), "--type int8: this configuration has int32, float32; --types gives it others"),
        ((*SOME, "--type", "quad"), "--type quad: it must be one of int8, int16"),
        (("--type", "float32", "--types", "int32"), "--type float32: this configuration has int32"),
        (
            (*SOME, "--op", "bor", "--type", "float32"),
            "--op bor of type float32 is not defined: float32 has sum, min; bor takes int32",
        ),
        (("--types", "int8", "--operators", "sum,minloc"), "operators has minloc: it is not defined with any of the"),
        (("--bytes", 1023), "--bytes 1023 bytes for each core: it must be a whole number of float32 elements of 4"),
        (("--bytes", 0), "at least one"),
        (("--bytes", 1 << 40), "all together must be at most"),
        (("--collective", "barrier", "--bytes", 8), "--bytes 8: a barrier carries no data"),
        (("--seed", -1), "--seed -1"),
        (("--beat-bytes", 7), "cannot be built: beat_bytes is 7: it must be one of 8, 16, 32, 64"),
        (("--contributors", 4), "a node has 4 leaders, and a NIC takes 4 contributors: 2 nodes need room"),
        (("--contributors", 3), "a node has 4 leaders, but a NIC takes 3 contributors"),
        (("--operators", "sum,mean"), "operators has 'mean': known are sum, "),
        (("--preset", "huge"), "--preset huge: it must be one of tiny, small, numa, cores"),
        (("--background", __file__), "not a pcap or pcapng file"),
        (("--background", "nothing.pcap"), "--background nothing.pcap: no such file"),
        (("--background", "synthetic:x"), "a number of frames, 1 to 1000000"),
        (("--background-load", 0), "--background-load 0: it must be more than 0 and at most 1"),
        (("--data", "nothing.npy"), "--data nothing.npy: No such file or directory"),
        (("--data", __file__), "no .npy file of numbers"),
        (("--waves", "x.vcd"), "--waves: the reference model has no signals"),
        (("--waves", "x.png", "--simulator", "amaranth"), "the name must end in .vcd or .fst"),
        (("--waves", "x.fst", "--simulator", "amaranth"), "amaranth writes VCD"),
        (("--json", "/dev/null/report.json"), "--json /dev/null/report.json: "),
        (("--pcap", __file__), "it is a file; it must be a directory"),
        (("--host-profile", "cray"), "--host-profile cray: it must be one of kunpeng920, "),
        (("--set", "speed=1"), "--set speed: it must be one of same_domain_ns, "),
        (("--set", "post_ns"), "--set post_ns: it must be NAME=NUMBER"),
        (("--set", "post_ns=-3"), "post_ns is -3: it must be from 0 to 1e9 ns"),
        (("--set", "nic_package=2"), "nic_package=2: sockets are 0 to 1"),
        (("--frobnicate",), "unrecognized arguments: --frobnicate"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_2(capsys, arguments, message):
    try:
        code = simulate(*arguments)
    except SystemExit as stopped:  # argparse's own way
        code = stopped.code
    printed = capsys.readouterr()
    assert code == 2
    assert message in printed.err
    assert printed.err.startswith("fanfold")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((15, 4), "f4"), "its shape is 15 x 4: it must be 16 x N"),
        (np.ones(16, "f4"), "its shape is 16: it must be 16 x N"),
        (np.ones((16, 0), "f4"), "its shape is 16 x 0"),
        (np.ones((16, 4)), "its elements are float64, but the type is float32"),
        (np.ones((16, 4), "c8"), "its elements are complex64: types are int8, int16, "),
        (np.ones((16, 4), "i4"), "its elements are int32, but the type is float32"),
    ],
)
def test_wrong_data_files(capsys, tmp_path, array, message):
    path = npy(tmp_path / "rows.npy", array)
    assert simulate("--data", path, "--type", "float32") == 2
    assert message in capsys.readouterr().err


def test_a_data_file_of_a_type_that_the_configuration_lacks(capsys, tmp_path):
    path = npy(tmp_path / "rows.npy", np.ones((16, 4), "i2"))
    assert simulate("--data", path, *SOME) == 2
    assert "--data of type int16: this configuration has int32, float32" in capsys.readouterr().err


def test_verilator_without_a_compiler(capsys, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert main(["simulate", "--simulator", "verilator"]) == 2
    error = capsys.readouterr().err
    assert "--simulator verilator: no C++ compiler" in error
    assert error.count("\n") == 1


def test_auto_without_a_compiler_says_what_it_runs_on(capsys, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(fanfold_sim.cli.simulate, "make_nic", _reference_instead_of("amaranth"))
    assert main(["simulate", *SMALL[:2]]) == 0
    printed = capsys.readouterr()
    assert "running on Amaranth's simulator instead" in printed.err
    assert "amaranth, 64-byte beats" in printed.out


def _reference_instead_of(expected):
    def make(maker, config, *, waves=None):
        assert maker == expected
        return fanfold_sim.nic.make_nic("reference", config)

    return make


class Lying:
    """A NIC that changes the last byte of all that leaves at its host port."""

    def __init__(self, nic):
        self.nic = nic

    def __getattr__(self, name):
        return getattr(self.nic, name)

    def run(self, until):
        for one in self.nic.run(until):
            if one.port is Port.HOST and len(one.frame) > 200:
                object.__setattr__(one, "frame", one.frame[:-1] + bytes([one.frame[-1] ^ 0x40]))
            yield one


def test_a_mismatch_exits_1_and_says_where(capsys, monkeypatch, tmp_path):
    make = fanfold_sim.cli.simulate.make_nic
    monkeypatch.setattr(fanfold_sim.cli.simulate, "make_nic", lambda *args, **options: Lying(make(*args, **options)))
    report = tmp_path / "report.json"
    assert simulate("--json", report) == 1
    text = capsys.readouterr().out
    assert "WRONG" in text
    assert "node 0 core 0, element 255: expected " in text
    found = json.loads(report.read_text())
    assert found["correct"] is False
    assert "element 255" in found["wrong"]


@pytest.mark.parametrize("error", [SimulationError("it hangs"), AssertionError("the hardware is wrong")])
def test_a_broken_run_exits_1(capsys, monkeypatch, tmp_path, error):
    def broken(*_args, **_options):
        raise error

    monkeypatch.setattr(fanfold_sim.cli.simulate, "make_nic", broken)
    report = tmp_path / "report.json"
    assert simulate("--json", report) == 1
    assert f"fanfold simulate: {error}\n" in capsys.readouterr().err
    assert json.loads(report.read_text())["correct"] is False


def test_interrupted(capsys, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(fanfold_sim.cli.simulate, "make_nic", interrupted)
    assert simulate() == 130
    assert capsys.readouterr().err.endswith("fanfold simulate: interrupted\n")


def test_the_installed_command(tmp_path):
    command = [sys.executable, "-c", "import sys; from fanfold_sim.cli import main; sys.exit(main())", "simulate"]
    done = subprocess.run([*command, *SMALL, "--bytes", "6"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    done = subprocess.run([*command, *SMALL], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "registering ..." in done.stderr
