"""Contributions and results in the reference: refusals, failed segments, results from the parent."""

import dataclasses
import struct

import pytest

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status, defined
from fanfold.config import PRESETS, Config
from fanfold.control.events import EVENTS, refused
from fanfold_sim.frames import Address, Packet, build, parse
from fanfold_sim.records import record, total
from fanfold_sim.reference.core import Core
from fanfold_sim.reference.outgoing import Envelopes

TINY = PRESETS["tiny"]
NIC = Address(0x02000000FF00, 0x0A0000FE, TINY.udp_port)
PARENT = Address(0x02000000EE00, 0x0A0000EE, 777)
#: the registration's sequence number; a window of 2
BASE = 0xFFFFFFFE
FIRST, SECOND, THIRD = 0xFFFFFFFF, 0, 1


def place(index: int) -> Address:
    return Address(0x020000000000 + index, 0x0A000000 + index, 5000 + index)


def contribution(source: int = 0, **fields) -> Packet:
    base = dict(sender=place(source), receiver=NIC, comm_id=1, coll_tag_high32=9, coll_tag=FIRST, source=source)
    return Packet(**{**base, "payload": bytes(8), **fields})


def barrier(source: int, **fields) -> Packet:
    return contribution(source, collective=Collective.BARRIER, payload=b"", **fields)


def take(core: Core, port: Port, packet: Packet, **options) -> list[Packet]:
    """What the NIC sends when ``packet`` comes in and everything it sends has left, as packets."""
    verdict = core.classify(port, build(packet), **options)
    assert verdict.packet is not None, verdict.reason
    sent = core.accept(port, verdict.packet)
    for one in sent:
        core.sent(one)
    frames = [Envelopes(TINY.udp_port).frame(one) for one in sent]
    return [parse(frame, one.remote.port) for frame, one in zip(frames, sent, strict=True)]


def opened(config: Config = TINY, parent: Address | None = None) -> Core:
    """A NIC with leaders 0 and 1 and child 2, open; the root unless it has a parent."""
    core = Core(config)
    register = dict(collective=Collective.REGISTER, coll_tag=BASE)
    says = dict(leaders=2, children=1, parent=parent, parent_index=3, parent_total=3)
    payload = record(ranks=1, node=0xBEEF, window=2, **says)
    for index, port in enumerate((Port.HOST, Port.HOST, Port.NET)):
        take(core, port, contribution(index, payload=payload, **register))
    if parent:
        answer = contribution(sender=parent, payload=total(3), direction=Direction.DOWN, **register)
        assert len(take(core, Port.NET, answer)) == 3
    assert core.counters()["opened"] == 1
    return core


def complete(core: Core, *packets: Packet) -> list[Packet]:
    """The contributions of leaders 0, 1 and child 2, in this order; what comes of the last."""
    assert take(core, Port.HOST, packets[0]) == []
    assert take(core, Port.HOST, packets[1]) == []
    return take(core, Port.NET, packets[2])


def causes(core: Core) -> dict[Status, int]:
    counters = core.counters()
    return {status: counters[refused(status)] for status in Status if status.value and counters[refused(status)]}


@pytest.mark.parametrize(
    "port, packet, cause",
    [
        (Port.HOST, contribution(2), Status.OUT_OF_RANGE),
        (Port.NET, contribution(1), Status.OUT_OF_RANGE),
        (Port.NET, contribution(3), Status.OUT_OF_RANGE),
        (Port.HOST, contribution(0, sender=place(1)), Status.WRONG_SOURCE),
        (Port.HOST, contribution(0, sender=dataclasses.replace(place(0), port=1)), Status.WRONG_SOURCE),
        (Port.HOST, contribution(0, coll_tag=BASE), Status.DUPLICATE),
        (Port.HOST, contribution(0, coll_tag=BASE - 1), Status.DUPLICATE),
        (Port.HOST, contribution(0, coll_tag=(FIRST + 0x80000000) % (1 << 32)), Status.DUPLICATE),
        (Port.HOST, contribution(0, coll_tag=FIRST + 0x7FFFFFFE - (1 << 32)), Status.OUT_OF_WINDOW),
        (Port.HOST, contribution(0, coll_tag=THIRD), Status.OUT_OF_WINDOW),
        (Port.HOST, contribution(0, direction=Direction.DOWN), Status.WRONG_SOURCE),
        (Port.NET, contribution(2, direction=Direction.DOWN), Status.WRONG_SOURCE),
    ],
)
def test_refused_contributions_are_counted_and_change_nothing(port, packet, cause):
    core = opened()
    entry = repr(core.entry(1))
    assert take(core, port, packet) == []
    assert causes(core) == {cause: 1}
    assert repr(core.entry(1)) == entry and core.counters()["contributions"] == 0


def test_a_contribution_from_another_queue_is_refused():
    core = opened()
    assert take(core, Port.HOST, contribution(0), queue=1) == []
    assert causes(core) == {Status.WRONG_SOURCE: 1}
    assert take(core, Port.NET, contribution(2), queue=1) == []
    assert causes(core) == {Status.WRONG_SOURCE: 1}, "a network port has no queues"


def test_tags_are_the_way_not_the_place():
    core = opened()
    take(core, Port.HOST, contribution(0, tags=((0x8100, 9),)))
    assert core.counters()["contributions"] == 1


def test_a_second_contribution_is_a_duplicate_before_and_after_completion():
    core = opened()
    take(core, Port.HOST, contribution(0))
    take(core, Port.HOST, contribution(0, payload=bytes(4)))
    assert causes(core) == {Status.DUPLICATE: 1}
    take(core, Port.HOST, contribution(1))
    copies = take(core, Port.NET, contribution(2))
    assert [(one.status, one.source, one.payload) for one in copies] == [(Status.OK, n, bytes(8)) for n in range(3)]
    take(core, Port.HOST, contribution(1))
    assert causes(core) == {Status.DUPLICATE: 2}
    assert core.counters()["contributions"] == 3


def test_a_packet_that_was_tagged_when_it_came_finds_the_context_closed():
    core = opened()
    late = core.classify(Port.HOST, build(barrier(0, coll_tag=SECOND)))
    leave = dict(collective=Collective.DEREGISTER, payload=b"")
    assert len(complete(core, *(contribution(index, **leave) for index in range(3)))) == 3
    assert core.counters()["closed"] == 1
    assert core.accept(Port.HOST, late.packet) == []
    assert causes(core) == {Status.NOT_OPEN: 1}


def test_a_deregistration_that_fails_leaves_the_context_open():
    core = opened()
    leave = dict(collective=Collective.DEREGISTER, payload=b"")
    copies = complete(core, contribution(0, **leave), barrier(1), contribution(2, **leave))
    assert [copy.status for copy in copies] == [Status.MISMATCH] * 3
    assert core.counters()["closed"] == 0
    assert len(complete(core, *(barrier(index, coll_tag=SECOND) for index in range(3)))) == 3


@pytest.mark.parametrize(
    "packet, status",
    [
        (contribution(status=Status.TOO_LARGE, payload=b""), Status.TOO_LARGE),
        (contribution(status=4000, collective=Collective.GATHER), 4000),
        (contribution(collective=Collective.BROADCAST), Status.UNSUPPORTED),
        (contribution(collective=77), Status.UNSUPPORTED),
        (contribution(opt_code=Operator.PROD), Status.UNSUPPORTED),
        (contribution(opt_code=99), Status.UNSUPPORTED),
        (contribution(opt_code=Operator.MINLOC), Status.UNSUPPORTED),
        (contribution(data_type=DataType.FLOAT64), Status.UNSUPPORTED),
        (contribution(data_type=99, payload=bytes(7)), Status.UNSUPPORTED),
        (contribution(payload=bytes(132)), Status.BAD_LENGTH),
        (contribution(payload=bytes(7)), Status.BAD_LENGTH),
        (contribution(collective=Collective.BARRIER, payload=bytes(4)), Status.BAD_LENGTH),
        (contribution(collective=Collective.DEREGISTER, payload=bytes(4)), Status.BAD_LENGTH),
    ],
)
@pytest.mark.parametrize("bad_one", [0, 1])
def test_what_fails_a_segment_for_everyone(packet, status, bad_one):
    core = opened()
    packets = [contribution(index) for index in range(3)]
    packets[bad_one] = dataclasses.replace(packet, sender=place(bad_one), source=bad_one)
    copies = complete(core, *packets)
    found_here = struct.pack("<IHH", 0xBEEF, bad_one, 1)
    said = packet.payload if packet.status is not Status.OK else found_here
    assert [(copy.status, copy.error, copy.payload) for copy in copies] == [(status, 1, said)] * 3
    counters = core.counters()
    assert (counters["contributions"], counters["folded"], counters["failed_segments"]) == (3, 1, 1)
    assert causes(core) == {}
    copies = complete(core, *(contribution(index, coll_tag=THIRD) for index in range(3)))
    assert [copy.status for copy in copies] == [Status.OK] * 3


@pytest.mark.parametrize(
    "difference",
    [
        dict(collective=Collective.BARRIER, payload=b""),
        dict(opt_code=Operator.MIN),
        dict(data_type=DataType.UINT32),
        dict(root=1),
        dict(payload=bytes(4)),
    ],
)
def test_a_difference_is_a_mismatch_and_the_first_ones_fields_travel(difference):
    core = opened()
    copies = complete(core, contribution(0), contribution(1, **difference), contribution(2))
    expected = (Status.MISMATCH, Collective.ALLREDUCE, Operator.SUM, DataType.INT32, 0, FIRST)
    for copy in copies:
        seen = (copy.status, copy.collective, copy.opt_code, copy.data_type, copy.root, copy.coll_tag)
        assert seen == expected


def test_the_first_failure_decides_the_status_and_who_is_named():
    core = opened()
    copies = complete(core, contribution(0), contribution(1, payload=bytes(7)), contribution(2, opt_code=77))
    assert [(copy.status, copy.payload) for copy in copies] == [
        (Status.BAD_LENGTH, bytes.fromhex("efbe000001000100"))
    ] * 3


@pytest.mark.parametrize("length", [0, 1, 8, 23, 24, 25, 128])
@pytest.mark.parametrize("source", [0, 2])
def test_a_reported_failure_travels_as_it_came_but_24_bytes_at_most(source, length):
    core = opened()
    packets = [contribution(index) for index in range(3)]
    reported = bytes(range(1, 1 + length))
    packets[source] = contribution(source, status=Status.TIMED_OUT, payload=reported)
    copies = complete(core, *packets)
    assert [(copy.status, copy.payload) for copy in copies] == [(Status.TIMED_OUT, reported[:24])] * 3


def test_an_instance_may_have_fewer_operators():
    core = opened(dataclasses.replace(TINY, operators=(Operator.MAX,), types=(DataType.INT32,)))
    copies = complete(core, *(contribution(index) for index in range(3)))
    assert [copy.status for copy in copies] == [Status.UNSUPPORTED] * 3


@pytest.mark.parametrize("kind", [*DataType, 15, 255], ids=str)
def test_a_pair_that_is_not_defined_fails_the_segment(kind):
    """Even where the instance has both, for they go with others; 48 bytes are a whole number of any type's elements."""
    core = opened(dataclasses.replace(TINY, operators=tuple(Operator), types=tuple(DataType)))
    tag = FIRST
    for operator in (*Operator, 12, 255):
        codes = dict(opt_code=operator, data_type=kind, coll_tag=tag, payload=bytes(48))
        assert take(core, Port.HOST, contribution(0, **codes)) == []
        slot = core.entry(1).slots[tag % TINY.window]
        known = isinstance(operator, Operator) and isinstance(kind, DataType)
        assert slot.status is (Status.OK if known and defined(operator, kind) else Status.UNSUPPORTED)
        # the others' statuses come later, and do not count
        copies = [take(core, port, contribution(index, **codes, status=Status.MISMATCH))
                  for port, index in ((Port.HOST, 1), (Port.NET, 2))][-1]  # fmt: skip
        assert len(copies) == 3
        tag = (tag + 1) % (1 << 32)


# ------------------------------------------------------------------------------------------------ results from a parent


def result(**fields) -> Packet:
    return contribution(3, **{**dict(sender=PARENT, direction=Direction.DOWN), **fields})


def asked(core: Core, **fields) -> Packet:
    [packet] = complete(core, *(contribution(index, **fields) for index in range(3)))
    assert (packet.receiver, packet.source, packet.direction) == (PARENT, 3, Direction.UP)
    return packet


def test_a_result_reaches_everyone_as_the_parent_sent_it():
    core = opened(parent=PARENT)
    asked(core)
    answer = result(payload=b"abcd", opt_code=77, data_type=DataType.FLOAT32, root=4)
    copies = take(core, Port.NET, answer)
    assert [copy.source for copy in copies] == [0, 1, 2]
    for copy in copies:
        assert (copy.payload, copy.opt_code, copy.data_type, copy.root) == (b"abcd", 77, DataType.FLOAT32, 4)
    assert core.counters()["results"] == 1
    assert take(core, Port.NET, answer) == [] and causes(core) == {Status.DUPLICATE: 1}


def test_while_the_parent_has_not_answered_contributions_are_duplicates():
    core = opened(parent=PARENT)
    asked(core)
    take(core, Port.HOST, contribution(0))
    take(core, Port.HOST, contribution(0, coll_tag=THIRD))
    assert causes(core) == {Status.DUPLICATE: 1, Status.OUT_OF_WINDOW: 1}


def test_a_failed_segment_goes_up_with_its_fault_and_waits_all_the_same():
    core = opened(parent=PARENT)
    packet = asked(core, opt_code=Operator.PROD)
    fault = bytes.fromhex("efbe000000000100")
    assert (packet.status, packet.error, packet.payload) == (Status.UNSUPPORTED, 1, fault)
    copies = take(core, Port.NET, result(status=Status.UNSUPPORTED, payload=fault))
    assert [(copy.status, copy.payload) for copy in copies] == [(Status.UNSUPPORTED, fault)] * 3


@pytest.mark.parametrize("length", [0, 1, 24, 25, 128])
def test_a_failed_result_has_the_payload_that_came_but_24_bytes_at_most(length):
    core = opened(parent=PARENT)
    asked(core)
    copies = take(core, Port.NET, result(status=4000, payload=bytes(range(length))))
    assert [(copy.status, copy.payload) for copy in copies] == [(4000, bytes(range(length))[:24])] * 3


@pytest.mark.parametrize(
    "packet, cause",
    [
        (result(sender=dataclasses.replace(PARENT, ip=5)), Status.WRONG_SOURCE),
        (result(coll_tag=BASE - 1), Status.DUPLICATE),
        (result(coll_tag=THIRD), Status.OUT_OF_WINDOW),
        (result(coll_tag=SECOND), Status.OUT_OF_WINDOW),
        (result(payload=bytes(129)), Status.BAD_LENGTH),
    ],
)
def test_results_that_are_refused(packet, cause):
    core = opened(parent=PARENT)
    asked(core)
    assert take(core, Port.NET, packet) == []
    assert causes(core) == {cause: 1}
    assert len(take(core, Port.NET, result())) == 3


def test_every_cause_has_a_name():
    assert set(Core(TINY).counters()) == set(EVENTS)
