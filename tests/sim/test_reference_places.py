"""Places for contributors in the reference: shared by all communicators, in blocks."""

import dataclasses

import pytest

from fanfold.codes import Collective, DataType, Operator, Port, Status
from fanfold.config import PRESETS, Config
from fanfold.control.events import refused
from fanfold_sim.frames import Address, Packet, build
from fanfold_sim.nic import Timing
from fanfold_sim.records import record
from fanfold_sim.reference.core import Core
from fanfold_sim.reference.places import Places

#: 8 places for communicators of up to 4 contributors
FEW = dataclasses.replace(PRESETS["tiny"], contexts=8, places=8)
NIC = Address(0x02000000FF00, 0x0A0000FE, FEW.udp_port)


def taken(places: Places, *contributors: int) -> list[range | None]:
    """The blocks of these communicators, one after the other."""
    blocks = []
    for number in contributors:
        blocks.append(places.find(number))
        if blocks[-1] is not None:
            places.take(blocks[-1])
    return blocks


def test_blocks_are_aligned_and_the_lowest_free_one_goes_first():
    places = Places(FEW)
    assert taken(places, 1, 2, 3, 1, 1) == [range(1), range(2, 4), range(4, 8), range(1, 2), None]
    places.give_back(range(2, 4))
    assert taken(places, 4, 1, 2, 1) == [None, range(2, 3), None, range(3, 4)]


def test_a_block_may_be_found_where_another_one_ends():
    places = Places(FEW)
    assert taken(places, 4, 2, 1) == [range(4), range(4, 6), range(6, 7)]
    assert places.find(4) is None and places.find(4, instead=range(4)) == range(4)
    assert places.find(1, instead=range(4, 6)) == range(4, 5)


def test_of_many_places_a_block_has_a_sixty_fourth_at_least():
    config = Config(contributors=64, contexts=8)
    assert config.pool_places == 512
    assert taken(Places(config), 1, 9, 16, 2) == [range(8), range(16, 32), range(32, 48), range(8, 16)]


@pytest.mark.parametrize(
    "places, contributors, contexts, message",
    [
        (2, 4, 4, "places is 2: it must be a whole number from 4 to 16"),
        (32, 4, 4, "places is 32: it must be a whole number from 4 to 16"),
        (12, 4, 4, "places is 12: it must be a power of two from 4 to 16"),
        (4, 5, 4, "places is 4: it must be a whole number from 8 to 32"),
    ],
)
def test_numbers_of_places_that_are_refused(places, contributors, contexts, message):
    with pytest.raises(ValueError, match=message):
        Config(places=places, contributors=contributors, contexts=contexts)


class Office:
    """Registers, and says which status comes back; ``None``: nothing."""

    def __init__(self, **timing: int):
        self.core = Core(FEW)
        self.core.deadlines.timing = Timing(**timing)

    def send(self, port: Port, comm: int, source: int = 0, **fields) -> Status | int | None:
        sender = Address(0x020000000000 + source, 0x0A000000 + source, 5000)
        base = dict(sender=sender, receiver=NIC, comm_id=comm, coll_tag_high32=9, coll_tag=5, source=source)
        verdict = self.core.classify(port, build(Packet(**{**base, **fields})))
        assert verdict.packet is not None
        sends = self.core.accept(port, verdict.packet)
        for each in sends:
            self.core.sent(each)
        return sends[0].segment.status if sends else None

    def register(self, port: Port, comm: int, source: int = 0, **says) -> Status | int | None:
        codes = dict(collective=Collective.REGISTER, opt_code=Operator.SUM, data_type=DataType.UINT32)
        return self.send(port, comm, source, payload=record(**{**dict(ranks=1, leaders=1, window=1), **says}), **codes)


def test_a_communicator_without_places_is_refused_until_another_one_ends():
    office = Office()
    assert office.register(Port.HOST, 0, leaders=3) is None
    assert office.register(Port.NET, 1, 2, parent_total=4) is None
    assert office.register(Port.HOST, 2) is Status.NO_ROOM
    assert office.core.counters()[refused(Status.NO_ROOM)] == 1
    office.core.release(0)
    assert office.register(Port.HOST, 2) is Status.OK
    assert office.register(Port.HOST, 3, leaders=3) is Status.NO_ROOM
    assert office.send(Port.HOST, 2, collective=Collective.DEREGISTER, coll_tag=6) is Status.OK
    assert office.register(Port.HOST, 3, leaders=3) is None


def test_a_registration_that_is_aborted_gives_its_places_back():
    office = Office(abort_ticks=4)
    assert office.register(Port.HOST, 0, leaders=3) is None
    assert office.register(Port.HOST, 1, leaders=4) is None
    office.core.deadlines.now = 4
    office.core.overdue()
    assert [office.register(Port.HOST, comm, leaders=4) for comm in (5, 6, 7)] == [None, None, Status.NO_ROOM]


def test_what_lingers_keeps_its_places_but_from_the_one_that_takes_it_over():
    office = Office(linger_ticks=4)
    assert office.register(Port.HOST, 0, children=1) is None
    assert office.register(Port.NET, 0, 1, parent_total=2) is Status.OK
    for source, port in enumerate((Port.HOST, Port.NET)):
        office.send(port, 0, source, collective=Collective.DEREGISTER, coll_tag=6)
    assert office.register(Port.HOST, 1, leaders=4) is None
    assert office.register(Port.HOST, 2, leaders=3) is Status.NO_ROOM
    assert office.register(Port.HOST, 8, leaders=3) is None, "in the lingering one's place"
    assert office.core.counters()["closed"] == 1


@pytest.mark.parametrize(
    "first, second, cause",
    [
        (None, (Port.NET, 1, dict(parent_total=0)), Status.TOO_LARGE),
        (None, (Port.NET, 1, dict(parent_total=5)), Status.TOO_LARGE),
        (None, (Port.NET, 2, dict(parent_total=2)), Status.OUT_OF_RANGE),
        ((Port.HOST, 0, dict(children=1)), (Port.NET, 1, dict(parent_total=3)), Status.DISAGREE),
        ((Port.NET, 1, dict(parent_total=3)), (Port.NET, 2, dict(parent_total=4)), Status.DISAGREE),
        ((Port.NET, 1, dict(parent_total=3)), (Port.HOST, 0, dict(children=1)), Status.DISAGREE),
        ((Port.NET, 1, dict(parent_total=3)), (Port.HOST, 0, dict(children=2)), None),
        ((Port.HOST, 0, dict(children=2)), (Port.NET, 2, dict(parent_total=3)), None),
    ],
)
def test_all_who_register_say_how_many_there_are(first, second, cause):
    office = Office()
    for port, source, says in filter(None, (first,)):
        assert office.register(port, 0, source, **says) is None
    port, source, says = second
    assert office.register(port, 0, source, **says) is cause
