"""Neither direction can lock the other: a port that takes nothing stops what goes to it, and nothing else."""

import pytest

from fanfold.codes import DataType, Operator
from fanfold.config import PRESETS
from fanfold.engine import Engine
from fanfold_sim.bench import cycle, receive_packet, run, send
from fanfold_sim.figures.throughput import frame_beats
from fanfold_sim.frames import Address
from fanfold_sim.leader import Leader

CONFIG = PRESETS["tiny"]
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
