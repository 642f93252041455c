"""Payloads full of corner values, and random traffic that has every operator and type, and pairs that are refused."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.config import PRESETS
from fanfold_sim.elements import corners, parts
from fanfold_sim.frames import Packet, parse
from fanfold_sim.nic import make_nic
from fanfold_sim.traffic import play, script
from fanfold_sim.traffic.payloads import corner_payload

EVERYTHING = replace(PRESETS["tiny"], operators=tuple(Operator), types=tuple(DataType))


@pytest.mark.parametrize("kind", DataType, ids=lambda kind: kind.name)
def test_payloads(kind):
    size = kind.element_bytes
    value = parts(kind)[0]
    wanted = {bits.to_bytes(value.element_bytes, "little") for bits in corners(value)}
    choices = random.Random(7)
    corner = telling = total = ties = 0
    for length in (0, 1, size, size + 1, 40 * size, 128) * 30:
        payload, other = (corner_payload(choices, kind, length) for _ in range(2))
        assert len(payload) == len(other) == length
        for at in range(0, length - size + 1, size):
            total += 1
            found = payload[at : at + value.element_bytes]
            corner += found in wanted
            telling += found == bytes(value.element_bytes)
            ties += found == other[at : at + value.element_bytes] and payload[at:][:size] != other[at:][:size]
    assert 0.35 < corner / total < (0.85 if kind.pair else 0.65)
    assert telling > total / 200, "zeros"
    assert not kind.pair or ties > total / 20, "equal values at different indices"


def test_a_payload_of_no_type_is_random():
    drawn = [corner_payload(random.Random(3), 99, 50) for _ in range(2)]
    assert drawn[0] == drawn[1] and len(set(drawn[0])) > 20


def test_the_same_seed_gives_the_same_payload():
    one, same, other = (corner_payload(random.Random(seed), DataType.FLOAT32, 64) for seed in (1, 1, 2))
    assert one == same != other


def test_traffic_is_the_same_for_the_same_seed():
    assert script(EVERYTHING, 11) == script(EVERYTHING, 11) != script(EVERYTHING, 12)


def received(frame: bytes) -> Packet:
    """What a NIC sent, whichever port and VLAN tags it goes to."""
    tags = next(number for number in range(3) if frame[12 + 4 * number :][:2] == b"\x08\x00")
    packet = parse(frame, int.from_bytes(frame[36 + 4 * tags :][:2], "big"))
    assert packet and not packet.damage
    return packet


def test_traffic_has_all_operators_and_types_and_pairs_that_are_refused():
    results = Counter()
    contributed = set()
    for seed in range(60):
        arrivals = script(EVERYTHING, seed)
        for arrival in arrivals:
            packet = parse(arrival.frame, EVERYTHING.udp_port)
            if packet and packet.collective is Collective.ALLREDUCE and packet.direction is Direction.UP:
                contributed.add((packet.opt_code, packet.data_type))
        outcome = play(make_nic("reference", EVERYTHING), arrivals)
        for port in Port:
            for frame, *_ in outcome.copies[port]:
                packet = received(frame)
                if packet.collective is Collective.ALLREDUCE:
                    results[packet.opt_code, packet.data_type, packet.status] += 1
    # a parent may answer with whatever it likes, so some of these pairs are not defined
    folded = {(operator, kind) for operator, kind, status in results if status is Status.OK} & set(EVERYTHING.pairs)
    assert {operator for operator, _ in folded} == set(Operator)
    assert {kind for _, kind in folded} == set(DataType)
    assert len(folded) > 0.8 * len(EVERYTHING.pairs)
    statuses = Counter()
    for (_, _, status), number in results.items():
        statuses[status] += number
    total = statuses.total()
    assert statuses[Status.OK] > 0.5 * total
    for cause in (Status.UNSUPPORTED, Status.BAD_LENGTH, Status.MISMATCH):
        assert statuses[cause] > 0.02 * total, cause
    undefined = {(one, kind) for one in Operator for kind in DataType} - set(EVERYTHING.pairs)
    assert len(contributed & undefined) > 0.5 * len(undefined)
