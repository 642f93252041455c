"""The network port's buffer: frames pass at once, and what finds no room is dropped whole, whatever the sink does."""

import random
from itertools import pairwise

import pytest
from amaranth.hdl import Signal

from fanfold.config import Config
from fanfold.edge import FrameBuffer
from fanfold_sim.bench import STALLS, Stall, cycle, receive_packet, run, send

WIDTHS = (8, 16, 32, 64)
FRAME_BYTES = 256
THE_END = b"the end"


def config(width):
    return Config(beat_bytes=width, contributors=4, contexts=2, window=2, segment_bytes=128, frame_bytes=FRAME_BYTES)


def beats(frame, width, number, bad):
    """The beats of a frame; its number is its queue as well."""
    ends = [(at, at + width >= len(frame)) for at in range(0, len(frame), width)]
    return [
        {
            "data": int.from_bytes(frame[at : at + width], "little"),
            "count": len(frame[at : at + width]),
            "last": last,
            "bad": bad and last,
            "queue": number,
        }
        for at, last in ends
    ]


def frame_of(got, width):
    """Number, bytes and bad mark of a frame that came out."""
    assert all(beat.count == width for beat in got[:-1])
    assert len({beat.queue for beat in got}) == 1
    content = b"".join(beat.data.to_bytes(width, "little")[: beat.count] for beat in got)
    return got[0].queue, content, got[-1].bad


def pour(width, frames, stall=Stall.NONE, hold=0):
    """Sends ``frames``, each (bytes, bad), without a pause to a sink that takes nothing for ``hold`` cycles; after a
    rest, one frame more. What came out, checked; how many frames were dropped and cut; the monitors; the buffer."""
    dut = FrameBuffer(config(width))
    taken, counts = [], {"dropped": 0, "cut": 0}

    async def source(ctx):
        await send(
            ctx, dut.i, [beat for number, each in enumerate(frames) for beat in beats(each[0], width, number, each[1])]
        )
        for _ in range(hold + 5 * dut.depth):
            await cycle(ctx)
        await send(ctx, dut.i, beats(THE_END, width, len(frames), 0))

    async def sink(ctx):
        for _ in range(hold):
            await cycle(ctx)
        while not taken or taken[-1][1] != THE_END:
            taken.append(frame_of(await receive_packet(ctx, dut.o, stall, len(taken)), width))

    async def events(ctx):
        while not taken or taken[-1][1] != THE_END:
            dropped, cut = await cycle(ctx, dut.dropped, dut.cut)
            counts["dropped"] += dropped
            counts["cut"] += cut

    monitors = run(dut, source, sink, events, cycles=20_000)
    taken.pop()
    numbers = [number for number, _, _ in taken]
    assert numbers == sorted(set(numbers)), "out of order, or twice"
    assert counts["dropped"] == len(frames) - len(taken)
    cut = [(number, *rest) for number, *rest in taken if tuple(rest) != frames[number]]
    assert counts["cut"] == len(cut)
    for number, content, bad in cut:
        whole, _ = frames[number]
        assert len(whole) > FRAME_BYTES and whole.startswith(content) and bad, f"frame {number} is spoilt"
    return taken, counts, monitors, dut


def random_frames(seed, width, longest=FRAME_BYTES, count=24):
    choices = random.Random(seed)
    lengths = (1, width, width + 1, FRAME_BYTES, longest)
    return [
        (choices.randbytes(choices.choice((*lengths, choices.randint(1, longest)))), choices.getrandbits(1))
        for _ in range(count)
    ]


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("width", WIDTHS)
def test_frames_come_out_whole_or_not_at_all(width, stall):
    _, counts, *_ = pour(width, random_frames(f"{width} {stall}", width), stall)
    assert not counts["cut"]
    slow = stall in (Stall.SLOW_SINK, Stall.RANDOM, Stall.AFTER_VALID)
    assert bool(counts["dropped"]) <= slow, "there was room"
    assert counts["dropped"] or stall is not Stall.SLOW_SINK, "the sink was not slow enough to show anything"


@pytest.mark.parametrize(
    "width, stall", [(8, Stall.SLOW_SINK), (16, Stall.RANDOM), (32, Stall.SLOW_SINK), (64, Stall.SLOW_SINK)]
)
def test_frames_that_are_too_long_harm_no_other(width, stall):
    _, counts, *_ = pour(width, random_frames(f"long {width}", width, 12 * FRAME_BYTES), stall)
    assert counts["dropped"] and counts["cut"]


@pytest.mark.parametrize("width", WIDTHS)
def test_without_a_stall_nothing_is_lost_and_a_beat_moves_in_every_cycle(width):
    frames = random_frames(width, width, 3 * FRAME_BYTES, 2 * width)
    taken, _, monitors, dut = pour(width, frames)
    assert [tuple(rest) for _, *rest in taken] == frames
    arrived, offered = monitors["i"].taken, monitors["o"].offered
    assert offered == [at + dut.latency for at in arrived] == monitors["o"].taken
    assert arrived[:-1] == list(range(arrived[0], arrived[0] + len(arrived) - 1))


@pytest.mark.parametrize("length", (64, FRAME_BYTES - 1, FRAME_BYTES))
@pytest.mark.parametrize("width", WIDTHS)
def test_it_holds_two_of_the_longest_frames_and_drops_the_next_that_finds_no_room(width, length):
    each = -(-length // width)
    frames = [(random.Random(number).randbytes(length), 0) for number in range(4 * FRAME_BYTES // length + 8)]
    taken, counts, _, dut = pour(width, frames, hold=len(frames) * each + 20)
    assert [number for number, _, _ in taken] == list(range(len(taken))), "one was dropped before there was no room"
    assert len(taken) >= 2
    # a frame begins while there is room for the longest, of which three beats are outside the memory
    assert dut.depth - FRAME_BYTES // width < len(taken) * each <= dut.depth + 3
    assert counts == {"dropped": len(frames) - len(taken), "cut": 0}


def test_a_long_frame_without_room_is_dropped_whole_while_nothing_of_it_has_left():
    frames = [(b"first" * 9, 0), (random.Random(1).randbytes(20 * FRAME_BYTES), 0), (b"next" * 20, 1)]
    taken, counts, *_ = pour(8, frames, hold=700)
    assert [number for number, _, _ in taken] == [0, 2]
    assert counts == {"dropped": 1, "cut": 0}


def test_a_long_frame_that_has_begun_to_leave_ends_with_its_mark():
    frames = [(random.Random(1).randbytes(20 * FRAME_BYTES), 0), (b"next" * 20, 0), (b"bad" * 20, 1)]
    taken, counts, _, dut = pour(8, frames, hold=700)
    assert len(taken[0][1]) >= 8 * (dut.depth - 2)
    assert counts["cut"] == 1


def test_no_gap_within_a_frame_once_the_sink_goes_on():
    """Beats that waited leave in every cycle, and those that arrive meanwhile follow them; but the memory's first beat
    may come a cycle late."""
    for hold in range(1, 8):
        _, _, monitors, _ = pour(16, [(bytes(FRAME_BYTES), 0)] * 3, hold=hold)
        taken = monitors["o"].taken[:-1]
        gaps = [later - earlier - 1 for earlier, later in pairwise(taken) if later != earlier + 1]
        assert gaps == ([1] if hold == 2 else []), f"after {hold} cycles"


def test_a_reset_leaves_nothing_behind():
    dut = FrameBuffer(config(16))
    reset = Signal()
    frame = bytes(range(200))

    async def interrupted(ctx):
        for stop in range(1, 13):
            await send(ctx, dut.i, beats(frame, 16, 1, 0)[:stop])
            ctx.set(reset, 1)
            await cycle(ctx)
            await cycle(ctx)
            ctx.set(reset, 0)
            await send(ctx, dut.i, beats(frame, 16, 2, 0))
            assert frame_of(await receive_packet(ctx, dut.o), 16) == (2, frame, 0)
            for _ in range(20):
                assert not any(await cycle(ctx, dut.o.valid, dut.dropped, dut.cut))

    run(dut, interrupted, cycles=2000, reset=reset)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_longest_frame_that_pauses_in_the_last_room_is_not_taken_for_a_longer_one(width):
    """It begins in the last cycle in which it finds room, and pauses before each of its beats."""
    longest = FRAME_BYTES // width
    entered = []
    for before in range(6):  # beats that wait already, and are too few or too many by some
        dut = FrameBuffer(config(width))
        frames = [bytes([number]) for number in range(dut.depth - longest + before)]
        frames.append(random.Random(width).randbytes(FRAME_BYTES))
        lost, taken = [], []

        async def source(ctx, dut=dut, frames=frames, lost=lost):
            for number, frame in enumerate(frames):
                for index, beat in enumerate(beats(frame, width, number, 0)):
                    if index:
                        lost.append(await cycle(ctx, dut.dropped, dut.cut))
                    ctx.set(dut.i.payload, beat)
                    ctx.set(dut.i.valid, 1)
                    lost.append(await cycle(ctx, dut.dropped, dut.cut))
                    ctx.set(dut.i.valid, 0)

        async def sink(ctx, dut=dut, frames=frames, lost=lost, taken=taken):
            for _ in range(3 * dut.depth):
                await cycle(ctx)
            while len(taken) < len(frames) - sum(dropped for dropped, _ in lost):
                taken.append(frame_of(await receive_packet(ctx, dut.o), width)[1])

        run(dut, source, sink, cycles=20_000)
        assert not any(cut for _, cut in lost), f"with {before} it was cut"
        assert taken == frames[: len(taken)]
        assert not any(dropped for dropped, _ in lost[len(frames) :]), (
            f"with {before} it was dropped after it had begun"
        )
        entered.append(len(taken) == len(frames))
    assert entered[0] and not entered[-1], "there is always room, or never"
