"""``fanfold simulate --inject``: what it prints, its exit codes, its timers; a judge that finds what must not be."""

import json
from pathlib import Path

import pytest

import fanfold_sim.cli.simulate
from fanfold.codes import Collective, Port, Status
from fanfold.config import Config
from fanfold_sim.cli import main
from fanfold_sim.frames import build, parse

TOPOLOGIES = Path(__file__).parent / "topologies"
#: four nodes of four leaders: node 0 has 1 and 2 below it, node 1 has 3
FOUR = ("--topology", str(TOPOLOGIES / "hwloc2-sockets.xml"), "--simulator", "reference", "--nodes", "4")
FOUR += ("--contributors", "6", "--bytes", "64", "--tick-bits", "4")


def simulate(*arguments):
    return main(["simulate", *FOUR, *map(str, arguments)])


def row(text, label):
    """The text behind a label of the report."""
    return next(line[10:] for line in text.splitlines() if line.startswith(label))


def test_bad_links(capsys, tmp_path):
    report = tmp_path / "report.json"
    spec = "loss=0.15,duplicate=0.05,reorder=0.05,corrupt=0.02,seed=3"
    assert simulate("--inject", spec, "--times", 30, "--background", "synthetic:20", "--json", report) == 0
    text = capsys.readouterr().out
    assert "correct: all 32 cores have the reference's bits in each of 30 collectives" in text
    assert row(text, "injected").startswith(
        "loss 0.15, duplicate 0.05, reorder 0.05, corrupt 0.02, held back up to 1000"
    )
    assert row(text, "timers").endswith("(more by level); a tick is 81.92 ns")
    assert "160 of 160 frames came out as they went in" in text
    found = json.loads(report.read_text())
    assert (found["correct"], found["collectives"], found["fallback"]) == (True, 30, None)
    faults = found["faults"]
    assert (faults["right"], faults["failed"]) == (30 * 16, {})
    assert faults["counters"]["repeats"] > faults["counters"]["answered"] > 0
    assert faults["impaired"]["up"]["lost"] > 0 and faults["left_open"] is None
    for way in ("up", "down"):
        assert f"{faults['impaired'][way]['frames']} {way}: {faults['impaired'][way]['lost']} lost" in text


def test_the_same_seed_gives_the_same_run(capsys):
    texts = []
    for seed in (1, 1, 2):
        assert simulate("--inject", f"loss=0.2,seed={seed}", "--times", 5) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]


def test_a_leader_that_dies(capsys, tmp_path):
    report = tmp_path / "report.json"
    assert simulate("--inject", "dead=1.2:3", "--times", 5, "--json", report) == 0
    text = capsys.readouterr().out
    # three collectives are right at all 16 leaders, two failed at the other 15
    assert row(text, "result") == "no result is wrong: 48 right, 30 failed"
    assert row(text, "failed").split() == [
        "30",
        "TIMED_OUT:",
        "the",
        "NIC",
        "of",
        "node",
        "1",
        "missed",
        "its",
        "leader",
        "2",
    ]
    assert row(text, "dead") == "node 1 leader 2"
    assert "the deregistration failed: node 0 leader 0, segment 0: TIMED_OUT; hosts free the context" in text
    faults = json.loads(report.read_text())["faults"]
    assert faults["failed"] == {"TIMED_OUT: the NIC of node 1 missed its leader 2": 30}
    assert faults["dead"] == ["node 1 leader 2"]


def test_a_node_that_dies(capsys):
    assert simulate("--inject", "dead-node=1:1", "--times", 2, "--background", "synthetic:5") == 0
    text = capsys.readouterr().out
    assert row(text, "result") == "no result is wrong: 16 right, 12 failed"
    assert "8  TIMED_OUT: the NIC of node 0 missed node 1" in text
    assert "4  PEER_GONE: the NIC of node 3 has no answer from its parent, node 1" in text


def test_a_leader_that_is_late(capsys):
    assert simulate("--inject", "late=3.0:3000", "--times", 2) == 0
    in_time = capsys.readouterr().out
    assert "correct: all 32 cores" in in_time
    assert float(row(in_time, "latency").split()[0]) > 3000 * 5.12
    assert simulate("--inject", "late=3.0:300000", "--times", 2) == 0
    too_late = capsys.readouterr().out
    assert row(too_late, "result") == "no result is wrong: 0 right, 32 failed"
    assert "32  TIMED_OUT: the NIC of node 3 missed its leader 0" in too_late
    assert not any(line.startswith("left") for line in too_late.splitlines()), "it came to the deregistration"


def test_a_longer_abort_time_waits_for_it(capsys):
    assert simulate("--inject", "late=3.0:300000", "--abort-ticks", 25000) == 0
    assert "correct: all 32 cores" in capsys.readouterr().out


def test_without_timers_a_dead_leader_hangs_all(capsys, tmp_path):
    report = tmp_path / "report.json"
    timers = ("--abort-ticks", 0, "--retry-ticks", 0)
    assert simulate("--inject", "dead=0.3:0", *timers, "--json", report) == 1
    assert "the allreduce hangs: node 0 leader 0 (core 0) waits for 1 of 1 results" in capsys.readouterr().err
    assert json.loads(report.read_text())["correct"] is False


def test_timers_without_faults(capsys):
    assert simulate("--abort-ticks", 5000, "--retry-ticks", 1000, "--retry-limit", 20, "--linger-ticks", 10) == 0
    assert "correct: all 32 cores have the reference's bits\n" in capsys.readouterr().out


def test_leaders_repeat(capsys, tmp_path):
    report = tmp_path / "report.json"
    assert simulate("--inject", "leaders-repeat=900,late=0.0:5000", "--times", 3, "--json", report) == 0
    assert "leaders   repeats " in capsys.readouterr().out
    assert json.loads(report.read_text())["faults"]["leader_repeats"] >= 3 * 15 * 3


@pytest.mark.parametrize("collective", ["barrier", "allreduce"])
def test_a_full_table(capsys, tmp_path, collective):
    report = tmp_path / "report.json"
    arguments = ("--inject", "full=0", "--collective", collective, "--json", report)
    if collective == "barrier":
        command = [each for each in FOUR if each not in ("--bytes", "64")]
        assert main(["simulate", *command, *map(str, arguments)]) == 0
    else:
        assert simulate(*arguments, "--times", 3) == 0
    text = capsys.readouterr().out
    assert row(text, "fallback").endswith("the registration failed: node 0 leader 0, segment 0: NO_ROOM")
    assert "correct: all 32 cores" in text
    assert "NO_ROOM" in json.loads(report.read_text())["fallback"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--inject", "loss=1.5"), "--inject loss=1.5: it must be a part of the frames, from 0 to 1"),
        (("--inject", "late=4.0:1"), "--inject late=4.0: nodes are 0 to 3"),
        (("--inject", "dead=0.4:1"), "--inject dead=0.4: leaders of a node are 0 to 3"),
        (("--inject", "fire"), "--inject fire: it must be NAME=VALUE; known are loss=PART"),
        (("--abort-ticks", -1), "--abort-ticks -1: it must be a whole number from 0 to 4294967295"),
        (("--retry-limit", 65536), "--retry-limit 65536: it must be a whole number from 0 to 65535"),
        (("--times", 0), "--times 0: it must be from 1 to 1000000"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(capsys, arguments, message):
    assert simulate(*arguments) == 2
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1 and printed.out == ""


# --------------------------------------------------------------------------------------------- what must not be


class Tampering:
    """A NIC that changes the packets which leave it for leader 1 of an all-reduce."""

    def __init__(self, nic, change):
        self.nic, self.change = nic, change

    def __getattr__(self, name):
        return getattr(self.nic, name)

    def run(self, until):
        for one in self.nic.run(until):
            packet = parse(one.frame, Config().udp_port)
            if one.port is Port.HOST and packet.collective is Collective.ALLREDUCE and packet.source == 1:
                self.change(packet)
                object.__setattr__(one, "frame", build(packet))
            yield one


def spoil(packet):
    packet.payload = packet.payload[:-1] + bytes([packet.payload[-1] ^ 1])


def fail(packet):
    packet.status, packet.error = Status.MISMATCH, None


def shorten(packet):
    packet.payload = packet.payload[:-4]
    packet.length = None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (spoil, "leader 1, segment 0: element 15: expected "),
        (fail, "segment 0 ended with OK at node 0 leader 0, but with MISMATCH at node 0 leader 1"),
        (shorten, "node 0 leader 1, segment 0: expected 64 bytes, got 60"),
    ],
)
def test_the_judge_finds_what_is_wrong(capsys, monkeypatch, change, message):
    make = fanfold_sim.cli.simulate.make_nic
    monkeypatch.setattr(
        fanfold_sim.cli.simulate, "make_nic", lambda *args, **options: Tampering(make(*args, **options), change)
    )
    assert simulate("--inject", "seed=1", "--times", 4) == 1
    text = capsys.readouterr().out
    assert row(text, "result") == "WRONG"
    assert message in text
