"""Results are where the segment says, whole ones are announced, bad ones are not."""

import random

import pytest

from fanfold.codes import Direction
from fanfold.config import Config
from fanfold.results.ports import READ_LATENCY
from fanfold.results.store import ResultStore
from fanfold_sim.bench import cycle, receive, run, send


@pytest.mark.parametrize("segment_bytes", [128, 192])
def test_what_was_written_is_read(segment_bytes):
    config = Config(beat_bytes=8, contributors=4, contexts=2, window=2, segment_bytes=segment_bytes)
    dut = ResultStore(config, in_flight=16)
    choices = random.Random(3)
    places = [(direction, context, slot) for direction in Direction for context in range(2) for slot in range(4)]
    places = [place for place in places if place[0] is Direction.DOWN or place[2] < config.window]
    choices.shuffle(places)
    segments, beats, contents = [], [], {}
    for number, (direction, context, slot) in enumerate(places):
        length = choices.randint(1, config.segment_beats)
        bad, writes, completes = number % 5 == 4, number % 5 != 3, number % 5 != 2
        header = {"coll_tag": number}
        segments.append(
            {"direction": direction, "context": context, "slot": slot, "header": header}
            | {"writes": writes, "completes": completes}
        )
        for beat in range(length):
            data = choices.getrandbits(64)
            last = beat == length - 1
            beats.append({"data": data, "first": beat == 0, "last": last, "bad": bad and last, "beat": beat})
            if writes and not bad:
                contents[direction, context, slot, beat] = data
    whole = [number for number in range(len(places)) if number % 5 not in (2, 4)]

    async def expect(ctx):
        await send(ctx, dut.segments, segments)

    async def write(ctx):
        await cycle(ctx)
        await cycle(ctx)
        await send(ctx, dut.i, beats)

    async def complete(ctx):
        assert [item.header.coll_tag for item in await receive(ctx, dut.completed, len(whole))] == whole
        for port in (dut.host_read, dut.net_read):
            ctx.set(port.enable, 1)
            for (direction, context, slot, beat), data in contents.items():
                if port is dut.host_read and direction is Direction.UP:
                    continue
                place = {"direction": direction, "context": context, "slot": slot, "beat": beat}
                ctx.set(port.address, place)
                for _ in range(READ_LATENCY):
                    ctx.set(port.enable, 0)  # a cycle that is not enabled changes nothing
                    await cycle(ctx)
                    ctx.set(port.enable, 1)
                    await cycle(ctx)
                assert ctx.get(port.data) == data, place

    run(dut, expect, write, complete, cycles=5000)
