"""Answers of the reference to what comes again, and ends that come from above."""

from clocked import FIRST, SECOND, Clocked, place, said

from fanfold.codes import Collective, Status
from fanfold.control.events import refused


def test_one_answer_at_a_time():
    nic = Clocked(holds=True).open()
    nic.leave()
    for index in range(3):
        nic.send(index)
    nic.leave()
    assert len(nic.send(0, repeat=1)) == 1
    assert nic.send(1, repeat=1) == []
    nic.leave()
    assert said(nic.send(1, repeat=1)) == [(1, Status.OK, bytes(8))]
    assert nic.counts("answered", "unanswered") == (2, 1)


def test_what_is_asked_before_anything_ended_is_over():
    nic = Clocked().open()
    [answer] = nic.send(0, coll_tag=5, repeat=1, collective=Collective.BARRIER, opt_code=9, data_type=8, root=3)
    assert (answer.status, answer.payload, answer.coll_tag, answer.source) == (Status.EXPIRED, b"", 5, 0)
    assert (answer.collective, answer.opt_code.value, answer.data_type.value, answer.root) == (
        Collective.BARRIER,
        9,
        8,
        3,
    )
    assert nic.send(0, coll_tag=5) == [] and nic.counts("answered", refused(Status.DUPLICATE)) == (1, 1)


def test_only_who_may_contribute_is_answered():
    nic = Clocked().open()
    for index in range(3):
        nic.send(index)
    again = dict(repeat=1)
    assert nic.send(1, sender=place(0), **again) == nic.send(0, source=2, **again) == []
    assert nic.send(0, coll_tag_high32=9, coll_tag=FIRST + 4, **again) == []
    assert nic.counts("answered", refused(Status.WRONG_SOURCE), refused(Status.OUT_OF_RANGE)) == (0, 1, 1)
    assert nic.counts(refused(Status.OUT_OF_WINDOW)) == (1,)


def test_a_failed_result_is_taken_early_only_when_nothing_is_under_way():
    nic = Clocked(parent=True).open()
    nic.holds = True
    for index in range(3):
        nic.send(index, coll_tag=SECOND)
    failed = dict(status=Status.PEER_GONE, payload=b"x" * 30)
    assert nic.answer(**failed) == [], "what went up has not left"
    nic.leave()
    assert nic.answer(**{**failed, "payload": bytes(129)}) == []
    assert nic.answer(status=Status.OK, payload=b"") == []
    assert nic.counts(refused(Status.OUT_OF_WINDOW), refused(Status.BAD_LENGTH)) == (2, 1)
    assert said(nic.answer(**failed)) == [(index, Status.PEER_GONE, b"x" * 24) for index in range(3)]
    nic.leave()
    assert said(nic.send(2)) == [(2, Status.PEER_GONE, b"x" * 24)]


def test_a_window_of_results_under_way_keeps_another_from_completing():
    nic = Clocked(holds=True).open()
    nic.leave()
    for tag in (FIRST, SECOND):
        for index in range(3):
            nic.send(index, coll_tag=tag)
    assert nic.send(0, coll_tag=FIRST + 2) == nic.send(1, coll_tag=FIRST + 2) == []
    assert nic.send(2, coll_tag=FIRST + 2) == [] and nic.counts(refused(Status.OUT_OF_WINDOW)) == (1,)
    nic.leave()
    assert len(nic.send(2, coll_tag=FIRST + 2)) == 3
