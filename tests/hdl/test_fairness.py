"""Regular frames among collectives, by how much they are delayed; one direction while the other is stuck."""

from dataclasses import replace

import pytest
from pressure import LONG_WINDOWS, WIDE, Pressure, longest_packet

from fanfold.codes import Port
from fanfold_sim.frames import Address
from fanfold_sim.toolchain import has_compiler

pytestmark = pytest.mark.skipif(not has_compiler(), reason="Verilated models need a C++ compiler")

CONFIGURATIONS = {"8": LONG_WINDOWS, "64": WIDE}
#: the same, with room for all that children may have unanswered: what is refused among it may still be too much
ROOMY = {"8": replace(LONG_WINDOWS, waiting_segments=256), "64": WIDE}
#: cycles beside a packet's beats: the turn of the arbiter, and a beat that is not the output's last
FIXED = 2
PARENT = Address(0x020000000F00, 0x0A000F00, 7000)


@pytest.fixture(params=CONFIGURATIONS)
def config(request):
    return CONFIGURATIONS[request.param]


def delays(config, collectives=True, stalled=False, **people) -> tuple[dict[Port, int], Pressure]:
    """The longest delay of a regular frame by the port at which it leaves."""
    pressure = Pressure(config, **people)
    packet = longest_packet(config)
    pressure.everything(1100 * packet, (2 * packet + 20, 5 * packet + 60), collectives, stalled)
    found = {port: max(each) for port, each in pressure.delays.items()}
    return found, pressure


def more_than_alone(config, **people) -> tuple[dict[Port, int], Pressure]:
    """By how many cycles the longest delay is longer than without collectives."""
    alone, quiet = delays(config, collectives=False, **people)
    assert all(set(each) == {alone[port]} for port, each in quiet.delays.items()), (
        "all wait alike when nothing is there"
    )
    among, pressure = delays(config, **people)
    assert pressure.answered > 100
    return {port: among[port] - alone[port] for port in Port}, pressure


@pytest.mark.parametrize("stalled", [False, True])
def test_leaders_at_full_rate(config, stalled):
    """Copies for all leaders keep the host's port busy all the time, whatever is stalled, released, or refused."""
    more, pressure = more_than_alone(config, leaders=config.contributors, children=0, stalled=stalled)
    counters = pressure.nic.counters()
    assert 0 < more[Port.HOST] <= longest_packet(config) + FIXED
    assert more[Port.NET] <= longest_packet(config) + FIXED
    assert counters["net_dropped"] == 0
    refused = sum(count for name, count in counters.items() if name.startswith("refused_"))
    assert refused > 10 and counters["host_copies"] > 100


@pytest.mark.parametrize("width", ROOMY)
def test_leaders_and_children_at_full_rate(width):
    """Both ports bring more than the fold takes: packets wait for it, regular frames do not."""
    config = ROOMY[width]
    half = config.contributors // 2
    more, pressure = more_than_alone(config, leaders=half, children=half)
    assert all(each <= longest_packet(config) + FIXED for each in more.values()), more
    counters = pressure.nic.counters()
    assert counters["net_dropped"] == counters["net_cut"] == 0
    refused = sum(count for name, count in counters.items() if name.startswith("refused_"))
    registrations = sum(map(len, pressure.groups))
    decided = registrations + counters["contributions"] + refused
    assert decided + counters["net_overrun"] == counters["host_tagged"] + counters["net_tagged"], (
        "all are accounted for"
    )
    assert counters["net_overrun"] < counters["net_tagged"] // 20 and counters["folded"] > 100


def test_more_than_the_fold_takes(config):
    """Both ports bring nothing but tagged packets, until the network's do not fit any more: these are dropped whole and
    counted, regular frames of both ports pass as if there were none, and everything is right afterwards."""
    half = config.contributors // 2
    people = {"leaders": half, "children": half}
    alone, _ = delays(config, collectives=False, **people)
    pressure = Pressure(config, **people)
    before = pressure.nic.counters()
    packet = longest_packet(config)
    sent = pressure.flood(300 * packet, (3 * packet, 9 * packet))
    found = {name: count - before[name] for name, count in pressure.nic.counters().items() if count != before[name]}
    overrun = found.pop("net_overrun")
    frames = {f"{port.name.lower()}_{name}": count for port in Port for name, count in (
        ("tagged", sent[port]), ("regular", len(pressure.delays[Port(1 - port.value)])),
    )}  # fmt: skip
    assert found == {**frames, "refused_out_of_window": sum(sent.values()) - overrun}, "refused, or counted as dropped"
    assert sent[Port.NET] // 8 < overrun < sent[Port.NET]
    for port, each in pressure.delays.items():
        assert len(each) > 40
        assert max(each) == alone[port], "nothing leaves but regular frames, and they do not wait"
    members = [member for group in pressure.groups for member in group]
    answered = pressure.answered
    for _ in range(4):
        for member in members:
            pressure.contribute([member])
            pressure.settle()
    assert pressure.answered == answered + 4 * len(members)
    assert pressure.nic.counters()["net_overrun"] == overrun


def test_a_host_that_takes_nothing(config):
    """Frames and partial results leave to the network in full; frames to the host wait, or are dropped whole."""
    pressure = Pressure(config, leaders=2, parent=PARENT)
    pressure.others.clear()
    leaders = [member for group in pressure.groups for member in group]
    room = 2 * config.frame_beats * config.beat_bytes
    pressure.nic.hesitate(Port.HOST, 1)
    from_net = [pressure.regular(Port.NET) for _ in range(room // 40)]
    from_host = [pressure.regular(Port.HOST) for _ in range(200)]
    while any(member.may_send for member in leaders):
        pressure.contribute(leaders)
        pressure.run(10)
    from_host += [pressure.regular(Port.HOST) for _ in range(200)]
    pressure.run(config.window * len(leaders) * longest_packet(config) + 10_000)
    assert pressure.passed == {Port.HOST: [], Port.NET: from_host}
    up = [left for left in pressure.others if left.frame.startswith(PARENT.mac.to_bytes(6, "big"))]
    assert len(up) == len(pressure.others) == config.window * len(pressure.groups), "one partial result a segment"
    pressure.nic.hesitate(Port.HOST, 0)
    pressure.settle()
    dropped = pressure.nic.counters()["net_dropped"]
    passed = pressure.passed[Port.HOST]
    assert dropped > 0 and len(passed) == len(from_net) - dropped, "each frame has left or was counted"
    kept = set(passed)
    assert passed == [frame for frame in from_net if frame in kept], "whole, and in order"
    again = pressure.regular(Port.NET)
    pressure.settle()
    assert pressure.passed[Port.HOST][-1] == again


def test_a_network_that_takes_nothing(config):
    """Frames and results leave to the host in full; what the host sends to the network waits, and nothing is lost."""
    half = config.contributors // 2
    pressure = Pressure(config, leaders=half, children=half)
    members = [member for group in pressure.groups for member in group]
    answered = pressure.answered
    pressure.nic.hesitate(Port.NET, 1)
    from_net = [pressure.regular(Port.NET)]
    for port in (Port.NET, Port.HOST):  # one after the other, for together they bring more than the fold takes
        senders = [member for member in members if pressure.port(member) is port]
        while any(member.may_send for member in senders):
            pressure.contribute(senders)
            pressure.run(10)
        from_net.append(pressure.regular(Port.NET))
    pressure.run(config.window * len(members) * longest_packet(config) + 2000)
    from_host = [pressure.regular(Port.HOST) for _ in range(200)]
    from_net += [pressure.regular(Port.NET) for _ in range(200)]
    pressure.run(200 * 100)
    assert pressure.passed == {Port.HOST: from_net, Port.NET: []}
    segments = config.window * len(pressure.groups)
    assert pressure.answered == answered + segments * half, "every leader has all results of its window"
    assert pressure.nic.counters()["net_dropped"] == 0
    pressure.nic.hesitate(Port.NET, 0)
    pressure.settle()
    assert pressure.passed[Port.NET] == from_host
    assert pressure.answered == answered + segments * 2 * half
