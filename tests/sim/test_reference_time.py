"""Time and segments in the reference, tick by tick: aborts, repeats, giving up, and what is put off."""

import dataclasses
import struct

import pytest
from clocked import FIRST, NODE, SECOND, Clocked, absence, said, when

from fanfold.codes import Direction, Status
from fanfold.control.events import refused


@pytest.mark.parametrize("register, own, ticks", [(5, 0, 5), (5, 3, 3), (0, 3, 3)])
def test_an_abort_after_the_time_of_the_record_or_else_of_the_register(register, own, ticks):
    nic = Clocked(abort_ticks=register).open(abort_ticks=own)
    assert nic.wait(20) == [] and not nic.core.deadlines.running
    nic.send(1)
    assert nic.core.deadlines.running
    assert nic.wait(ticks - 1) == []
    expected = [(20 + ticks, index, Status.TIMED_OUT, absence(0, 2, 0b101)) for index in range(3)]
    assert when(nic.wait(20)) == expected
    assert nic.counts("aborted", "folded", "failed_segments", "contributions") == (1, 0, 0, 1)
    assert not nic.core.deadlines.running


def test_without_a_time_a_segment_waits_for_ever():
    nic = Clocked(retry_ticks=3, retry_limit=2, linger_ticks=5).open()
    nic.send(0)
    assert not nic.core.deadlines.running and nic.core.deadlines.next is None


def test_time_is_counted_from_the_first_contribution_of_each_segment():
    nic = Clocked(abort_ticks=10).open()
    nic.send(0)
    nic.wait(4)
    nic.send(0, coll_tag=SECOND)
    nic.send(2)
    found = nic.wait(20)
    assert [(tick, packet.coll_tag) for tick, packet in found] == [(10, FIRST)] * 3 + [(14, SECOND)] * 3
    assert [packet.payload for _, packet in found] == [absence(1, 1, 0b010)] * 3 + [absence(1, 2, 0b110)] * 3


def test_an_abort_ends_a_segment_that_has_failed_with_what_it_failed_with():
    nic = Clocked(abort_ticks=4).open()
    nic.send(1)
    nic.send(0, payload=bytes(4))
    mismatch = struct.pack("<IHH", NODE, 0, 1)
    assert when(nic.wait(9)) == [(4, index, Status.MISMATCH, mismatch) for index in range(3)]
    assert nic.counts("aborted", "folded", "failed_segments") == (1, 0, 0)


def test_below_a_parent_an_abort_goes_up_and_waits():
    nic = Clocked(parent=True, abort_ticks=4).open()
    nic.send(0)
    [(tick, packet)] = nic.wait(6)
    assert (tick, packet.direction, packet.source, packet.status) == (4, Direction.UP, 3, Status.TIMED_OUT)
    assert packet.payload == absence(1, 2, 0b110)
    assert nic.send(1) == nic.send(0) == []
    assert nic.counts(refused(Status.EXPIRED), refused(Status.DUPLICATE)) == (1, 1)
    assert said(nic.answer(status=Status.TIMED_OUT, payload=b"abc")) == [
        (index, Status.TIMED_OUT, b"abc") for index in range(3)
    ]
    assert said(nic.send(1)) == [(1, Status.TIMED_OUT, b"abc")]
    assert nic.counts("answered") == (1,)


def test_repeats_are_the_same_packet_marked_then_the_parent_is_given_up():
    nic = Clocked(parent=True, retry_ticks=3, retry_limit=2).open()
    nic.send(0)
    nic.send(1)
    [first] = nic.send(2)
    assert first.repeat == 0
    found = nic.wait(20)
    again = dataclasses.replace(first, repeat=1)
    assert found[:2] == [(3, again), (6, again)]
    assert when(found[2:]) == [(9, index, Status.PEER_GONE, absence(0xFFFF, 1, 0)) for index in range(3)]
    assert nic.counts("repeats", "given_up", "aborted", "results") == (2, 1, 0, 0)
    assert nic.answer(payload=bytes(8)) == [] and nic.counts(refused(Status.DUPLICATE)) == (1,)
    assert not nic.core.deadlines.running


@pytest.mark.parametrize(
    "timing, tick", [(dict(abort_ticks=4), 8), (dict(retry_ticks=5), 5), (dict(retry_limit=3), None)]
)
def test_how_long_a_silent_parent_is_waited_for_without_repeats(timing, tick):
    nic = Clocked(parent=True, **timing).open()
    for index in range(3):
        nic.send(index, opt_code=77)
    assert [(at, packet.status) for at, packet in nic.wait(40)] == [(tick, Status.PEER_GONE)] * 3 * (tick is not None)
    assert nic.counts("given_up", "repeats") == (int(tick is not None), 0)


def test_the_result_ends_the_repeats():
    nic = Clocked(parent=True, retry_ticks=3, retry_limit=2).open()
    for index in range(3):
        nic.send(index)
    assert len(nic.wait(3)) == 1
    assert len(nic.answer(payload=bytes(8))) == 3
    assert nic.wait(20) == []


def test_an_abort_is_put_off_tick_by_tick_while_something_is_under_way():
    nic = Clocked(abort_ticks=4).open()
    nic.send(0, coll_tag=SECOND)
    nic.holds = True
    for index in range(3):
        nic.send(index)
    assert nic.wait(7) == []
    nic.leave()
    nic.holds = False
    assert [tick for tick, _ in nic.wait(7)] == [8] * 3
    assert nic.counts("aborted") == (1,)


def test_an_answer_puts_off_an_abort_too():
    nic = Clocked(abort_ticks=4).open()
    for index in range(3):
        nic.send(index)
    nic.send(0, coll_tag=SECOND)
    nic.holds = True
    assert len(nic.send(0, repeat=1)) == 1
    assert nic.wait(6) == []
    nic.leave()
    assert len(nic.wait(1)) == 3


def test_giving_up_and_repeats_are_put_off():
    nic = Clocked(parent=True, retry_ticks=2, retry_limit=1).open()
    for index in range(3):
        nic.send(index, coll_tag=SECOND)
    nic.answer(coll_tag=SECOND, payload=bytes(8))
    for index in range(3):
        nic.send(index)
    nic.holds = True
    assert len(nic.send(0, coll_tag=SECOND, repeat=1)) == 1
    assert nic.wait(5) == []
    nic.leave()
    assert [(tick, packet.repeat) for tick, packet in nic.wait(1)] == [(6, 1)]
    assert nic.wait(7) == []
    nic.leave()
    assert [(tick, packet.status) for tick, packet in nic.wait(1)] == [(14, Status.PEER_GONE)] * 3


def test_slots_that_wait_in_step_do_not_keep_each_other_from_being_repeated():
    """The first one's repeat is under way when the second's is due: it comes a tick later, and not never."""
    nic = Clocked(parent=True, retry_ticks=5, retry_limit=3).open()
    for tag in (FIRST, SECOND):
        for index in range(3):
            nic.send(index, coll_tag=tag)
    nic.holds = True
    found = []
    for _ in range(11):
        found += [(tick, packet.coll_tag, packet.repeat) for tick, packet in nic.wait(1)]
        nic.leave()
    assert found == [(5, FIRST, 1), (6, SECOND, 1), (10, FIRST, 1), (11, SECOND, 1)]
