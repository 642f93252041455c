"""The registers on their bus: every register, every refusal, counters, snapshots, releases."""

import random
from dataclasses import replace

import pytest
from amaranth.hdl import Value

from fanfold.config import PRESETS, Config
from fanfold.control import EVENTS, Registers, by_name, counter, describe
from fanfold_sim.bench import STALLS, cycle, receive, run, send

TINY = PRESETS["tiny"]


async def access(ctx, dut, address, *, write=False, value=0, strobe=0xF):
    """One access; what was read, or None when it was refused."""
    request = {"address": address, "write": write, "data": value, "strobe": strobe}
    await send(ctx, dut.bus.request, [request])
    (answer,) = await receive(ctx, dut.bus.response, 1)
    return None if answer.error else answer.data


async def read(ctx, dut, name, config=TINY):
    return await access(ctx, dut, by_name(config)[name].address)


async def write(ctx, dut, name, value, strobe=0xF, config=TINY):
    """Writes; whether it was accepted."""
    address = by_name(config)[name].address
    return await access(ctx, dut, address, write=True, value=value, strobe=strobe) is not None


async def pulse(ctx, dut, *events):
    """One cycle with these events."""
    for event in events:
        ctx.set(dut.events[event], 1)
    await cycle(ctx)
    for event in events:
        ctx.set(dut.events[event], 0)


@pytest.mark.parametrize("stall", STALLS)
def test_every_address_answers_after_the_map(stall):
    dut = Registers(TINY)
    registers = {register.address >> 2: register for register in describe(TINY)}
    requests = [
        {"address": word << 2 | word & 3, "write": write, "data": 0, "strobe": 0xF}
        for word in [*range(96), 1023]
        for write in (0, 1)
    ]

    async def source(ctx):
        await send(ctx, dut.bus.request, requests, stall, seed=1)

    async def sink(ctx):
        ctx.set(dut.release.ready, 1)
        answers = await receive(ctx, dut.bus.response, len(requests), stall, seed=2)
        for request, answer in zip(requests, answers, strict=True):
            register = registers.get(request["address"] >> 2)
            refused = register is None or register.access == ("ro" if request["write"] else "wo")
            assert answer.error == refused, request
            constant = not (refused or request["write"])
            assert answer.data == (register.reset if constant else 0), request

    monitors = run(dut, source, sink, cycles=8000)
    taken, offered = monitors["bus.request"].taken, monitors["bus.response"].offered
    first, *others = [after - before for before, after in zip(taken, offered, strict=True)]
    assert first >= dut.latency, "the counters are busy after a reset"
    assert set(others) == {dut.latency}


def test_scratch_takes_the_strobed_bytes():
    dut = Registers(TINY)
    choices = random.Random(3)

    async def host(ctx):
        held = 0
        for strobe in [*range(16), *choices.choices(range(16), k=16)]:
            value = choices.getrandbits(32)
            assert await write(ctx, dut, "scratch", value, strobe)
            chosen = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            held = held & ~chosen | value & chosen
            assert await read(ctx, dut, "scratch") == held

    run(dut, host, cycles=1000)


def test_the_mac_address_comes_from_two_words_byte_by_byte():
    dut = Registers(TINY)

    async def host(ctx):
        assert await cycle(ctx, dut.local_mac) == (0,)
        assert await write(ctx, dut, "local_mac_low", 0x5E10_0001)
        assert await cycle(ctx, dut.local_mac) == (0x5E10_0001,)
        assert await write(ctx, dut, "local_mac_high", 0xABCD_0200)
        assert await cycle(ctx, dut.local_mac) == (0x0200_5E10_0001,)
        assert await read(ctx, dut, "local_mac_high") == 0x0200, "it has two bytes"
        assert await write(ctx, dut, "local_mac_low", 0x1122_3344, strobe=0b0101)
        assert await write(ctx, dut, "local_mac_high", 0x5566_7788, strobe=0b1110)
        assert await read(ctx, dut, "local_mac_low") == 0x5E22_0044
        assert await cycle(ctx, dut.local_mac) == (0x7700_5E22_0044,)

    run(dut, host, cycles=200)


def test_the_timers_get_what_was_written():
    dut = Registers(TINY)
    written = {
        "abort_ticks": 0x1234_5678,
        "retry_ticks": 0xABCD,
        "retry_limit": 3,
        "linger_ticks": 0x8001,
        "measure": 1,
    }

    async def host(ctx):
        assert await cycle(ctx, Value.cast(dut.timing)) == (0,), "nothing is timed after a reset"
        for name, value in written.items():
            assert await write(ctx, dut, name, value)
            assert await read(ctx, dut, name) == value
        (timing,) = await cycle(ctx, dut.timing)
        assert {name: timing[name] for name in written} == written
        for name in written:
            assert await write(ctx, dut, name, 0xFFFF_FFFF)
            width = by_name(TINY)[name].width
            assert await read(ctx, dut, name) == (1 << width) - 1
        assert (await cycle(ctx, ~Value.cast(dut.timing)))[0] == 0

    run(dut, host, cycles=500)


@pytest.mark.parametrize(
    ("chosen", "strobe", "accepted"),
    [
        ((3, 1, 15), 0b1111, True),
        ((3, 1, 15), 0b0010, True),  # the context alone
        ((4, 1, 0), 0b1111, False),
        ((4, 1, 0), 0b1110, True),  # the contributor stays
        ((0, 2, 0), 0b1111, False),
        ((0, 0, 1 << 4), 0b1111, False),  # beyond the highest field
        ((0, 0, 1 << 12), 0b1000, False),
    ],
)
def test_a_choice_of_statistics_is_checked_and_waited_for(chosen, strobe, accepted):
    dut = Registers(TINY)
    contributor, context, status = chosen
    word = contributor | context << 8 | status << 16
    bits = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)

    async def telemetry(ctx):
        """Busy for a while after it was asked."""
        while not (await cycle(ctx, dut.telemetry.take))[0]:
            pass
        ctx.set(dut.telemetry.busy, 1)
        for _ in range(20):
            await cycle(ctx)
        choice = ctx.get(dut.telemetry.choice)
        written = word & bits
        assert (choice.contributor, choice.context, choice.status) == (
            written & 0xFF,
            written >> 8 & 0xFF,
            written >> 16,
        )
        for number, name in enumerate(dut.telemetry.words.shape().members, start=1):
            ctx.set(dut.telemetry.words[name], 0x01010101 * number)
        ctx.set(dut.telemetry.busy, 0)

    async def host(ctx):
        assert await write(ctx, dut, "statistics_select", word, strobe) is accepted
        assert await read(ctx, dut, "statistics_select") == (word & bits if accepted else 0)
        for number, name in enumerate(dut.telemetry.words.shape().members, start=1):
            assert await read(ctx, dut, name) == (0x01010101 * number if accepted else 0)

    run(dut, *([telemetry] if accepted else []), host, cycles=500)


def test_without_telemetry_there_are_no_words_of_contributors():
    config = replace(TINY, telemetry=False)
    names = {name for name in by_name(TINY) if name.startswith("contributor_")}
    assert len(names) == 5 and by_name(TINY).keys() - by_name(config).keys() == names
    dut = Registers(config)

    async def host(ctx):
        assert await access(ctx, dut, by_name(TINY)["contributor_last"].address) is None
        assert await read(ctx, dut, "context_packets", config) == 0
        assert await read(ctx, dut, "telemetry", config) == 0

    run(dut, host, cycles=100)


def test_events_show_in_their_fields():
    dut = Registers(TINY)

    async def host(ctx):
        event = {"kind": 2, "cause": 13, "context": 1, "contributor": 3, "slot": 3, "port": 1, "down": 1, "ticks": 99}
        ctx.set(dut.telemetry.events, {"found": 1, "level": 64, "lost": 0x89ABCDEF, "oldest": event})
        ctx.set(dut.telemetry.missed, 5)
        names = [name for name in by_name(TINY) if name.startswith("event_") and name != "event_pop"]
        words = {name: await read(ctx, dut, name) for name in names}
        shown = {
            each.name: words[name] >> each.low & ((1 << each.width) - 1)
            for name in ("event_cause", "event_place")
            for each in by_name(TINY)[name].fields
        }
        ticks = event.pop("ticks")
        assert shown == {**event, "found": 1, "slot": event["slot"] % TINY.window}
        assert words["event_time"] == ticks and words["event_waiting"] == 64 and words["event_lost"] == 0x89ABCDEF
        assert await read(ctx, dut, "statistics_missed") == 5

    run(dut, host, cycles=200)


def test_an_event_is_popped_once_for_each_write_of_1():
    dut = Registers(TINY)
    popped = []

    async def telemetry(ctx):
        while True:
            popped.append((await cycle(ctx, dut.telemetry.pop))[0])
            if len(popped) > 60:
                return

    async def host(ctx):
        assert await write(ctx, dut, "event_pop", 0)
        assert await write(ctx, dut, "event_pop", 1, strobe=0b1110)
        for _ in range(3):
            assert await write(ctx, dut, "event_pop", 1)

    run(dut, telemetry, host, cycles=200)
    assert sum(popped) == 3


def test_counts_show_the_last_snapshot_and_no_other_moment():
    dut = Registers(TINY)
    names = list(EVENTS)

    async def host(ctx):
        for rounds, event in enumerate(names, start=1):
            for _ in range(rounds):
                await pulse(ctx, dut, event)
        await pulse(ctx, dut, *names)
        for event in names:
            assert await read(ctx, dut, counter(event)) == 0, "no snapshot yet"
        assert await write(ctx, dut, "snapshot", 0)
        assert await write(ctx, dut, "snapshot", 1, strobe=0b1110)
        assert await read(ctx, dut, counter(names[0])) == 0, "neither of these is a snapshot"
        assert await write(ctx, dut, "snapshot", 1)
        assert await read(ctx, dut, "scratch") == 0, "an access waits for the copy"
        await pulse(ctx, dut, *names)
        for rounds, event in enumerate(names, start=1):
            assert await read(ctx, dut, counter(event)) == rounds + 1
        assert await write(ctx, dut, "snapshot", 0xFFFFFFFF)
        assert await read(ctx, dut, counter(names[-1])) == len(names) + 2

    run(dut, host, cycles=3000)


@pytest.mark.parametrize("contexts", [2, 64])
def test_open_contexts_show(contexts):
    config = Config(beat_bytes=8, contexts=contexts)
    dut = Registers(config)
    flags = random.Random(contexts).getrandbits(contexts)

    async def host(ctx):
        ctx.set(dut.open_contexts, flags)
        await cycle(ctx)
        words = [await read(ctx, dut, f"open_contexts_{n}", config) for n in range((contexts + 31) // 32)]
        assert sum(word << 32 * n for n, word in enumerate(words)) == flags

    run(dut, host, cycles=100)


def test_releases_reach_the_engine_once_each():
    dut = Registers(TINY)

    async def host(ctx):
        assert await write(ctx, dut, "release", 1)
        (valid,) = await cycle(ctx, dut.release.valid)
        assert valid
        assert not await write(ctx, dut, "release", 0), "the one before is still under way"
        assert await receive(ctx, dut.release, 1) == [1]
        assert await write(ctx, dut, "release", 0)
        assert await receive(ctx, dut.release, 1) == [0]

    run(dut, host, cycles=200)


@pytest.mark.parametrize(
    ("value", "strobe", "accepted"),
    [
        (2, 0b1111, False),  # no such context
        (0x100, 0b1111, False),
        (0x80000001, 0b1111, False),
        (1, 0b1110, True),  # nothing is written
        (1, 0b0000, True),
    ],
)
def test_no_release_without_a_context(value, strobe, accepted):
    dut = Registers(TINY)

    async def host(ctx):
        assert await write(ctx, dut, "release", value, strobe) is accepted
        for _ in range(5):
            assert await cycle(ctx, dut.release.valid) == (0,)

    run(dut, host, cycles=100)
