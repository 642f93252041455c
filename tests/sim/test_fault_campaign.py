"""Collectives on links that lose, double, hold back and change frames, and with leaders and nodes that stop: no result
is wrong, none hangs, every failure is told to all. 10,000 in the long tier; and the campaign finds planted faults.
"""

import re

import numpy as np
import pytest
from fault_campaign import ALL, CONFIG, Tally, broken, campaign, fault_in, play, vector

from fanfold.codes import Collective, Direction, Port
from fanfold_sim.faults import impairment
from fanfold_sim.frames import build, parse
from fanfold_sim.host.node import SimulationError
from fanfold_sim.nic import make_nic
from fanfold_sim.toolchain import has_compiler

BROKEN = list(broken())

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="Verilated models need a C++ compiler")


def break_and_check(number: int, collectives: int, simulator: str = "reference") -> None:
    inject, who = BROKEN[number]
    tally = Tally()
    failed = play(f"{inject},seed={number}", collectives, tally, make=lambda config: make_nic(simulator, config))
    assert failed, f"{inject}: nothing failed"
    assert all(reason.endswith(who) for reason in failed), (inject, failed)
    assert tally.did["aborted"] or tally.did["given_up"], inject


def test_a_short_campaign():
    tally = campaign(240, each=60)
    assert tally.collectives == 240 and not tally.failed
    assert min(tally.did[name] for name in ("lost", "duplicated", "held_back", "corrupted", "repeats", "answered")) > 0


@pytest.mark.long
def test_ten_thousand_collectives(capsys):
    def tell(text):
        with capsys.disabled():
            print(text)

    tally = campaign(10_000, tell=tell)
    assert tally.collectives == 10_000 and not tally.failed
    tell(f"{tally}")


@needs_compiler
def test_a_short_campaign_of_the_hardware():
    tally = campaign(120, each=60, simulator="verilator")
    assert tally.collectives == 120 and not tally.failed
    assert min(tally.did[name] for name in ("lost", "duplicated", "held_back", "repeats", "answered")) > 0


@needs_compiler
@pytest.mark.long
def test_ten_thousand_collectives_of_the_hardware(capsys):
    def tell(text):
        with capsys.disabled():
            print(text)

    tally = campaign(10_000, simulator="verilator", tell=tell)
    assert tally.collectives == 10_000 and not tally.failed
    tell(f"{tally}")


@needs_compiler
@pytest.mark.parametrize("number", [5, 9, 31], ids=lambda number: BROKEN[number][0])
def test_some_that_break_the_hardware(number):
    break_and_check(number, 5, "verilator")


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("number", range(len(BROKEN)), ids=lambda number: BROKEN[number][0])
def test_all_that_break_the_hardware(number):
    break_and_check(number, 40, "verilator")


@pytest.mark.parametrize("number", [5, 9, 31], ids=lambda number: BROKEN[number][0])
def test_some_that_break(number):
    break_and_check(number, 5)


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(BROKEN)), ids=lambda number: BROKEN[number][0])
def test_all_that_break(number):
    break_and_check(number, 40)


# ------------------------------------------------------------------------------------------- it finds what is wrong


def summed(*leaders: int, number: int = 5, pairs: int = 2) -> bytes:
    return np.sum([np.array(vector(leader, number, pairs), "<i8") for leader in leaders], axis=0).tobytes()


def test_a_sum_tells_who_is_missing_and_who_is_doubled():
    assert fault_in(summed(*range(ALL)), 0, 5, 2) == ""
    assert "[1, 1, 1, 0, 1, 1, 1, 1] times" in fault_in(summed(0, 1, 2, 4, 5, 6, 7), 0, 5, 2)
    assert "[1, 1, 1, 1, 1, 2, 1, 1] times" in fault_in(summed(*range(ALL), 5), 0, 5, 2)
    assert "it is [" in fault_in(summed(*range(ALL), number=4), 0, 5, 2), "of another collective"
    assert "it is [" in fault_in(summed(*range(ALL))[:8], 0, 5, 2), "too short"


def test_it_finds_a_byte_that_changed_and_was_not_marked(monkeypatch):
    class Unmarked(impairment.Arrival):
        def __init__(self, delay, frame, bad=False):
            super().__init__(delay, frame, False)

    monkeypatch.setattr(impairment, "Arrival", Unmarked)
    with pytest.raises(AssertionError, match=re.escape("corrupt=0.1,seed=1, collective")):
        play("corrupt=0.1,seed=1", 50, Tally())


class Confused:
    """A NIC that takes a repeat for the next segment's contribution."""

    def __init__(self, nic):
        self.nic = nic

    def __getattr__(self, name):
        return getattr(self.nic, name)

    def offer(self, port, frame, **options):
        packet = parse(frame, CONFIG.udp_port)
        again = port is Port.NET and packet is not None and packet.repeat and packet.direction is Direction.UP
        if again and packet.collective is Collective.ALLREDUCE:
            packet.repeat, packet.coll_tag = 0, packet.coll_tag + CONFIG.window
            frame = build(packet)
        self.nic.offer(port, frame, **options)


def test_it_finds_a_repeat_that_is_counted_in_the_next_segment():
    with pytest.raises((AssertionError, SimulationError), match=r"is not in|MISMATCH|nobody began|expected"):
        play("loss-down=0.3,seed=1", 50, Tally(), make=lambda config: Confused(make_nic("reference", config)))


class Deaf:
    """A NIC that loses what it should tell one of its leaders."""

    def __init__(self, nic):
        self.nic = nic

    def __getattr__(self, name):
        return getattr(self.nic, name)

    def run(self, until):
        return [one for one in self.nic.run(until) if not self._is_lost(one)]

    def _is_lost(self, one):
        packet = parse(one.frame, CONFIG.udp_port)
        return (
            one.port is Port.HOST
            and packet is not None
            and packet.collective is Collective.ALLREDUCE
            and packet.source == 1
        )


def test_it_finds_a_hang_and_says_who_waits():
    with pytest.raises(SimulationError, match=r"hangs: node \d leader 1 \(core 1\) waits for"):
        play("seed=1", 1, Tally(), make=lambda config: Deaf(make_nic("reference", config)))
