"""Registration in the reference: every cause of refusal, in the order in which the rules name them."""

import dataclasses

import pytest

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.config import PRESETS
from fanfold.control.events import refused
from fanfold_sim.frames import Address, Packet, build, parse
from fanfold_sim.records import read_total, record, total
from fanfold_sim.reference.core import Core
from fanfold_sim.reference.outgoing import Envelopes

TINY = PRESETS["tiny"]
NIC = Address(0x02000000FF00, 0x0A0000FE, TINY.udp_port)
PARENT = Address(0x02000000EE00, 0x0A0000EE, 777)
REGISTER = dict(collective=Collective.REGISTER, opt_code=Operator.SUM, data_type=DataType.UINT32)


def place(index: int) -> Address:
    return Address(0x020000000000 + index, 0x0A000000 + index, 5000 + index)


def registration(source: int = 0, *, sender: Address | None = None, says: dict | None = None, **fields) -> Packet:
    payload = record(**{**dict(ranks=1, leaders=2, children=1, window=2, parent_total=3), **(says or {})})
    base = dict(sender=sender or place(source), receiver=NIC, comm_id=1, coll_tag_high32=9, coll_tag=5, source=source)
    return Packet(**{**base, **REGISTER, "payload": payload, **fields})


def take(core: Core, port: Port, packet: Packet, **options) -> list[Packet]:
    """What the NIC sends when ``packet`` comes in and everything it sends has left, as packets."""
    verdict = core.classify(port, build(packet), **options)
    assert verdict.packet is not None, verdict.reason
    sent = core.accept(port, verdict.packet)
    for one in sent:
        core.sent(one)
    frames = [Envelopes(TINY.udp_port).frame(one) for one in sent]
    return [parse(frame, one.remote.port) for frame, one in zip(frames, sent, strict=True)]


def causes(core: Core) -> dict[Status, int]:
    counters = core.counters()
    return {status: counters[refused(status)] for status in Status if status.value and counters[refused(status)]}


def child_first(core: Core) -> None:
    take(core, Port.NET, registration(3, says=dict(leaders=4, parent_total=4)))


def leader_first(core: Core) -> None:
    take(core, Port.HOST, registration(0))


@pytest.mark.parametrize(
    "before, port, packet, cause",
    [
        (None, Port.HOST, registration(payload=bytes(37)), Status.BAD_LENGTH),
        (None, Port.HOST, registration(payload=bytes(39)), Status.BAD_LENGTH),
        (leader_first, Port.HOST, registration(1, comm_id=3), Status.NO_ROOM),
        (leader_first, Port.HOST, registration(1, coll_tag_high32=8), Status.NO_ROOM),
        (None, Port.HOST, registration(says=dict(window=0)), Status.TOO_LARGE),
        (None, Port.HOST, registration(says=dict(window=3)), Status.TOO_LARGE),
        (None, Port.NET, registration(2, says=dict(window=3)), Status.TOO_LARGE),
        (None, Port.HOST, registration(says=dict(leaders=0, children=0)), Status.TOO_LARGE),
        (None, Port.HOST, registration(says=dict(leaders=3, children=2)), Status.TOO_LARGE),
        (None, Port.HOST, registration(says=dict(leaders=0xFFFF, children=2)), Status.TOO_LARGE),
        (None, Port.HOST, registration(2), Status.OUT_OF_RANGE),
        (None, Port.HOST, registration(says=dict(leaders=0, children=2)), Status.OUT_OF_RANGE),
        (None, Port.NET, registration(4), Status.OUT_OF_RANGE),
        (leader_first, Port.NET, registration(1), Status.OUT_OF_RANGE),
        (leader_first, Port.NET, registration(3), Status.OUT_OF_RANGE),
        (child_first, Port.HOST, registration(0), Status.OUT_OF_RANGE),
        (child_first, Port.HOST, registration(0, says=dict(leaders=4, children=0)), Status.OUT_OF_RANGE),
        (leader_first, Port.HOST, registration(1, says=dict(window=1)), Status.DISAGREE),
        (leader_first, Port.HOST, registration(1, says=dict(node=1)), Status.DISAGREE),
        (leader_first, Port.HOST, registration(1, says=dict(parent=PARENT)), Status.DISAGREE),
        (leader_first, Port.HOST, registration(1, coll_tag=6), Status.DISAGREE),
        (leader_first, Port.HOST, registration(1, receiver=dataclasses.replace(NIC, mac=1)), Status.DISAGREE),
        (leader_first, Port.NET, registration(2, says=dict(window=1)), Status.DISAGREE),
        (leader_first, Port.HOST, registration(0, sender=place(7)), Status.WRONG_SOURCE),
        (leader_first, Port.HOST, registration(0, coll_tag=6, sender=place(7)), Status.DISAGREE),
    ],
)
def test_refusals_are_counted_answered_and_change_nothing(before, port, packet, cause):
    core = Core(TINY)
    if before:
        before(core)
    entry = repr(core.entry(packet.comm_id))
    packet = dataclasses.replace(packet, tags=((0x8100, 4),), root=6)
    [answer] = take(core, port, packet)
    assert causes(core) == {cause: 1}
    assert repr(core.entry(packet.comm_id)) == entry
    assert (answer.status, answer.error, answer.direction) == (cause, 1, Direction.DOWN)
    assert (answer.source, answer.payload, answer.tags) == (packet.source, b"", packet.tags)
    assert answer.receiver == dataclasses.replace(packet.sender)
    assert (answer.sender.mac, answer.sender.ip) == (packet.receiver.mac, packet.receiver.ip)
    assert (answer.comm_id, answer.coll_tag, answer.coll_tag_high32) == (
        packet.comm_id,
        packet.coll_tag,
        packet.coll_tag_high32,
    )


def test_a_repeated_registration_is_not_answered():
    core = Core(TINY)
    leader_first(core)
    assert take(core, Port.HOST, registration(0)) == []
    assert causes(core) == {Status.DUPLICATE: 1}
    assert len(take(core, Port.HOST, registration(0), queue=3)) == 1
    assert causes(core)[Status.WRONG_SOURCE] == 1


@pytest.mark.parametrize("index", (0, 2, 4))
@pytest.mark.parametrize("change", [dict(ip=1), dict(mac=1)])
def test_a_registration_at_another_address_has_no_answer_in_the_network(index, change):
    """It is for another NIC, or is this one's own and came back: an answer would go out under a foreign address."""
    core = Core(TINY)
    leader_first(core)
    entry = repr(core.entry(registration(0).comm_id))
    assert take(core, Port.NET, registration(index, receiver=dataclasses.replace(NIC, **change))) == []
    assert sum(causes(core).values()) == 1
    assert repr(core.entry(registration(0).comm_id)) == entry
    assert len(take(core, Port.NET, registration(index, comm_id=3, receiver=dataclasses.replace(NIC, **change)))) == 1


def test_the_second_registration_of_an_index_adds_no_ranks():
    core = Core(TINY)
    for index in (0, 0, 1, 1):
        take(core, Port.HOST, registration(index, says=dict(ranks=5)))
    answers = take(core, Port.NET, registration(2, says=dict(ranks=7, leaders=1, children=0)))
    assert [read_total(answer.payload) for answer in answers] == [17] * 3
    assert [answer.source for answer in answers] == [0, 1, 2]
    assert core.counters()["opened"] == 1


def test_ranks_are_added_modulo_two_to_the_32():
    core = Core(TINY)
    take(core, Port.HOST, registration(0, says=dict(ranks=0xFFFFFFFF, children=0)))
    answers = take(core, Port.HOST, registration(1, says=dict(ranks=3, children=0)))
    assert [read_total(answer.payload) for answer in answers] == [2, 2]


def waiting(core: Core) -> Packet:
    """A NIC that asked its parent; what it asked."""
    says = dict(children=0, parent=PARENT, parent_index=1)
    take(core, Port.HOST, registration(0, says=says))
    verdict = core.classify(Port.HOST, build(registration(1, says=says)))
    [outgoing] = core.accept(Port.HOST, verdict.packet)
    assert (outgoing.port, outgoing.source) == (Port.NET, 1)
    core.sent(outgoing)
    return parse(Envelopes(TINY.udp_port).frame(outgoing), PARENT.port)


def answer(**fields) -> Packet:
    base = dict(sender=PARENT, receiver=NIC, comm_id=1, coll_tag_high32=9, coll_tag=5, source=1, payload=total(24))
    return Packet(**{**base, **REGISTER, "direction": Direction.DOWN, **fields})


def test_the_parent_is_asked_with_the_leaders_record_and_the_sum_of_ranks():
    packet = waiting(Core(TINY))
    assert packet.receiver == PARENT and packet.direction is Direction.UP and packet.source == 1
    says = dict(leaders=2, window=2, children=0, parent=PARENT, parent_index=1, parent_total=3)
    assert packet.payload == record(ranks=2, **says)


@pytest.mark.parametrize(
    "packet, cause",
    [
        (answer(comm_id=3), Status.NOT_OPEN),
        (answer(coll_tag_high32=8), Status.NOT_OPEN),
        (answer(sender=dataclasses.replace(PARENT, mac=1)), Status.WRONG_SOURCE),
        (answer(sender=dataclasses.replace(PARENT, ip=1)), Status.WRONG_SOURCE),
        (answer(sender=dataclasses.replace(PARENT, port=1)), Status.WRONG_SOURCE),
        (answer(coll_tag=4), Status.OUT_OF_WINDOW),
        (answer(payload=b""), Status.BAD_LENGTH),
    ],
)
def test_answers_that_are_refused_are_counted_and_not_answered(packet, cause):
    core = Core(TINY)
    waiting(core)
    assert take(core, Port.NET, packet) == []
    assert causes(core) == {cause: 1}
    assert [read_total(one.payload) for one in take(core, Port.NET, answer())] == [24, 24]
    assert take(core, Port.NET, answer()) == []
    assert causes(core) == {cause: 1, Status.DUPLICATE: 1}


def test_answers_nobody_waits_for():
    core = Core(TINY)
    assert take(core, Port.NET, answer()) == []
    leader_first(core)
    assert take(core, Port.NET, answer()) == []
    assert causes(core) == {Status.NOT_OPEN: 2}
    assert take(core, Port.HOST, answer()) == []
    assert causes(core) == {Status.NOT_OPEN: 2, Status.WRONG_SOURCE: 1}


def test_the_parents_refusal_reaches_every_leader_and_leaves_nothing_behind():
    core = Core(TINY)
    waiting(core)
    answers = take(core, Port.NET, answer(status=Status.NO_ROOM, payload=b""))
    assert [(one.status, one.error, one.payload, one.source) for one in answers] == [
        (Status.NO_ROOM, 1, b"", 0),
        (Status.NO_ROOM, 1, b"", 1),
    ]
    assert core.counters()["opened"] == 0 and core.counters()["closed"] == 1
    assert take(core, Port.NET, answer()) == []
    assert take(core, Port.HOST, registration(0, says=dict(children=0))) == []
    assert len(take(core, Port.HOST, registration(1, says=dict(children=0)))) == 2
