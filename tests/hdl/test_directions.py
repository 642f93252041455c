"""Neither direction can lock the other: a port that takes nothing stops what goes to it, and nothing else."""

from dataclasses import replace

import pytest

from fanfold.codes import DataType, Operator
from fanfold.config import PRESETS
from fanfold.engine import Engine
from fanfold_sim.bench import cycle, receive_packet, run, send
from fanfold_sim.figures.throughput import frame_beats
from fanfold_sim.frames import Address, build
from fanfold_sim.leader import Leader

CONFIG = PRESETS["tiny"]
WIDE = replace(CONFIG, beat_bytes=64)
NIC = Address(mac=0x0200000000FE, ip=0x0A0000FE, port=CONFIG.udp_port)
#: tagged packets that the other direction sends: more than wait anywhere between its port and admission
FLOOD = 40


@pytest.mark.parametrize("stuck, free", [("net", "host"), ("host", "net")])
def test_a_stuck_port_stops_its_own_direction_alone(stuck, free):
    """Frames to the ``stuck`` port fill all on their way, so that a tagged packet behind them meets a port that is
    about to close; the other direction goes on with packets to the same admission, then a regular frame."""
    leader = Leader(Address(0x020000000001, 0x0A000001, 5000), NIC, 0, 7, 0)
    dut = Engine(CONFIG)
    opened = []
    last_frame = bytes(range(100, 180))
    to_stuck, to_free = (getattr(dut, f"{name}_i") for name in (free, stuck))

    async def answers(ctx):
        await receive_packet(ctx, dut.host_o)
        opened.append(True)

    async def towards_stuck(ctx):
        await send(ctx, dut.host_i, frame_beats(CONFIG, leader.register(ranks=1, leaders=1, window=CONFIG.window)))
        while not opened:
            await cycle(ctx)
        packet = leader.allreduce(bytes(CONFIG.segment_bytes), Operator.SUM, DataType.INT32)
        await send(ctx, to_stuck, frame_beats(CONFIG, bytes(20 * CONFIG.beat_bytes)))
        await send(ctx, to_stuck, frame_beats(CONFIG, packet))

    async def towards_free(ctx):
        while not opened:
            await cycle(ctx)
        barrier = leader.barrier()
        for _ in range(FLOOD):
            await send(ctx, to_free, frame_beats(CONFIG, barrier))
        await send(ctx, to_free, frame_beats(CONFIG, last_frame))

    async def arrivals(ctx):
        while not opened:
            await cycle(ctx)
        arrived = b""
        while arrived != last_frame:
            beats = await receive_packet(ctx, getattr(dut, f"{free}_o"))
            arrived = b"".join(beat.data.to_bytes(CONFIG.beat_bytes, "little") for beat in beats)

    run(dut, answers, towards_stuck, towards_free, arrivals, cycles=3000)


def play(config, stops, begun):
    """What leaves at both ports, beat for beat with its cycle, while the port ``stops`` has ``begun`` a tagged frame
    that it never ends, or is idle.

    The other port goes on: segments of a communicator of a leader and a child, whose leader has given its part before,
    and of one of a leader alone; among them more refused packets than wait anywhere, and regular frames.
    """
    dut = Engine(config)
    members = [Leader(Address(0x020000000001 + at, 0x0A000001 + at, 5000), NIC, 0, 7, at) for at in range(2)]
    alone = Leader(Address(0x020000000009, 0x0A000009, 5009), NIC, 1, 8, 0)
    host_goes_on = stops == "net"
    ports = {"host": dut.host_i, "net": dut.net_i}
    regular = [bytes([number]) * (14 + 13 * number) for number in range(8)]
    port_of_others = "host" if host_goes_on else "net"
    heard, passed, started = [], [], []

    async def give(ctx, port, frame, beats=None):
        await send(ctx, ports[port], list(frame_beats(config, frame))[:beats])

    async def until(ctx, count):
        while len(heard) < count:
            await cycle(ctx)

    def part_of(member):
        return member.allreduce(bytes(range(config.segment_bytes)), Operator.SUM, DataType.INT32)

    async def others(ctx):
        for port, member in (("host", members[0]), ("net", members[1]), ("host", alone)):
            people = (
                {"ranks": 1, "leaders": 1}
                if member is alone
                else {"ranks": 2, "leaders": 1, "children": 1, "parent_total": 2}
            )
            await give(ctx, port, member.register(**people, window=config.window))
        await until(ctx, 3)
        for _ in range(config.window):
            await give(ctx, "host", part_of(members[0]))
        started.append(True)
        for _ in range(60):
            await cycle(ctx)
        for number, frame in enumerate(regular):
            if number % 4 == 0:
                await give(ctx, port_of_others, part_of(alone if host_goes_on else members[1]))
            for _ in range(FLOOD // len(regular)):
                await give(ctx, port_of_others, build(members[1].packet(source=99)))
            await give(ctx, port_of_others, frame)

    async def stopping(ctx):
        while not started:
            await cycle(ctx)
        if begun:
            member = members[1] if host_goes_on else alone
            await give(ctx, stops, part_of(member), -1)

    async def watch(ctx):
        results = 2 if host_goes_on else 2 * config.window
        frames = {dut.host_o: b"", dut.net_o: b""}
        for port in frames:
            ctx.set(port.ready, 1)
        while len(heard) < 3 + results or len(passed) < len(regular):
            sampled = await cycle(ctx, *(value for port in frames for value in (port.valid, port.payload)))
            for port, valid, beat in zip(frames, sampled[::2], sampled[1::2], strict=True):
                if not valid:
                    continue
                frames[port] += beat.data.to_bytes(config.beat_bytes, "little")[: beat.count]
                if beat.last:
                    frame, frames[port] = frames[port], b""
                    passed.extend([frame] if frame in regular else [])
                    heard.extend(answer for each in (*members, alone) if (answer := each.hear(frame)) is not None)

    monitors = run(dut, others, stopping, watch, cycles=12_000)
    assert passed == regular and all(answer.ok for answer in heard)
    return {port: (monitors[port].taken, monitors[port].items) for port in ("host_o", "net_o")}


@pytest.mark.parametrize("config", [CONFIG, pytest.param(WIDE, marks=pytest.mark.long)], ids=["8", "64"])
@pytest.mark.parametrize("stops", ["host", "net"])
def test_a_frame_that_never_ends_keeps_nobody_else(stops, config):
    """The other port's collectives and regular frames leave in the very cycles in which they would leave without it."""
    assert play(config, stops, begun=True) == play(config, stops, begun=False)
