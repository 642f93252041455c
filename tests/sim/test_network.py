"""Channels and the switch: serialisation, order, latency, and frames for nobody."""

import pytest

from fanfold_sim.network import SHORTEST_FRAME, WIRE_OVERHEAD_BYTES, Channel, Switch, picoseconds

SIZE = 1000


def channel(latency=0, gbps=100.0):
    return Channel("a link", gbps, latency)


def test_a_frame_takes_its_bits_and_the_latency():
    link = channel(latency=110_000)
    duration = 8 * (SIZE + WIRE_OVERHEAD_BYTES) * 10  # ps at 100 Gb/s
    assert link.duration(SIZE) == duration
    assert link.send(SIZE, start=5) == 5 + duration + 110_000
    assert (link.traffic.packets, link.traffic.bytes) == (1, SIZE)


def test_frames_queue_one_behind_the_other():
    link = channel()
    first = link.send(SIZE, start=0)
    second = link.send(SIZE, start=1)
    assert second == 2 * first
    later = link.send(SIZE, start=10 * first)
    assert later == 11 * first


def test_a_frame_is_not_there_before_its_last_byte():
    link = channel()
    assert link.send(SIZE, start=0, ready=10**6) == 10**6


def test_short_frames_are_padded_on_the_wire():
    link = channel()
    assert link.duration(1) == link.duration(SHORTEST_FRAME)
    bus = Channel("a bus", 100.0, 0, overhead=0, shortest=0)
    assert bus.duration(1) == 80


def test_the_switch_cuts_through_and_keeps_order():
    arrivals = []
    switch = Switch(picoseconds(250), lambda *arrival: arrivals.append(arrival))
    inputs, output = channel(latency=100), channel(latency=100)
    frame = (7).to_bytes(6, "big") + bytes(SIZE - 6)
    assert switch.attach(7, output) == 0
    at_switch = inputs.send(SIZE, start=0)
    switch.forward(at_switch, frame, "first")
    switch.forward(at_switch, frame, "second")
    # one serialisation, two latencies and the switch; the second waits for the output
    assert arrivals[0] == (0, frame, at_switch + 250_000 + 100, "first")
    assert arrivals[1] == (0, frame, at_switch + 250_000 + 100 + output.duration(SIZE), "second")


def test_frames_for_nobody_are_counted():
    switch = Switch(0, lambda *arrival: pytest.fail("nobody has that address"))
    switch.attach(7, channel())
    switch.forward(0, bytes(60))
    assert switch.unknown == 1
    with pytest.raises(ValueError, match="00:00:00:00:00:07 is attached twice"):
        switch.attach(7, channel())
