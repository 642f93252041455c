"""A tagged packet that has begun to leave comes to its end, wherever stalled regular frames have met it."""

import pytest
from ingress_bench import Bench, Frame, configured, content, packet

from fanfold.ingress import Ingress
from fanfold.ingress.outlet import ROOM
from fanfold_sim.bench import cycle, run, send
from fanfold_sim.planting import planted

WIDTH = 8
#: cycles in which a port that is not closed moves a packet: its beats, and those that are on their way
QUIET = 80


def packets_end(dut):
    tagged = Frame(packet(content(128), trailer=content(40)))
    lengths = range(1, ROOM + 8)  # beats of the regular frame that waits
    met = {"begun": 0, "not begun": 0}

    async def source(ctx):
        for number, length in enumerate(lengths):
            while sum(met.values()) < number:
                await cycle(ctx)
            await send(
                ctx, dut.i, [beat for frame in (Frame(content(WIDTH * length)), tagged) for beat in frame.beats(WIDTH)]
            )

    async def sink(ctx):
        ctx.set(dut.head.ready, 1)
        ctx.set(dut.payload.ready, 1)
        for length in lengths:
            ctx.set(dut.regular.ready, 0)
            ended, quiet = None, 0
            while quiet < QUIET:
                moves, last = await cycle(ctx, dut.payload.valid, dut.payload.payload.last)
                quiet = 0 if moves else quiet + 1
                ended = last if moves else ended
            assert ended in (None, 1), f"behind {length} beats a packet that has begun does not end"
            begun = ended is not None
            passed = False
            while not (passed and ended):
                ctx.set(dut.regular.ready, not passed)
                ports = (dut.regular, dut.payload)
                regular, payload = await cycle(ctx, *(port.valid & port.payload.last for port in ports))
                passed, ended = passed or regular, ended or payload
            met["begun" if begun else "not begun"] += 1

    run(dut, source, sink, cycles=20_000)
    assert min(met.values()) > 3, met


def test_begun_packets_end_while_regular_frames_wait():
    packets_end(Bench(configured(WIDTH)))


def test_a_port_that_closes_in_a_begun_packet_is_found(monkeypatch):
    closing = planted(Ingress, " | (no_more & ~ends)", "", module="fanfold.ingress.outlet")
    monkeypatch.setattr("ingress_bench.Ingress", closing)
    with pytest.raises(AssertionError, match="a packet that has begun does not end"):
        packets_end(Bench(configured(WIDTH)))
