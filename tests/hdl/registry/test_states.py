"""A context becomes free when both ports have reported it, or when the host releases it; never before."""

from fanfold.config import PRESETS
from fanfold.registry.states import ContextState, ContextStates
from fanfold_sim.bench import cycle, run


def test_life_of_a_context():
    dut = ContextStates(PRESETS["tiny"])

    async def bench(ctx):
        async def pulse(stream, payload):
            ctx.set(stream.valid, 1)
            ctx.set(stream.payload, payload)
            await cycle(ctx)
            ctx.set(stream.valid, 0)

        ctx.set(dut.context, 1)
        await pulse(dut.change, {"context": 1, "state": ContextState.OPEN})
        assert ctx.get(dut.state) == ContextState.OPEN
        assert ctx.get(dut.open_contexts) == 0b10
        await pulse(dut.host_closed, 1)
        assert ctx.get(dut.state) == ContextState.OPEN
        await pulse(dut.net_closed, 0)  # another context's
        assert ctx.get(dut.state) == ContextState.OPEN
        await pulse(dut.net_closed, 1)
        assert ctx.get(dut.state) == ContextState.FREE
        assert ctx.get(dut.open_contexts) == 0

        await pulse(dut.change, {"context": 1, "state": ContextState.OPEN})
        await pulse(dut.host_closed, 1)
        assert ctx.get(dut.state) == ContextState.OPEN, "the first life's reports are forgotten"
        await pulse(dut.release, 1)
        assert ctx.get(dut.state) == ContextState.FREE

    run(dut, bench, cycles=100)
