"""PacketArbiter and PacketQueue: whole packets, fair, without a lost cycle."""

import random

import pytest
from amaranth.hdl import Signal
from amaranth.lib import data

from fanfold.streams import PacketArbiter, PacketQueue
from fanfold_sim.bench import STALLS, Stall, cycle, receive, receive_packet, refuses, run, send

SHAPE = data.StructLayout({"origin": 8, "packet": 8, "beat": 8, "last": 1})


def packet(origin, number, beats):
    return [{"origin": origin, "packet": number, "beat": beat, "last": beat == beats - 1} for beat in range(beats)]


def plain(items):
    return [{"origin": i.origin, "packet": i.packet, "beat": i.beat, "last": bool(i.last)} for i in items]


def flat(packets):
    return [beat for each in packets for beat in each]


def sender(port, packets, stall=Stall.NONE, seed=0):
    async def source(ctx):
        await send(ctx, port, flat(packets), stall, seed)

    return source


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_arbiter_keeps_packets_whole_and_in_order(count, stall):
    dut = PacketArbiter(SHAPE, count)
    lengths = [1, 1, 3, 2, 1, 5, 4, 1]
    sent = [[packet(at, number, beats) for number, beats in enumerate(lengths)] for at in range(count)]

    async def sink(ctx):
        arrived = [[] for _ in range(count)]
        for _ in range(count * len(lengths)):
            got = plain(await receive_packet(ctx, dut.o, stall, seed=len(arrived[0])))
            assert len({(beat["origin"], beat["packet"]) for beat in got}) == 1, "packets interleave"
            arrived[got[0]["origin"]].append(got)
        assert arrived == sent

    run(dut, *(sender(dut.i[at], sent[at], stall, at) for at in range(count)), sink, cycles=3000)


def test_arbiter_is_fair_and_leaves_no_gap():
    dut = PacketArbiter(SHAPE, 3)
    sent = [[packet(at, number, 1 + at) for number in range(8)] for at in range(3)]
    order = []

    async def sink(ctx):
        for _ in range(24):
            order.append((await receive_packet(ctx, dut.o))[0].origin)

    monitors = run(dut, *(sender(dut.i[at], sent[at]) for at in range(3)), sink, cycles=200)
    beats = sum(map(len, flat(sent)))
    first = monitors["o"].taken[0]
    assert monitors["o"].taken == list(range(first, first + beats))
    assert order in ([(start + at) % 3 for at in range(24)] for start in range(3))


@pytest.mark.parametrize("hint, late", [(0, 1), (1, 0)])
def test_arbiter_changes_its_choice_a_cycle_ahead(hint, late):
    """Whoever sent last is not kept waiting; another one is for a cycle, unless it was said to be coming."""
    dut = PacketArbiter(SHAPE, 3)

    async def sources(ctx):
        for at in (0, 0, 2, 2, 1):
            ctx.set(dut.coming, hint << at)
            await cycle(ctx)
            ctx.set(dut.coming, 0)
            await send(ctx, dut.i[at], packet(at, 0, 2))
            await cycle(ctx)

    async def sink(ctx):
        await receive(ctx, dut.o, 10)

    monitors = run(dut, sources, sink, cycles=100)
    for at, waits in ((0, [0, 0]), (2, [late, 0]), (1, [late])):
        seen = monitors[f"i[{at}]"]
        assert [taken - offered for taken, offered in zip(seen.taken, seen.offered, strict=True)][::2] == waits


@pytest.mark.parametrize("stall", STALLS)
def test_arbiter_loses_nothing_by_wrong_hints(stall):
    dut = PacketArbiter(SHAPE, 3)
    sent = [[packet(at, number, 1 + number % 3) for number in range(8)] for at in range(3)]
    done = []

    async def rumours(ctx):
        choices = random.Random(1)
        while not done:
            ctx.set(dut.coming, choices.getrandbits(3))
            await cycle(ctx)

    async def sink(ctx):
        arrived = [[] for _ in range(3)]
        for _ in range(24):
            got = plain(await receive_packet(ctx, dut.o, stall, seed=len(arrived[0])))
            arrived[got[0]["origin"]].append(got)
        done.append(arrived)

    run(dut, *(sender(dut.i[at], sent[at], stall, at) for at in range(3)), sink, rumours, cycles=3000)
    assert done == [sent]


def test_arbiter_names_the_source():
    dut = PacketArbiter(SHAPE, 2)

    async def sink(ctx):
        ctx.set(dut.o.ready, 1)
        for _ in range(12):
            valid, source, payload = await cycle(ctx, dut.o.valid, dut.source, dut.o.payload)
            assert not valid or source == payload.origin

    run(dut, sender(dut.i[0], [packet(0, 0, 2)] * 2), sender(dut.i[1], [packet(1, 0, 3)] * 2), sink, cycles=100)


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("lossy", [False, True])
@pytest.mark.parametrize("depth", [4, 8])
def test_queue_passes_packets_up_to_its_depth(depth, lossy, stall):
    dut = PacketQueue(SHAPE, depth, lossy=lossy)
    sent = [packet(0, number, beats) for number, beats in enumerate([1, depth, 1, 2, depth - 1, depth, 3])]

    async def source(ctx):
        for each in sent:
            if lossy:  # nothing is dropped when there is room: wait until the one before has left
                while (await cycle(ctx, arrived_flag))[0] < each[0]["packet"]:
                    pass
            await send(ctx, dut.i, each, stall, seed=each[0]["packet"])

    arrived_flag = Signal(8)

    async def sink(ctx):
        for number, each in enumerate(sent):
            assert plain(await receive_packet(ctx, dut.o, stall, seed=number)) == each
            ctx.set(arrived_flag, number + 1)

    run(dut, source, sink, cycles=3000)


@pytest.mark.parametrize("lossy", [False, True])
def test_a_packet_that_can_never_fit_is_dropped_whole(lossy):
    dut = PacketQueue(SHAPE, 4, lossy=lossy)
    sent = [packet(0, 0, 4), packet(0, 1, 5), packet(0, 2, 4), packet(0, 3, 11), packet(0, 4, 1)]

    async def source(ctx):
        for each in sent:
            await send(ctx, dut.i, each)
            for _ in range(12):  # until what was kept has left
                await cycle(ctx)

    async def sink(ctx):
        for each in (sent[0], sent[2], sent[4]):
            assert plain(await receive_packet(ctx, dut.o)) == each

    async def watch(ctx):
        seen = 0
        while seen < 2:
            seen += (await cycle(ctx, dut.dropped))[0]

    run(dut, source, sink, watch, cycles=300)


def test_a_lossy_queue_never_stalls_and_drops_what_finds_no_room():
    dut = PacketQueue(SHAPE, 8, lossy=True)
    sent = [packet(0, number, 4) for number in range(8)]
    late = packet(0, 99, 1)

    async def source(ctx):
        await send(ctx, dut.i, flat(sent))  # the sink is not ready: two fit, and what the output queue takes
        ctx.set(dut.o.ready, 1)
        for _ in range(20):
            await cycle(ctx)
        await send(ctx, dut.i, late)

    async def watch(ctx):
        drops, got = 0, []
        while not got or got[-1]["packet"] != 99:
            dropped, moved, payload = await cycle(ctx, dut.dropped, dut.o.valid & dut.o.ready, dut.o.payload)
            drops += dropped
            got += plain([payload]) if moved else []
        numbers = list(dict.fromkeys(beat["packet"] for beat in got))
        assert got == flat([late if number == 99 else sent[number] for number in numbers])
        assert numbers[:2] == [0, 1]
        assert drops > 0 and len(numbers) + drops == len(sent) + 1

    monitors = run(dut, source, watch, cycles=300)
    assert monitors["i"].taken[:32] == list(range(32))


def test_queue_latency_and_rate():
    dut = PacketQueue(SHAPE, 16)
    sent = [packet(0, number, beats) for number, beats in enumerate([3, 1, 1, 1, 4, 4, 2, 1, 1, 8, 8, 8])]

    async def sink(ctx):
        assert plain(await receive(ctx, dut.o, len(flat(sent)))) == flat(sent)

    monitors = run(dut, sender(dut.i, sent), sink, cycles=200)
    assert monitors["o"].offered[0] - monitors["i"].taken[0] == len(sent[0]) + 3
    assert monitors["i"].taken == list(range(len(flat(sent)))), "one beat a cycle"


@pytest.mark.parametrize("depth", [3, 2, 12])
def test_a_depth_that_cannot_be_is_refused(depth):
    with refuses(f"depth is {depth}"):
        PacketQueue(SHAPE, depth)
