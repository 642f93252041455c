"""An egress between what it takes and what it gives."""

from egress_model import REGULAR_QUEUE, Store, beats_of, frame_beats, frame_of, frames_in

from fanfold.codes import Port
from fanfold.egress import Egress
from fanfold_sim.bench import Stall, cycle, receive, run, send

__all__ = ["Bench"]


class Bench:
    """An egress with its store, sources for what is given, and a sink for all that must come out."""

    def __init__(self, config, port=Port.NET, stall=Stall.NONE):
        self.config, self.stall = config, stall
        self.dut = Egress(config, port)
        self.closed = []
        self.copies_counted = 0
        self.frames = []

    def run(self, copies=(), refusals=(), regular=(), cycles=20_000, settle=20):
        dut, config = self.dut, self.config
        store = Store(config, dut.store)
        beats = [beat for frame, bad in regular for beat in beats_of(config, frame, REGULAR_QUEUE, bad)]
        sent = [copy for copy in (*copies, *refusals) if not copy["silent"]]
        expected = len(beats) + sum(frame_beats(config, len(frame_of(config, copy))) for copy in sent)

        async def copy_source(ctx):
            await send(ctx, dut.copies, copies, self.stall, seed=1)

        async def refusal_source(ctx):
            await send(ctx, dut.refusals, refusals, self.stall, seed=2)

        async def regular_source(ctx):
            await send(ctx, dut.regular, beats, self.stall, seed=3)

        async def sink(ctx):
            self.frames = frames_in(config, await receive(ctx, dut.o, expected, self.stall, seed=4))
            for _ in range(settle):
                assert not (await cycle(ctx, dut.o.valid))[0], "more came out than went in"
            store.done = True

        async def watch(ctx):
            now = 0
            while not store.done:
                valid, context, counted = await cycle(ctx, dut.closed.valid, dut.closed.payload, dut.events.copies)
                if valid:
                    self.closed.append((now, context))
                self.copies_counted += counted
                now += 1

        return run(dut, copy_source, refusal_source, regular_source, sink, watch, store, cycles=cycles)
