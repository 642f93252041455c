"""Helpers for tests in Amaranth's simulator: drive and collect streams under stalls, watch the stream's contract.

A test is a component and some coroutines::

    async def source(ctx):
        await send(ctx, dut.i, items, stall, seed=1)

    async def sink(ctx):
        assert await receive(ctx, dut.o, len(items), stall, seed=2) == items

    monitors = run(dut, source, sink, cycles=1000)
    assert monitors["o"].taken[0] - monitors["i"].taken[0] == dut.latency

Every stream among the component's ports is watched without being asked for, and a test that does not end fails with a
clear message. With ``FANFOLD_WAVES`` naming a folder, each run writes its waveforms there.
"""

import gc
import os
import random
import re
import traceback
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import count as numbers
from pathlib import Path
from typing import Any

from amaranth import *
from amaranth.hdl import UnusedElaboratable
from amaranth.lib import stream, wiring
from amaranth.sim import Simulator

__all__ = ["STALLS", "Monitor", "Stall", "cycle", "receive", "receive_packet", "refuses", "run", "send"]

#: a coroutine function of a simulation: takes the simulator's context
Testbench = Callable[[Any], Awaitable[None]]


class Stall(Enum):
    """How the two ends of a stream hesitate: the members are the stall matrix."""

    NONE = "none"
    SLOW_SOURCE = "slow source"
    SLOW_SINK = "slow sink"
    RANDOM = "both random"
    AFTER_VALID = "ready only after valid"


#: the stall matrix, for ``pytest.mark.parametrize``
STALLS = tuple(Stall)

#: chance that a source, or a sink, hesitates for a cycle
_SOURCE_IDLES = {Stall.SLOW_SOURCE: 0.75, Stall.RANDOM: 0.5}
_SINK_IDLES = {Stall.SLOW_SINK: 0.75, Stall.RANDOM: 0.5}


async def cycle(ctx, *values) -> tuple:
    """One clock cycle; the ``values`` as they were in it, before the edge."""
    _, _, *sampled = await ctx.tick().sample(*values)
    return tuple(sampled)


async def send(ctx, stream, items: Iterable, stall: Stall = Stall.NONE, seed: int = 0) -> None:
    """Offers ``items`` on ``stream``, one after another, and returns when the last one is taken.

    An item is what the payload may be set to (a number, or a dictionary for a structure). Between offers the payload
    is rubbish, as it may be.
    """
    choices = random.Random(seed)
    bits = Value.cast(stream.payload)
    for item in items:
        while choices.random() < _SOURCE_IDLES.get(stall, 0):
            ctx.set(bits, choices.getrandbits(len(bits)))
            await cycle(ctx)
        ctx.set(stream.payload, item)
        ctx.set(stream.valid, 1)
        while not (await cycle(ctx, stream.ready))[0]:
            pass
        ctx.set(stream.valid, 0)
        ctx.set(bits, choices.getrandbits(len(bits)))


async def receive(ctx, stream, count: int, stall: Stall = Stall.NONE, seed: int = 0) -> list:
    """Takes ``count`` items from ``stream``; their payloads as sampled. Afterwards it is not ready."""
    return [item async for item in _taken(ctx, stream, lambda item, taken: taken == count, stall, seed, count == 0)]


async def receive_packet(ctx, stream, stall: Stall = Stall.NONE, seed: int = 0) -> list:
    """Takes the items of ``stream`` up to the one whose member ``last`` is 1."""
    return [item async for item in _taken(ctx, stream, lambda item, taken: bool(item.last), stall, seed)]


async def _taken(ctx, stream, done, stall, seed, ended=False):
    """Items of ``stream`` as they are taken, until ``done`` says so of an item and the number taken with it."""
    choices = random.Random(seed)
    taken = 0
    offered = False
    while not ended:
        ready = offered if stall is Stall.AFTER_VALID else choices.random() >= _SINK_IDLES.get(stall, 0)
        _set_ready(ctx, stream, ready)
        valid, item = await cycle(ctx, stream.valid, stream.payload)
        offered = valid and not ready
        if valid and ready:
            taken += 1
            ended = done(item, taken)
            if ended:
                _set_ready(ctx, stream, 0)
            yield item


def _set_ready(ctx, stream, ready) -> None:
    """Sets ``ready`` where the stream has one; an ``always_ready`` stream is taken as it comes."""
    if isinstance(stream.ready, Signal):
        ctx.set(stream.ready, ready)


class Monitor:
    """What was seen on one stream: the cycles in which items were first offered and taken, and their bits."""

    def __init__(self, name: str, watched):
        self.name = name
        self.offered: list[int] = []
        self.taken: list[int] = []
        self.items: list[int] = []
        self._signals = (watched.valid, watched.ready, Value.cast(watched.payload))
        self._standing: int | None = None  # bits of an offer that was not taken yet

    def see(self, now: int, reset: bool, was_reset: bool, valid: int, ready: int, bits: int) -> None:
        """Accounts for one cycle; raises ``AssertionError`` where the stream breaks its contract."""
        where = f"stream {self.name}, cycle {now}"
        assert not (was_reset and reset and valid), f"{where}: valid in reset"
        if self._standing is not None and not was_reset:
            assert valid, f"{where}: valid fell while stalled"
            assert bits == self._standing, f"{where}: payload changed while stalled, {self._standing:#x} to {bits:#x}"
        if valid and (self._standing is None or was_reset):
            self.offered.append(now)
        if valid and ready:
            self.taken.append(now)
            self.items.append(bits)
        self._standing = bits if valid and not ready and not reset else None


def _streams(name: str, port) -> Iterator[tuple[str, Any]]:
    """The streams in ``port`` and below, with their names."""
    if isinstance(port, list | tuple):
        for index, each in enumerate(port):
            yield from _streams(f"{name}[{index}]", each)
    elif hasattr(port, "signature"):
        signature = port.signature
        if isinstance(signature, wiring.FlippedSignature):
            signature = signature.flip()
        if isinstance(signature, stream.Signature):
            yield name, port
            return
        for member in signature.members:
            yield from _streams(f"{name}.{member}" if name else member, getattr(port, member))


def run(component, *testbenches: Testbench, cycles: int, reset: Signal | None = None) -> dict[str, Monitor]:
    """Simulates ``component`` until every one of ``testbenches`` has ended; what its streams did, by port name.

    Names are as in the source: ``"o"``, ``"i[1]"``, ``"lookup.request"``. ``reset`` is a signal that a testbench may
    set to reset the component, for two cycles or more. Raises ``AssertionError`` naming who was not done after
    ``cycles`` cycles, and where a stream broke its contract.
    """
    m = Module()
    m.domains.sync = domain = ClockDomain()
    m.submodules.dut = component
    if reset is not None:
        m.d.comb += domain.rst.eq(reset)
    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    monitors = [Monitor(name, each) for name, each in _streams("", component)]
    pending = {index: getattr(each, "__name__", "testbench") for index, each in enumerate(testbenches)}

    def tracked(index: int, testbench: Testbench) -> Testbench:
        async def body(ctx):
            await testbench(ctx)
            del pending[index]

        return body

    async def watch(ctx):
        signals = [signal for monitor in monitors for signal in monitor._signals]
        was_reset = False
        for now in numbers():
            assert now < cycles, f"after {cycles} cycles still waiting for {', '.join(pending.values())}"
            in_reset, *values = await cycle(ctx, domain.rst, *signals)
            for monitor, at in zip(monitors, range(0, len(values), 3), strict=True):
                monitor.see(now, in_reset, was_reset, *values[at : at + 3])
            was_reset = in_reset

    for index, testbench in enumerate(testbenches):
        simulator.add_testbench(tracked(index, testbench))
    simulator.add_testbench(watch, background=True)
    folder = os.environ.get("FANFOLD_WAVES")
    if folder:
        name = os.environ.get("PYTEST_CURRENT_TEST", type(component).__name__).split(" ")[0].rsplit("/", 1)[-1]
        with simulator.write_vcd(str(Path(folder) / f"{name.replace(':', '_')}.vcd")):
            simulator.run()
    else:
        simulator.run()
    return {monitor.name: monitor for monitor in monitors}


@contextmanager
def refuses(match: str):
    """The block must raise a ``ValueError`` whose message has ``match``.

    For constructors: Amaranth complains about a component that is never used, which a refused one never is.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)
        try:
            yield
        except ValueError as error:
            assert re.search(match, str(error)), f"{error} does not match {match!r}"
            traceback.clear_frames(error.__traceback__)
            gc.collect()  # the component goes while nobody listens
        else:
            raise AssertionError(f"nothing was refused: expected a ValueError that matches {match!r}")
