"""Whose turn it is where both ports' packets and the NIC's own meet."""

from itertools import pairwise

import pytest
from amaranth import *

from fanfold.admission.merge import Merge
from fanfold.codes import Collective, Origin, Port
from fanfold.config import PRESETS
from fanfold_sim.bench import cycle, run, send

CONFIG = PRESETS["tiny"]
#: packets of each input: of one beat and more
LENGTHS = [1, 3, 1, 16, 2] * 4
OWN = "own"


def played(pressed, lengths=LENGTHS, inputs=("host", "net", OWN)):
    """All offer at once, without a gap; in which order their packets leave, and the cycles of the beats.

    ``pressed(left)`` is set while so many packets have left.
    """
    dut = Merge(CONFIG)
    left = []

    def beats(collective=Collective.ALLREDUCE, **more):
        for number, count in enumerate(lengths):
            head = {"header": {"comm_id": number, "collective": collective.value}}
            for at in range(count):
                yield {"data": at, "last": at == count - 1, **more}, head

    async def host_heads(ctx):
        await send(ctx, dut.host_head, [head for beat, head in beats() if beat["last"]])

    async def host_payload(ctx):
        await send(ctx, dut.host_payload, [beat for beat, _ in beats()])

    async def net_heads(ctx):
        await send(ctx, dut.net_head, [head for beat, head in beats() if beat["last"]])

    async def net_payload(ctx):
        await send(ctx, dut.net_payload, [beat for beat, _ in beats()])

    async def own(ctx):
        made = [{**beat, "first": beat["data"] == 0, "head": head} for beat, head in beats(origin=Origin.ANNOUNCED)]
        await send(ctx, dut.announcements, made)

    async def sink(ctx):
        inside = 0
        while len(left) < len(lengths) * len(inputs):
            ctx.set(dut.pressed, pressed(len(left)))
            valid, beat = await cycle(ctx, dut.o.valid, dut.o.payload)
            if not valid:
                continue
            assert beat.first == (inside == 0) and beat.data == inside, "a packet is broken into"
            inside = 0 if beat.last else inside + 1
            if beat.last:
                source = OWN if beat.origin is Origin.ANNOUNCED else Port(beat.port).name.lower()
                assert beat.head.header.comm_id == sum(one == source for one in left), "in order"
                left.append(source)

    sources = {"host": (host_heads, host_payload), "net": (net_heads, net_payload), OWN: (own,)}
    feeders = [each for name in inputs for each in sources[name]]
    return left, run(dut, *feeders, sink, cycles=2000)["o"].taken


def test_both_ports_and_the_nic_take_turns():
    """One of its own after one of a port's, and the ports in turn."""
    left, cycles = played(lambda left: 0)
    assert cycles == list(range(cycles[0], cycles[0] + 3 * sum(LENGTHS))), "without a gap"
    own, ports = left[1:30:2], left[0:30:2]
    if left[0] == OWN:
        own, ports = ports, own
    assert set(own) == {OWN}
    assert all(one != other for one, other in pairwise(ports)), ports


@pytest.mark.parametrize("pressed, first, last", [(1, "host", "net"), (2, "net", "host"), (3, "host", "net")])
def test_a_pressed_port_does_not_wait_for_the_other(pressed, first, last):
    """The host before the network; the NIC's own still take their turns, so nobody else waits for ever."""
    left, _ = played(lambda left: pressed)
    while_all = left[: 2 * len(LENGTHS) - 4]
    assert while_all.count(last) <= 1, "one may have been chosen before"
    assert abs(while_all.count(OWN) - while_all.count(first)) <= 2
    assert left.count(first) == left.count(last) == len(LENGTHS)


def test_pressure_counts_from_the_next_packet_on():
    """A port that becomes pressed is next, but for what has been chosen already."""
    for at in range(4, 12):
        left, _ = played(lambda left, at=at: left >= at, inputs=("host", "net"))
        assert left[at + 2 : at + 6] == ["host"] * 4, left
