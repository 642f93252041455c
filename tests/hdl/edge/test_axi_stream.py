"""AXI4-Stream adapters: every width, the stall matrix, and transfers that no well-behaved source makes."""

import random

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanfold.config import Config
from fanfold.edge import FromAxi, ToAxi, axi_layout
from fanfold_sim.bench import STALLS, Stall, cycle, receive, refuses, run, send

WIDTHS = (8, 16, 32, 64)


def config(width):
    return Config(beat_bytes=width)


def lengths(width):
    """Frame lengths around the beat, and single beats back to back."""
    return [1, width - 1, width, width + 1, 2 * width, 3 * width - 1, 1, 1, width, 60]


def frames(width):
    """Frames as (bytes, bad, queue)."""
    choices = random.Random(width)
    return [
        (choices.randbytes(length), index % 3 == 2, choices.getrandbits(8))
        for index, length in enumerate(lengths(width))
    ]


def cut(frame, width):
    """The beats of a frame: (bytes, last)."""
    return [(frame[at : at + width], at + width >= len(frame)) for at in range(0, len(frame), width)]


def transfer(data, last, bad, queue, *, keep=None, name="tid"):
    return {
        "tdata": int.from_bytes(data, "little"),
        "tkeep": (1 << len(data)) - 1 if keep is None else keep,
        "tlast": int(last),
        "tuser": int(bad),
        name: queue,
    }


def transfers(width, name="tid"):
    return [
        transfer(data, last, bad and last, queue, name=name)
        for frame, bad, queue in frames(width)
        for data, last in cut(frame, width)
    ]


def beats(width):
    return [
        {"data": int.from_bytes(data, "little"), "count": len(data), "last": int(last), "bad": int(bad), "queue": queue}
        for frame, bad, queue in frames(width)
        for data, last in cut(frame, width)
    ]


def plain(beat, names):
    return {name: int(beat[name]) for name in names}


def frame_of(beats, width):
    """What a receiver makes of beats: bytes, bad, queue. Checks what every frame must keep."""
    assert [beat.last for beat in beats] == [0] * (len(beats) - 1) + [1]
    assert all(beat.count == width for beat in beats[:-1]) and 1 <= beats[-1].count <= width
    assert len({beat.queue for beat in beats}) == 1
    content = b"".join(beat.data.to_bytes(width, "little")[: beat.count] for beat in beats)
    return content, beats[-1].bad, beats[0].queue


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("width", WIDTHS)
def test_frames_come_in(width, stall):
    dut = FromAxi(config(width), queue="tid")
    expected = beats(width)

    async def source(ctx):
        await send(ctx, dut.i, transfers(width), stall, seed=1)

    async def sink(ctx):
        taken = [plain(beat, expected[0]) for beat in await receive(ctx, dut.o, len(expected), stall, seed=2)]
        for beat in (*taken, *expected):
            beat["data"] &= (1 << 8 * beat["count"]) - 1
            beat["bad"] &= beat["last"]
        assert taken == expected

    full_rate(dut, run(dut, source, sink, cycles=2000), stall)


@pytest.mark.parametrize("stall", [Stall.NONE, Stall.SLOW_SOURCE])
@pytest.mark.parametrize("width", WIDTHS)
def test_frames_come_in_where_nothing_waits(width, stall):
    dut = FromAxi(config(width), queue="tdest", always_ready=True)
    expected = beats(width)

    async def source(ctx):
        await send(ctx, dut.i, transfers(width, "tdest"), stall, seed=1)

    async def sink(ctx):
        taken = [plain(beat, expected[0]) for beat in await receive(ctx, dut.o, len(expected))]
        for beat in (*taken, *expected):
            beat["data"] &= (1 << 8 * beat["count"]) - 1
            beat["bad"] &= beat["last"]
        assert taken == expected

    full_rate(dut, run(dut, source, sink, cycles=2000), stall)


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("width", WIDTHS)
def test_frames_go_out(width, stall):
    dut = ToAxi(config(width), queue="tdest")
    expected = transfers(width, "tdest")

    async def source(ctx):
        await send(ctx, dut.i, beats(width), stall, seed=3)

    async def sink(ctx):
        taken = await receive(ctx, dut.o, len(expected), stall, seed=4)
        assert [plain(beat, expected[0]) for beat in taken] == expected

    full_rate(dut, run(dut, source, sink, cycles=2000), stall)


def full_rate(dut, monitors, stall):
    """Without stalls: one beat a cycle, and the latency that the adapter promises."""
    if stall is Stall.NONE:
        taken = monitors["i"].taken
        assert taken == list(range(taken[0], taken[0] + len(taken)))
        assert monitors["o"].taken == [at + dut.latency for at in taken]


#: name: the transfers of one frame as (keep, last, queue), and what is to come of it: bytes and bad mark
ODD = {
    "null beats between are dropped": ([(0, 0, 5), (0xFF, 0, 5), (0, 0, 5), (0x0F, 1, 5)], 12, 0),
    "a null beat cannot be the end": ([(0xFF, 0, 5), (0, 1, 5)], 9, 1),
    "nothing but a null beat": ([(0, 1, 5)], 1, 1),
    "a hole in the last beat": ([(0xFF, 0, 5), (0xF7, 1, 5)], 11, 1),
    "a hole before the last beat": ([(0xBF, 0, 5), (0xFF, 1, 5)], 16, 1),
    "bytes missing before the last beat": ([(0x7F, 0, 5), (0xFF, 0, 5), (0x01, 1, 5)], 17, 1),
    "the first byte missing, alone": ([(0xFE, 1, 5)], 1, 1),
    "the first byte missing, before the last beat": ([(0x02, 0, 5), (0xFF, 1, 5)], 16, 1),
    "the queue changes": ([(0xFF, 0, 5), (0xFF, 0, 6), (0x03, 1, 7)], 18, 0),
    "a null beat of another queue": ([(0, 0, 6), (0xFF, 0, 5), (0x03, 1, 5)], 10, 0),
}


@pytest.mark.parametrize("stall", [Stall.NONE, Stall.RANDOM])
@pytest.mark.parametrize("name", ODD)
def test_odd_transfers_spoil_their_own_frame_only(name, stall):
    dut = FromAxi(config(8), queue="tid")
    odd, length, bad = ODD[name]
    content = random.Random(name).randbytes(8 * len(odd))
    good = bytes(range(11))
    after = [transfer(data, last, 0, 9) for data, last in cut(good, 8)]
    items = [
        transfer(content[8 * index : 8 * index + 8], last, 0, queue, keep=keep)
        for index, (keep, last, queue) in enumerate(odd)
    ]

    async def source(ctx):
        await send(ctx, dut.i, [*items, *after], stall, seed=5)

    async def sink(ctx):
        kept = [content[8 * index : 8 * index + 8] for index, (keep, last, _) in enumerate(odd) if keep or last]
        taken = await receive(ctx, dut.o, len(kept) + len(after), stall, seed=6)
        assert frame_of(taken[: len(kept)], 8) == (b"".join(kept)[:length], bad, 5)
        assert frame_of(taken[len(kept) :], 8) == (good, 0, 9)

    run(dut, source, sink, cycles=500)


def test_the_mark_counts_on_the_last_beat_only():
    """``tuser`` before the last beat has no meaning, and ``bad`` before it none either."""
    inward, outward = FromAxi(config(8), queue="tid"), ToAxi(config(8), queue="tdest")
    beats = [{"data": 1, "count": 8, "last": last, "bad": not last, "queue": 1} for last in (0, 0, 1)]

    async def arrive(ctx):
        await send(ctx, inward.i, [transfer(bytes(8), last, not last, 1) for last in (0, 0, 1)])

    async def arrived(ctx):
        assert not (await receive(ctx, inward.o, 3))[-1].bad

    async def leave(ctx):
        await send(ctx, outward.i, beats)

    async def left(ctx):
        assert not any(beat.tuser for beat in await receive(ctx, outward.o, 3))

    run(inward, arrive, arrived, cycles=100)
    run(outward, leave, left, cycles=100)


def test_the_queue_has_two_names():
    with refuses("queue is 'tuser'"):
        axi_layout(config(8), "tuser")


class Foreign(wiring.Component):
    """An adapter whose source keeps no rule of ours in a reset."""

    def __init__(self, width, always_ready):
        self.adapter = FromAxi(config(width), queue="tid", always_ready=always_ready)
        members = self.adapter.signature.members
        beat = axi_layout(config(width), "tid")
        super().__init__({"beat": In(beat), "valid": In(1), "ready": Out(1), "o": members["o"]})

    def elaborate(self, platform):
        m = Module()
        m.submodules.adapter = adapter = self.adapter
        wiring.connect(m, adapter.o, wiring.flipped(self.o))
        m.d.comb += [
            adapter.i.payload.eq(self.beat),
            adapter.i.valid.eq(self.valid),
            self.ready.eq(adapter.i.ready),
        ]
        return m


LONG, WHOLE = bytes(range(64, 256)), bytes(range(60))


def after_resets(width, episodes, always_ready):
    """What comes out of a long frame with a reset in it and three whole frames after it, for each of ``episodes``:
    (beats before the reset, its cycles, whether the source is reset as well or goes on)."""
    dut = Foreign(width, always_ready)
    reset, done = Signal(), []
    taken = []

    async def source(ctx):
        for before, cycles, source_is_reset in episodes:
            taken.append([])
            items = [transfer(data, last, 0, 5) for data, last in cut(LONG, width)]
            following = [transfer(data, last, 0, 6) for data, last in 3 * cut(WHOLE, width)]
            waiting = items + following
            now = 0
            while waiting:
                in_reset = before <= now < before + cycles
                if source_is_reset and now == before:
                    waiting = list(following)
                valid = not (in_reset and source_is_reset)
                ctx.set(reset, in_reset)
                ctx.set(dut.beat, waiting[0])
                ctx.set(dut.valid, valid)
                if (await cycle(ctx, dut.ready))[0] and valid:
                    waiting.pop(0)
                now += 1
            ctx.set(dut.valid, 0)
            for _ in range(4):
                await cycle(ctx)
        done.append(True)

    async def sink(ctx):
        if not always_ready:
            ctx.set(dut.o.ready, 1)
        got = []
        while not done:
            in_reset, valid, beat = await cycle(ctx, reset, dut.o.valid, dut.o.payload)
            got = [] if in_reset else got  # the receiver is reset as well
            if valid and not in_reset:
                got.append(beat)
                if beat.last:
                    taken[-1].append(frame_of(got, width)[0])
                    got = []

    run(dut, source, sink, cycles=20_000, reset=reset)
    return taken


@pytest.mark.parametrize("always_ready", (False, True))
@pytest.mark.parametrize("width", WIDTHS)
def test_the_rest_of_a_frame_that_a_reset_cut_is_no_frame(width, always_ready):
    beats = len(LONG) // width
    episodes = [(before, cycles, False) for cycles in (1, 2, 4) for before in range(1, beats - cycles)]
    for (before, cycles, _), taken in zip(episodes, after_resets(width, episodes, always_ready), strict=True):
        assert taken == 3 * [WHOLE], f"reset of {cycles} cycles after {before}"


@pytest.mark.parametrize("always_ready", (False, True))
@pytest.mark.parametrize("width", WIDTHS)
def test_a_frame_that_begins_in_a_reset_is_lost_whole(width, always_ready):
    """The reset takes the end of the long frame, and the first beats of the next one, or all of it."""
    beats, following = len(LONG) // width, -(-len(WHOLE) // width)
    episodes = [(beats - 1, 1 + more, False) for more in range(1, following + 1)]
    for (_, cycles, _), taken in zip(episodes, after_resets(width, episodes, always_ready), strict=True):
        assert taken == 2 * [WHOLE], f"reset of {cycles} cycles"


@pytest.mark.parametrize("always_ready", (False, True))
@pytest.mark.parametrize("width", WIDTHS)
def test_a_source_that_is_reset_as_well_begins_anew(width, always_ready):
    episodes = [(before, cycles, True) for cycles in (1, 2, 7) for before in range(1, len(LONG) // width)]
    for (before, cycles, _), taken in zip(episodes, after_resets(width, episodes, always_ready), strict=True):
        assert taken == 3 * [WHOLE], f"reset of {cycles} cycles after {before}"
