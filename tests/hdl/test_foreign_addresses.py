"""Random traffic among which are packets for other NICs: hardware and reference leave the same ones alone."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from fanfold.codes import Port
from fanfold.config import PRESETS, Config
from fanfold_sim.frames import Packet, build, parse
from fanfold_sim.nic import make_nic
from fanfold_sim.toolchain import has_compiler
from fanfold_sim.traffic import Arrival, play, script

MAC = 0x0200_5E10_00FE
#: cycles after reset in which the registers are written
_START = 400
_NEEDS_COMPILER = pytest.mark.skipif(not has_compiler(), reason="Verilated models need a C++ compiler")


def elsewhere(choices: random.Random, packet: Packet) -> Packet:
    """The same packet to another MAC address, IP address, or both, of which one bit differs."""
    receiver = packet.receiver
    what = choices.choice(("mac", "mac", "ip", "both"))
    if what != "ip":
        receiver = replace(receiver, mac=receiver.mac ^ 1 << choices.choice((0, 7, 21, 32, 41, 47)))
    if what != "mac":
        receiver = replace(receiver, ip=receiver.ip ^ 1 << choices.choice((0, 9, 16, 24)))
    return replace(packet, receiver=receiver)


def flooded(config: Config, seed: int, one_mac: bool) -> list[Arrival]:
    """A script, and before some packets the same one to somebody else; with ``one_mac`` the NIC has one MAC address in
    all communicators."""
    choices = random.Random(seed)
    arrivals = []
    late = _START
    for arrival in script(config, seed, rounds=3):
        packet = parse(arrival.frame, config.udp_port)
        if packet is not None and packet.damage == "":
            if one_mac:
                packet = replace(packet, receiver=replace(packet.receiver, mac=MAC))
                arrival = replace(arrival, frame=MAC.to_bytes(6, "big") + arrival.frame[6:])
            if choices.random() < 0.3:
                frame = build(elsewhere(choices, packet))
                arrivals.append(replace(arrival, frame=frame, cycle=arrival.cycle + late))
                late += -(-len(frame) // config.beat_bytes)
        arrivals.append(replace(arrival, cycle=arrival.cycle + late))
    return arrivals


def compare(maker: str, config: Config, seed: int, local_mac: int) -> Counter:
    """Plays the traffic of ``seed`` to the reference and to ``maker``; the counters of both."""
    arrivals = flooded(config, seed, one_mac=bool(local_mac))
    outcomes = []
    for one in ("reference", maker):
        nic = make_nic(one, config)
        nic.set_local_mac(local_mac)
        outcomes.append(play(nic, arrivals))
        nic.close()
    expected, found = outcomes
    for port in Port:
        assert found.regular[port] == expected.regular[port], f"regular at the {port.name.lower()} port, seed {seed}"
        assert found.copies[port] == expected.copies[port], f"copies at the {port.name.lower()} port, seed {seed}"
    assert found.counters == expected.counters, f"counters, seed {seed}"
    return Counter(found.counters)


@_NEEDS_COMPILER
@pytest.mark.parametrize("preset, seeds", [("tiny", 25), pytest.param("numa", 200, marks=pytest.mark.long)])
@pytest.mark.parametrize("local_mac", (0, MAC))
def test_verilated(preset, seeds, local_mac):
    counts: Counter = Counter()
    for seed in range(seeds):
        counts += compare("verilator", PRESETS[preset], seed, local_mac)
    for name in ("host_unmatched", "net_unmatched", "opened", "folded", "results", "refused_disagree"):
        assert counts[name], f"nothing was counted as {name}"


def test_in_amaranths_simulator():
    compare("amaranth", PRESETS["tiny"], 1, MAC)
