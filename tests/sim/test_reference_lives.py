"""Time and contexts in the reference: registrations that hang, what lingers, what is released."""

import dataclasses

import pytest
from clocked import NIC, REGISTER, SECOND, Clocked, deregister, place, said, when

from fanfold.codes import Collective, Port, Status
from fanfold.control.events import refused
from fanfold_sim.frames import Packet, build
from fanfold_sim.records import record, total


def test_who_registers_again_at_an_open_context_is_told_the_whole_total():
    nic = Clocked(parent=True).open()
    [answer] = nic.register(1)
    assert said([answer]) == [(1, Status.OK, total(40))]
    assert (answer.collective, answer.coll_tag, answer.repeat) == (Collective.REGISTER, 5, 0)
    nic.holds = True
    assert len(nic.register(2)) == 1 and nic.register(2) == []
    assert nic.counts("answered", "unanswered", refused(Status.DUPLICATE)) == (2, 1, 0)


def test_a_registration_is_sent_up_again_and_then_given_up():
    nic = Clocked(parent=True, retry_ticks=3, retry_limit=2)
    [asked] = nic.register(0, 1, 2)
    assert nic.register(1) == [] and nic.counts(refused(Status.DUPLICATE)) == (1,)
    found = nic.wait(20)
    again = dataclasses.replace(asked, repeat=1)
    assert found[:2] == [(3, again), (6, again)]
    assert when(found[2:]) == [(9, index, Status.PEER_GONE, b"") for index in range(3)]
    assert {packet.collective for _, packet in found} == {Collective.REGISTER}
    assert nic.counts("repeats", "given_up", "closed", "opened") == (2, 1, 1, 0)
    nic.open()


def test_without_repeats_a_registration_waits_for_the_parent_twice_the_abort_time():
    nic = Clocked(parent=True, abort_ticks=3)
    nic.register(0, 1, 2, abort_ticks=4)
    assert when(nic.wait(20)) == [(8, index, Status.PEER_GONE, b"") for index in range(3)]


def test_contributors_that_do_not_register_are_waited_for_as_the_first_record_says():
    nic = Clocked(abort_ticks=9)
    nic.register(2, abort_ticks=4)
    nic.wait(3)
    nic.register(1)
    expected = [(4, index, Status.TIMED_OUT, b"") for index in (1, 2)]
    assert when(nic.wait(20)) == expected
    assert nic.counts("aborted", "closed") == (1, 1)
    nic.register(0)
    assert [(tick, packet.source) for tick, packet in nic.wait(20)] == [(32, 0)], "the register's"


def test_an_open_context_is_not_timed():
    nic = Clocked(abort_ticks=3, retry_ticks=2, linger_ticks=4)
    nic.register(0)
    nic.wait(2)
    nic.register(1, 2)
    assert nic.wait(20) == [] and not nic.core.deadlines.running


def test_a_deregistered_context_with_children_lingers():
    nic = Clocked(linger_ticks=5).open()
    nic.send(0, coll_tag=SECOND)
    deregister(nic)
    assert nic.counts("closed") == (0,)
    nic.wait(4)
    [answer] = nic.send(2, repeat=1)
    assert (answer.status, answer.collective, answer.source) == (Status.OK, Collective.DEREGISTER, 2)
    assert said(nic.send(2, coll_tag=5, repeat=1)) == [(2, Status.EXPIRED, b"")]
    assert nic.send(0, repeat=1) == nic.send(2) == nic.send(2, coll_tag=SECOND, repeat=1) == nic.answer() == []
    assert nic.counts("answered", refused(Status.NOT_OPEN)) == (2, 4)
    assert nic.wait(1) == [] and nic.counts("closed") == (1,)
    late = nic.core.classify(Port.NET, build(Packet(sender=place(2), receiver=NIC, comm_id=1, coll_tag_high32=9)))
    assert late.packet is None and late.unmatched


@pytest.mark.parametrize("ticks, children", [(0, 1), (5, 0)])
def test_what_does_not_linger(ticks, children):
    nic = Clocked(linger_ticks=ticks)
    nic.register(*range(2 + children), children=children)
    for index in range(2 + children):
        nic.send(index, collective=Collective.DEREGISTER, payload=b"")
    assert nic.counts("closed") == (1,) and not nic.core.deadlines.running


@pytest.mark.parametrize("names", [dict(), dict(comm_id=3), dict(coll_tag_high32=8)])
def test_a_registration_takes_over_what_lingers(names):
    nic = Clocked(linger_ticks=5).open()
    deregister(nic)
    nic.holds = True
    nic.send(2, repeat=1)
    payload = record(ranks=1, leaders=1, window=2)
    fields = {**REGISTER, "coll_tag": 90, "payload": payload, **names}
    assert said(nic.send(0, **fields)) == [(0, Status.NO_ROOM, b"")], "an answer is under way"
    nic.leave()
    assert said(nic.send(0, **fields)) == [(0, Status.OK, total(1))]
    nic.leave()
    assert nic.counts("closed", "opened") == (1, 2)
    assert nic.wait(20) == [] and nic.counts("closed") == (1,)


def test_a_released_context_is_free_at_once_and_its_segments_are_not_timed():
    nic = Clocked(abort_ticks=3).open()
    nic.send(0)
    nic.core.release(1)
    assert not nic.core.deadlines.running and nic.counts("closed") == (1,)
    nic.open()
    nic.holds = True
    deregister(nic)
    nic.core.release(1)
    nic.core.release(1)
    assert [packet.status for packet in nic.register(0)] == [Status.NO_ROOM]
    nic.leave()
    assert nic.register(0) == [] and nic.counts("closed") == (2,)
