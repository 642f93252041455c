"""The clock of the reference NIC: it counts only while something is timed."""

import dataclasses

import pytest
from clocked import NIC, REGISTER, TINY, place

from fanfold.codes import Port
from fanfold_sim.frames import Packet, build
from fanfold_sim.nic import Timing
from fanfold_sim.records import record
from fanfold_sim.reference.nic import ReferenceNic
from fanfold_sim.reference.timing import Ticks


def test_ticks_stand_still_with_the_clock():
    ticks = Ticks(4)
    assert (ticks.running, ticks.now(1000)) == (False, 0)
    with pytest.raises(ValueError, match="tick 3 never begins: time stands still"):
        ticks.cycle_of(3)
    ticks.run(True, 100)
    assert [ticks.now(100 + cycles) for cycles in (0, 15, 16, 40)] == [0, 0, 1, 2]
    assert ticks.cycle_of(3) == 148
    ticks.run(False, 140)
    assert ticks.now(9000) == 2
    ticks.run(True, 9000)
    assert ticks.cycle_of(3) == 9008 and [ticks.now(cycle) for cycle in (9007, 9008)] == [2, 3]


def settled(nic: ReferenceNic, most: int) -> int:
    """The cycles until nothing is timed and nothing moves."""
    began = nic.cycle
    while not nic.quiet:
        assert nic.cycle < began + most
        nic.run(nic.cycle + 16)
    return nic.cycle - began


@pytest.mark.parametrize("ticks", [1, 7, 40])
def test_the_nic_is_quiet_when_nothing_is_timed_and_then_needs_no_cycles(ticks):
    nic = ReferenceNic(dataclasses.replace(TINY, tick_bits=6))
    nic.set_timing(Timing(abort_ticks=ticks))
    payload = record(ranks=1, leaders=2, window=2)
    base = dict(sender=place(0), receiver=NIC, comm_id=1, coll_tag_high32=9)
    nic.offer(Port.HOST, build(Packet(**base, payload=payload, **REGISTER)), cycle=0)
    assert 64 * (ticks - 1) < settled(nic, 64 * ticks + 200)
    assert nic.counters()["aborted"] == nic.counters()["host_copies"] == 1
    nic.run(10**9)
    nic.offer(Port.HOST, build(Packet(**base, payload=payload, **REGISTER)), cycle=10**9)
    assert 64 * (ticks - 1) < settled(nic, 64 * ticks + 200)


def test_with_measure_time_counts_while_a_segment_is_open():
    nic = ReferenceNic(TINY)
    nic.set_timing(Timing(measure=True))
    base = dict(sender=place(0), receiver=NIC, comm_id=1, coll_tag_high32=9)
    for index in range(2):
        fields = {**base, "sender": place(index), "source": index}
        nic.offer(Port.HOST, build(Packet(**fields, payload=record(ranks=1, leaders=2, window=2), **REGISTER)), cycle=0)
    settled(nic, 500)
    nic.offer(Port.HOST, build(Packet(**base, coll_tag=6, payload=bytes(8))), cycle=nic.cycle)
    nic.run(nic.cycle + 100_000)
    assert not nic.quiet
    nic.release(1)
    assert nic.quiet
