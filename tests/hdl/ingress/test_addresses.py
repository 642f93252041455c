"""Packets for other NICs, as a switch delivers them that sends to every port: the address decides, bit by bit."""

import dataclasses
from itertools import product

import pytest
from ingress_bench import COMM_ID, OTHER_COMM_ID, RECEIVER, Bench, Frame, check, configured, expectation, packet

from fanfold.codes import Collective, Port

#: every address that differs from the NIC's in one bit and is still a single host's
OTHERS = [
    *(dataclasses.replace(RECEIVER, mac=RECEIVER.mac ^ 1 << bit) for bit in range(48) if bit != 40),
    *(dataclasses.replace(RECEIVER, ip=RECEIVER.ip ^ 1 << bit) for bit in range(32)),
]


def to_and_fro(collective: Collective, payload: bytes, comm_id: int) -> list[Frame]:
    """Packets to every other address, one to the NIC's own between them."""
    return [
        Frame(packet(payload, receiver=receiver, collective=collective, comm_id=comm_id), queue=number)
        for number, (other, receiver) in enumerate(product(OTHERS, (None, RECEIVER)))
        for receiver in [receiver or other]
    ]


CONTRIBUTIONS = to_and_fro(Collective.ALLREDUCE, bytes(range(9)), COMM_ID)
REGISTRATIONS = to_and_fro(Collective.REGISTER, bytes(38), OTHER_COMM_ID)


@pytest.mark.parametrize("width, port", [(8, Port.HOST), (16, Port.NET), (32, Port.HOST), (64, Port.NET)])
def test_every_bit_of_the_address_counts(width, port):
    regular, tagged, _ = expectation(configured(width), CONTRIBUTIONS)
    assert (len(regular), len(tagged)) == (len(OTHERS), len(OTHERS))
    regular, tagged, _ = expectation(configured(width), REGISTRATIONS)
    assert (len(regular), len(tagged)) == (47, 47 + 2 * 32), "registrations: the MAC address alone"
    check([frame for pair in zip(CONTRIBUTIONS, REGISTRATIONS, strict=True) for frame in pair], width, port=port)


@pytest.mark.parametrize("width", (8, 64))
def test_a_nic_without_an_address_takes_registrations_at_any(width):
    regular, tagged, _ = expectation(configured(width), REGISTRATIONS, local_mac=0)
    assert (len(regular), len(tagged)) == (0, len(REGISTRATIONS))
    check(REGISTRATIONS + CONTRIBUTIONS[:40], width, dut=Bench(configured(width), local_mac=0))


def test_a_registration_of_an_open_context_is_at_home_where_the_context_is():
    """Whatever the NIC's address is by then: the context has its own, and the answer comes from enrolment."""
    again = packet(bytes(38), collective=Collective.REGISTER)
    elsewhere = packet(bytes(38), collective=Collective.REGISTER, receiver=OTHERS[0])
    moved = RECEIVER.mac ^ 1 << 47
    regular, tagged, counts = expectation(configured(8), [Frame(again), Frame(elsewhere)], moved)
    assert (len(regular), len(tagged), counts["unmatched"]) == (1, 1, 1)
    check([Frame(again), Frame(elsewhere)], 8, dut=Bench(configured(8), local_mac=moved))
