"""The waiting room with the join behind it: whole packets in order, and what happens when there are too many."""

import random
from dataclasses import replace

import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from fanfold.admission.merge import Join
from fanfold.admission.waiting import WaitingRoom
from fanfold.codes import Collective, Port
from fanfold.config import PRESETS
from fanfold.wire import head_layout, payload_layout, tagged_layout
from fanfold_sim.bench import STALLS, Stall, cycle, receive_packet, run, send

#: rows that are a power of two, and rows that are not
CONFIGURATIONS = {
    "8": replace(PRESETS["tiny"], waiting_segments=4),
    "64": replace(PRESETS["tiny"], beat_bytes=64, segment_bytes=192, waiting_segments=32),
}
assert [config.waiting_beats for config in CONFIGURATIONS.values()] == [64, 96]


@pytest.fixture(params=CONFIGURATIONS)
def config(request):
    return CONFIGURATIONS[request.param]


class Bench(wiring.Component):
    """A room and a join, as they stand in admission."""

    def __init__(self, config, *, lossy):
        head, payload = stream.Signature(head_layout(config)), stream.Signature(payload_layout(config))
        ports = {"head": In(head), "payload": In(payload), "o": Out(stream.Signature(tagged_layout(config)))}
        super().__init__({**ports, "pressed": Out(1), "coming": Out(1), "dropped": Out(1)})
        self._config, self._lossy = config, lossy

    def elaborate(self, platform):
        m = Module()
        m.submodules.room = room = WaitingRoom(self._config, lossy=self._lossy)
        m.submodules.join = join = Join(self._config, Port.HOST)
        connect(m, flipped(self.head), room.i_head)
        connect(m, flipped(self.payload), room.i_payload)
        connect(m, room.o_head, join.head)
        connect(m, room.o_payload, join.payload)
        connect(m, join.contributions, flipped(self.o))
        m.d.comb += [getattr(self, name).eq(getattr(room, name)) for name in ("pressed", "coming", "dropped")]
        return m


def packet(number, beats, bad=False):
    """Its head and its beats."""
    head = {"header": {"comm_id": number, "collective": Collective.ALLREDUCE.value}, "local_ip": ~number & 0xFFFFFFFF}
    datas = random.Random(number)
    last = beats - 1
    return head, [{"data": datas.getrandbits(60), "last": at == last, "bad": bad and at == last} for at in range(beats)]


def kept(config, number, beats, bad=False):
    """What leaves of it: all, or a segment's beats, whose last one is the packet's last one."""
    _, sent = packet(number, beats, bad)
    sent = sent[: config.segment_beats - 1] + sent[-1:] if beats > config.segment_beats else sent
    return number, [beat["data"] for beat in sent], bad


def seen(beats):
    """A packet that has left, in the same words."""
    assert [beat.first for beat in beats] == [1] + [0] * (len(beats) - 1)
    heads = {(beat.head.header.comm_id, beat.head.local_ip) for beat in beats}
    [(number, complement)] = heads
    assert complement == ~number & 0xFFFFFFFF
    assert not any(beat.bad for beat in beats[:-1])
    return number, [beat.data for beat in beats], bool(beats[-1].bad)


def lengths(config):
    """One beat, a segment, more than that, and what is between."""
    longest = config.segment_beats
    return [1, 1, 1, 2, longest, longest, 1, longest - 1, longest + 1, 3 * longest, 1, 2, longest] + 20 * [1, longest]


def sources(dut, packets, stall=Stall.NONE, late_heads=Stall.NONE):
    """The two streams in. An ingress's heads come before their payload."""
    made = [packet(*one) for one in packets]

    async def heads(ctx):
        await send(ctx, dut.head, [head for head, _ in made], late_heads, seed=1)

    async def payload(ctx):
        await send(ctx, dut.payload, [beat for _, beats in made for beat in beats], stall, seed=2)

    return heads, payload


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("lossy", [False, True], ids=["lossless", "lossy"])
def test_whole_packets_leave_in_order(config, stall, lossy):
    """A lossless room stalls its source; a lossy one is given nothing that finds no room."""
    packets = [(number, beats, number % 5 == 3) for number, beats in enumerate(lengths(config))]
    dut = Bench(config, lossy=lossy)
    arrived = []

    async def sink(ctx):
        for number in range(len(packets)):
            arrived.append(seen(await receive_packet(ctx, dut.o, stall, seed=number)))

    async def patient_heads(ctx):
        await send(ctx, dut.head, [packet(*one)[0] for one in packets])

    async def patient_payload(ctx):
        for number, one in enumerate(packets):
            while number - len(arrived) >= config.waiting_segments:
                await cycle(ctx)
            await send(ctx, dut.payload, packet(*one)[1], stall, seed=number)

    feeders = (patient_heads, patient_payload) if lossy else sources(dut, packets, stall, late_heads=stall)
    run(dut, *feeders, sink, cycles=20_000)
    assert arrived == [kept(config, *one) for one in packets]


def test_latency_and_rate(config):
    """Two cycles after its last beat a packet begins to leave, without a gap, also behind another one."""
    for beats in (1, config.segment_beats):
        packets = [(number, beats) for number in range(3 * config.waiting_segments)]
        dut = Bench(config, lossy=False)

        async def sink(ctx, dut=dut, packets=packets):
            for _ in packets:
                await receive_packet(ctx, dut.o)

        monitors = run(dut, *sources(dut, packets), sink, cycles=5000)
        came, left = monitors["payload"].taken, monitors["o"].taken
        assert left[0] - came[beats - 1] == WaitingRoom.latency
        assert left == list(range(left[0], left[0] + beats * len(packets)))
        assert monitors["o"].offered == left


@pytest.mark.parametrize("lossy", [False, True], ids=["lossless", "lossy"])
def test_a_packet_that_stops_for_ever_is_not_offered(config, lossy):
    dut = Bench(config, lossy=lossy)

    async def source(ctx):
        whole, part = packet(1, 2), packet(2, config.segment_beats)
        for (head, beats), count in ((whole, 2), (part, config.segment_beats - 1)):
            ctx.set(dut.head.payload, head)
            ctx.set(dut.head.valid, 1)
            await send(ctx, dut.payload, beats[:count])

    async def sink(ctx):
        assert seen(await receive_packet(ctx, dut.o)) == kept(config, 1, 2)
        ctx.set(dut.o.ready, 1)
        for _ in range(200):
            assert not (await cycle(ctx, dut.o.valid))[0]

    run(dut, source, sink, cycles=400)


def test_a_full_lossless_room_stalls_between_packets(config):
    """What has begun to come in does come in; the next one waits."""
    dut = Bench(config, lossy=False)
    packets = [(number, config.segment_beats) for number in range(config.waiting_segments + 2)]
    beats = config.waiting_beats

    async def sink(ctx):
        for _ in range(beats + 50):
            await cycle(ctx)
        for one in packets:
            assert seen(await receive_packet(ctx, dut.o)) == kept(config, *one)

    monitors = run(dut, *sources(dut, packets), sink, cycles=1000)
    came, left = monitors["payload"].taken, monitors["o"].taken
    assert came[:beats] == list(range(beats)), "the room's beats come without a pause"
    assert came[beats] > left[config.segment_beats - 1], "the next one comes when the first one has left"


def test_pressed_is_more_than_half(config):
    dut = Bench(config, lossy=False)
    half = config.waiting_segments // 2
    packets = [(number, 1) for number in range(half + 1)]

    async def watch(ctx):
        async def level(wanted):
            for _ in range(10):
                await cycle(ctx)
            assert (await cycle(ctx, dut.pressed))[0] == wanted

        await send(ctx, dut.head, [])
        for number, one in enumerate(packets):
            head, beats = packet(*one)
            ctx.set(dut.head.payload, head)
            ctx.set(dut.head.valid, 1)
            await send(ctx, dut.payload, beats)
            ctx.set(dut.head.valid, 0)
            await level(number == half)
        await receive_packet(ctx, dut.o)
        await level(False)

    run(dut, watch, cycles=1000)


def test_an_overflow_drops_whole_packets_and_counts_them(config):
    """A sink that takes nothing: as many as there is room for stay; later ones go whole, damaged ones uncounted."""
    room, longest = config.waiting_segments, config.segment_beats
    packets = [(number, 1 + number % longest) for number in range(room)]
    packets += [(100, 1), (101, longest), (102, 3 * longest), (103, 2, True), (104, 1, True), (105, 2)]
    later = [(200 + number, 1 + number % longest) for number in range(3 * room)]
    dut = Bench(config, lossy=True)
    drops = []

    async def sink(ctx):
        while len(drops) < 4:
            await cycle(ctx)
        for one in packets[:room]:
            assert seen(await receive_packet(ctx, dut.o)) == kept(config, *one)
        drops.append("room again")
        for one in later:
            assert seen(await receive_packet(ctx, dut.o)) == kept(config, *one)
        drops.append("done")

    async def count(ctx):
        while "done" not in drops:
            dropped, last, head = await cycle(ctx, dut.dropped, dut.payload.p.last, dut.head.p.header.comm_id)
            if dropped:
                assert last
                drops.append(head)

    heads, payload = sources(dut, packets)

    async def more_heads(ctx):
        await heads(ctx)
        await sources(dut, later)[0](ctx)

    async def more_payload(ctx):
        await payload(ctx)
        while "room again" not in drops:
            await cycle(ctx)
        await sources(dut, later)[1](ctx)

    monitors = run(dut, more_heads, more_payload, sink, count, cycles=3000)
    assert drops == [100, 101, 102, 105, "room again", "done"]
    beats = sum(one[1] for one in packets)
    assert monitors["payload"].taken[:beats] == list(range(beats)), "it never stalls"


def test_a_lossy_room_under_random_load_keeps_or_drops_each_packet(config):
    """Slower out than in: each packet is whole or counted, in order, and none is dropped while there is room."""
    choices = random.Random(4)
    packets = [(number, choices.choice((1, 2, config.segment_beats))) for number in range(6 * config.waiting_segments)]
    dut = Bench(config, lossy=True)
    arrived, dropped, done = [], [], []

    async def payload(ctx):
        for one in packets:
            begun = one[0] - len(dropped) - len(arrived)
            await send(ctx, dut.payload, packet(*one)[1])
            if dropped and dropped[-1] == one[0]:
                assert begun >= config.waiting_segments, "dropped while there was room"
        done.append(True)

    async def heads(ctx):
        await send(ctx, dut.head, [packet(*one)[0] for one in packets])

    async def drops(ctx):
        while not done or len(arrived) + len(dropped) < len(packets):
            lost, number = await cycle(ctx, dut.dropped, dut.head.p.header.comm_id)
            if lost:
                dropped.append(number)

    async def sink(ctx):
        while not done or len(arrived) + len(dropped) < len(packets):
            for _ in range(choices.choice((0, 0, 3 * config.segment_beats))):
                await cycle(ctx)
            if (await cycle(ctx, dut.o.valid))[0]:
                arrived.append(seen(await receive_packet(ctx, dut.o)))

    run(dut, heads, payload, drops, sink, cycles=20_000)
    assert arrived == [kept(config, *one) for one in packets if one[0] not in dropped]
    assert dropped and arrived[-1][0] > dropped[0], "some are dropped, and later ones are not"
