"""A communicator whose leader keeps to no window hurts itself alone, also while the host takes nothing."""

from fanfold.codes import Status
from fanfold.config import PRESETS
from fanfold.control.events import EVENTS, refused
from fanfold.engine import Engine
from fanfold_sim.bench import cycle, run, send
from fanfold_sim.figures.throughput import frame_beats
from fanfold_sim.frames import Address
from fanfold_sim.leader import Leader

CONFIG = PRESETS["tiny"]
NIC = Address(mac=0x0200000000FE, ip=0x0A0000FE, port=CONFIG.udp_port)
#: cycles in which the host takes nothing: long enough for all that is sent meanwhile to be judged
STALL = 900


def test_nobody_else_is_hurt():
    hostile, polite = (Leader(Address(0x020000000001 + i, 0x0A000001 + i, 5000), NIC, i, 7, 0) for i in range(2))
    dut = Engine(CONFIG)
    floods = 30
    counted = dict.fromkeys(EVENTS, 0)
    left, begun = [], []

    async def host(ctx):
        for leader in (hostile, polite):
            await send(ctx, dut.host_i, frame_beats(CONFIG, leader.register(ranks=1, leaders=1, window=CONFIG.window)))
        while len(left) < 2:
            await cycle(ctx)
        begun.append(True)
        for _ in range(floods):
            await send(ctx, dut.host_i, frame_beats(CONFIG, hostile.barrier()))
        await send(ctx, dut.host_i, frame_beats(CONFIG, polite.barrier()))

    async def results(ctx):
        frame, idle = b"", 0
        while idle < STALL:
            if begun:
                begun.clear()
                ctx.set(dut.host_o.ready, 0)
                for _ in range(STALL):
                    await cycle(ctx)
            ctx.set(dut.host_o.ready, 1)
            valid, beat = await cycle(ctx, dut.host_o.valid, dut.host_o.payload)
            idle = 0 if valid else idle + 1
            if valid:
                frame += beat.data.to_bytes(CONFIG.beat_bytes, "little")[: beat.count]
                if beat.last:
                    left.append(frame)
                    frame = b""

    async def counting(ctx):
        # ends with the results, for a testbench must end
        while not (len(left) > 2 and counted["host_tagged"] == floods + 3):
            (events,) = await cycle(ctx, dut.events)
            for name in EVENTS:
                counted[name] += events[name]

    run(dut, host, results, counting, cycles=10_000)
    answers = [hostile.hear(frame) or polite.hear(frame) for frame in left]
    assert all(answer is not None and answer.status is Status.OK for answer in answers)
    assert answers[-1].coll_tag == 1 and not polite.unanswered, "the polite leader's barrier is done"
    accepted = counted["contributions"]
    assert len(left) == 2 + accepted, "what was accepted is answered"
    assert accepted + counted[refused(Status.OUT_OF_WINDOW)] == floods + 1, "the rest was refused for its window"
    assert 0 < accepted - 1 < floods
