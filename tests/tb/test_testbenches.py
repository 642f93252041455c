"""Runs the cocotb testbenches of ``tb/`` on generated Verilog: on Verilator, and on Icarus where it is installed.

Verilator gets it without initial values, and gives registers and memories random ones: a reset must be enough. Icarus
gets it as generated, with its assertions, and shows what is undefined. Amaranth's simulator is the third.
"""

import json
import os
from functools import cache

import pytest
from benches import SIMULATORS, TB, Built, check, names_of_tests, uninitialised

from fanfold import export
from fanfold.codes import Port
from fanfold.config import PRESETS
from fanfold_sim.simulators.amaranth import AmaranthNic
from fanfold_sim.traffic import hostile

CONFIG = PRESETS["tiny"]
#: what must have run, by bench, so that one that finds no tests does not look like a good one
BENCHES = {
    "nic_tests": {
        "regular_traffic_passes_both_ways": 2,
        "segments_are_folded_among_regular_traffic": 2,
        "what_may_not_be_is_refused_and_counted": 1,
        "registers_answer": 1,
    },
    "log_tests": {"plays_the_script": 1},
}
ACTS = 24
#: cycles after the last frame of a batch is in, until the next batch
PAUSE = 160
#: cycles after the last frame of all, as in the bench
REST = 1500
SEEDS = (1, 2, 3)


def random_values(seed: int) -> list[str]:
    """What makes a Verilated model begin with random values."""
    return ["+verilator+rand+reset+2", f"+verilator+seed+{seed}"]


@pytest.fixture(scope="module", params=SIMULATORS)
def built(request, tmp_path_factory):
    """The NIC, built once by each simulator."""
    directory = tmp_path_factory.mktemp(request.param)
    with pytest.MonkeyPatch.context() as patched:
        verilated = request.param == "verilator"
        source, *_ = export.generate(CONFIG, directory, simulation=not verilated)
        if verilated:
            source.write_text(uninitialised(source.read_text()))
        yield Built(request.param, source, CONFIG, directory, patched)


def test_the_nic_against_the_reference(built):
    seed = int(os.environ.get("FANFOLD_SEED", "1"))
    more = {"plusargs": random_values(seed)} if built.verilated else {}
    check(built.run("nic_tests", seed, **more), BENCHES["nic_tests"])


@cache
def script() -> list[dict]:
    """Hostile traffic at both ports, with absolute cycles."""
    began, arrivals = 0, []
    for batch in hostile(CONFIG, range(ACTS)):
        for one in batch:
            arrivals.append(
                {
                    "port": one.port.name,
                    "cycle": began + one.cycle,
                    "frame": one.frame.hex(),
                    "queue": one.queue,
                    "bad": one.bad,
                }
            )
        began = max(each["cycle"] + len(each["frame"]) // 2 // CONFIG.beat_bytes for each in arrivals) + PAUSE
    return sorted(arrivals, key=lambda each: each["cycle"])


@cache
def expected() -> list[list]:
    """The log of Amaranth's simulator."""
    nic = AmaranthNic(CONFIG)
    for one in script():
        frame = bytes.fromhex(one["frame"])
        nic.offer(Port[one["port"]], frame, cycle=one["cycle"], queue=one["queue"], bad=one["bad"])
    left = nic.run(script()[-1]["cycle"] + REST)
    assert nic.counters()["folded"] > 2
    nic.close()
    return [[one.port.name, one.frame.hex(), one.queue, one.bad, one.first_cycle, one.last_cycle] for one in left]


def log_of(built: Built, **more) -> list[list]:
    """Plays the script; its log."""
    script_file, log_file = built.directory / "script.json", built.directory / "log.json"
    script_file.write_text(json.dumps(script()))
    log_file.unlink(missing_ok=True)
    environment = {"FANFOLD_SCRIPT": str(script_file), "FANFOLD_LOG": str(log_file)}
    environment["FANFOLD_UNDEFINED"] = str(int(not built.verilated))
    check(built.run("log_tests", environment=environment, **more), BENCHES["log_tests"])
    return json.loads(log_file.read_text())


def test_the_script_has_both_ports_and_departures_of_every_kind():
    assert {each["port"] for each in script()} == {port for port, *_ in expected()} == {port.name for port in Port}
    offered = {each["frame"] for each in script()}
    regular = [frame for _, frame, *_ in expected() if frame in offered]
    assert len(regular) > 3 and len(expected()) - len(regular) > 10


def test_the_same_frames_in_the_same_cycles(built):
    """... and nothing undefined at a port, where the simulator knows what that is."""
    for more in [{"plusargs": random_values(seed)} for seed in SEEDS] if built.verilated else [{}]:
        assert log_of(built, **more) == expected()


@pytest.mark.skipif("icarus" not in SIMULATORS, reason="Icarus Verilog is not installed")
def test_nothing_stays_undefined_without_initial_values(tmp_path, monkeypatch):
    source, *_ = export.generate(CONFIG, tmp_path)
    source.write_text(uninitialised(source.read_text()))
    assert log_of(Built("icarus", source, CONFIG, tmp_path, monkeypatch)) == expected()


def test_every_bench_is_run_with_every_test():
    assert {path.stem for path in TB.glob("*_tests.py")} == set(BENCHES)
    for bench, expected in BENCHES.items():
        assert names_of_tests(TB / f"{bench}.py") == set(expected)


def test_a_bench_that_ran_nothing_is_red(tmp_path):
    results = tmp_path / "results.xml"
    with pytest.raises(FileNotFoundError):
        check(results, BENCHES["nic_tests"])
    results.write_text("<testsuites><testsuite name='all'/></testsuites>")
    for expected in (BENCHES["nic_tests"], {}):
        with pytest.raises(AssertionError):
            check(results, expected)
    results.write_text("<testsuites><testsuite><testcase name='a'><skipped/></testcase></testsuite></testsuites>")
    with pytest.raises(AssertionError):
        check(results, {"a": 1})
    results.write_text("<testsuites><testsuite><testcase name='a'><failure/></testcase></testsuite></testsuites>")
    with pytest.raises(AssertionError, match="failed"):
        check(results, {"a": 1})
