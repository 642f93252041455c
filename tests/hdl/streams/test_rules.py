"""The rules as assertions fire for every way of breaking them, and not otherwise."""

import pytest
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In

from fanfold.streams import assume_or_assert
from fanfold_sim.bench import cycle, run

SHAPE = data.StructLayout({"value": 8, "last": 1})


class Checked(wiring.Component):
    watched: In(stream.Signature(SHAPE))

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.watched.ready.eq(self.ready)
        assume_or_assert(m, self.watched, name="watched", last=2)
        return m

    def __init__(self):
        super().__init__()
        self.ready = Signal()


def play(*cycles):
    """Each of ``cycles`` is (valid, ready, value, last)."""
    dut = Checked()
    bus = dut.watched

    async def body(ctx):
        for valid, ready, value, last in [*cycles, (0, 0, 0, 0)]:
            ctx.set(bus.valid, valid)
            ctx.set(dut.ready, ready)
            ctx.set(bus.payload, {"value": value, "last": last})
            await cycle(ctx)

    async def ignoring_the_monitor(ctx):
        await body(ctx)

    run(dut, ignoring_the_monitor, cycles=50)


def test_lawful_streams_pass():
    play((0, 0, 9, 0), (1, 0, 1, 0), (1, 1, 1, 0), (1, 1, 2, 1), (0, 1, 0, 0), (1, 1, 3, 1))


@pytest.mark.parametrize(
    "cycles, message",
    [
        ([(1, 1, 1, 1)], "watched: valid in reset"),
        ([(0, 0, 0, 0), (1, 0, 1, 1), (0, 0, 1, 1)], "valid fell while stalled"),
        ([(0, 0, 0, 0), (1, 0, 1, 1), (1, 1, 2, 1)], "payload changed while stalled"),
        ([(0, 0, 0, 0), (1, 1, 1, 0), (1, 1, 2, 0)], "watched: a packet of more than 2 beats"),
    ],
)
def test_broken_rules_are_named(cycles, message):
    with pytest.raises(AssertionError, match=message):
        play(*cycles)
