"""A leader and what goes wrong: repeats, results of segments that it never came to, who was at fault."""

import pytest

from fanfold.codes import Collective, DataType, Direction, Operator, Status
from fanfold_sim.frames import Address, build, parse
from fanfold_sim.leader import Leader
from fanfold_sim.records import absence, fault

PORT = 49168
NIC = Address(mac=1, ip=2, port=PORT)
HOST = Address(mac=3, ip=4, port=50000)
LAST = (1 << 32) - 1


def leader(coll_tag=LAST):
    return Leader(HOST, NIC, comm_id=5, key=6, index=1, coll_tag=coll_tag)


def told(one, coll_tag, status=Status.OK, payload=b""):
    """What the NIC tells ``one`` of a segment."""
    fields = dict(sender=NIC, receiver=HOST, direction=Direction.DOWN, coll_tag=coll_tag, status=status)
    return one.hear(build(one.packet(**fields, payload=payload)))


def test_a_repeat_is_the_packet_with_the_flag():
    one = leader()
    first = parse(one.allreduce(b"12345678", Operator.SUM, DataType.INT64), PORT)
    again = parse(one.repeat(LAST), PORT)
    assert (first.repeat, again.repeat) == (0, 1)
    again.repeat = 0
    assert again == first
    assert one.coll_tag == 0 and one.unanswered == {LAST}, "a repeat is no new segment"
    assert told(one, LAST, payload=b"87654321").ok
    with pytest.raises(KeyError):
        one.repeat(LAST)


def test_a_registration_can_be_repeated():
    one = leader()
    first = parse(one.register(ranks=1, leaders=2, window=2, abort_ticks=9), PORT)
    again = parse(one.repeat(LAST), PORT)
    assert again.collective is Collective.REGISTER and again.payload == first.payload and again.repeat


def test_a_segment_that_failed_before_it_was_sent_is_skipped():
    one = leader()
    assert told(one, LAST, Status.TIMED_OUT).status is Status.TIMED_OUT
    assert told(one, 0, Status.TIMED_OUT).status is Status.TIMED_OUT, "numbers go on behind the last one"
    assert told(one, 0, Status.TIMED_OUT) is None, "once"
    for _ in range(2):
        assert one.is_over
        one.skip()
    assert not one.is_over and one.coll_tag == 1
    with pytest.raises(KeyError):
        one.skip()
    one.barrier()
    assert one.unanswered == {1}


def test_success_before_it_was_sent_is_no_result():
    assert told(leader(), LAST) is None


def test_what_it_sent_although_it_was_over_is_answered_once():
    one = leader()
    told(one, LAST, Status.TIMED_OUT)
    one.barrier()
    assert not one.is_over
    assert told(one, LAST, Status.EXPIRED).status is Status.EXPIRED
    assert told(one, LAST, Status.EXPIRED) is None


def test_who_was_at_fault():
    one = leader()
    assert told(one, 0, Status.MISMATCH, fault(7, 2)).fault.contributor == 2
    found = told(one, 1, Status.TIMED_OUT, absence(7, [1, 3])).fault
    assert (found.node, found.contributor, found.count, found.missing) == (7, 1, 2, (1, 3))
    assert told(one, 2, Status.EXPIRED).fault is None
    one.allreduce(bytes(8), Operator.SUM, DataType.INT64)
    assert told(one, LAST, payload=bytes(8)).fault is None, "a result is no fault"
