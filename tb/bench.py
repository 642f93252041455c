"""What the testbenches share: the NIC's ports as cocotbext-axi has them, and the scoreboard.

``Bench`` drives the generated Verilog through its AXI ports. ``Scoreboard`` gives the same frames to the reference
model and compares what leaves, frame by frame, and every counter.
"""

import itertools
import json
import logging
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from fanfold.codes import Port
from fanfold.config import Config
from fanfold.control.description import by_name, counter
from fanfold.control.events import EVENTS
from fanfold_sim.reference.nic import ReferenceNic

__all__ = ["Bench", "Scoreboard", "bench_seed"]

#: the field that carries the host queue, for frames in and for frames out
QUEUES = {Port.HOST: ("tid", "tdest"), Port.NET: ("tdest", "tid")}

#: a frame with its host queue and its bad-frame mark
Item = tuple[bytes, int, bool]


def bench_seed() -> int:
    """The seed of this run; the runner hands it on and names it when a bench fails."""
    return int(os.environ.get("FANFOLD_SEED", "1"))


class Bench:
    """The NIC, clocked and reset. ``hesitate`` is the chance that a source, a sink or the register master idles."""

    def __init__(self, dut, hesitate: float = 0.0):
        self.dut = dut
        self.config = Config.from_dict(json.loads(os.environ["FANFOLD_CONFIG"]))
        self._rng = random.Random(bench_seed())
        self.sources = {port: AxiStreamSource(self._bus("s", port), dut.clk, dut.rst) for port in Port}
        self.sinks = {port: AxiStreamSink(self._bus("m", port), dut.clk, dut.rst) for port in Port}
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self._by_name = by_name(self.config)
        for end in (*self.sources.values(), *self.sinks.values()):
            end.log.setLevel(logging.WARNING)
        for half in (self.registers.read_if, self.registers.write_if):
            half.log.setLevel(logging.WARNING)
        if hesitate:
            for end in (*self.sources.values(), *self.sinks.values()):
                end.set_pause_generator(self._pauses(hesitate))

    def _bus(self, direction: str, port: Port) -> AxiStreamBus:
        return AxiStreamBus.from_prefix(self.dut, f"{direction}_axis_{port.name.lower()}")

    def _pauses(self, chance: float):
        rng = random.Random(self._rng.random())
        return (rng.random() < chance for _ in itertools.count())

    async def start(self) -> None:
        """Starts the clock and resets."""
        Clock(self.dut.clk, 4, unit="ns").start()
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        await RisingEdge(self.dut.clk)

    async def send(self, port: Port, item: Item) -> None:
        """Queues a frame at an input port."""
        frame, queue, bad = item
        await self.sources[port].send(AxiStreamFrame(frame, tuser=int(bad), **{QUEUES[port][0]: queue}))

    async def receive(self, port: Port, count: int) -> list[Item]:
        """The next ``count`` frames of an output port; fails when they do not come."""
        items = []
        for number in range(count):
            received = self.sinks[port].recv(compact=False)
            done = await First(cocotb.start_soon(received), Timer(200, unit="us"))
            assert isinstance(done, AxiStreamFrame), f"{port.name}: frame {number} of {count} did not come"
            queues = set(getattr(done, QUEUES[port][1]))
            assert len(queues) == 1, f"{port.name}: the host queue changes within a frame: {queues}"
            data = bytes(byte for byte, kept in zip(done.tdata, done.tkeep, strict=True) if kept)
            items.append((data, queues.pop(), bool(done.tuser[-1])))
        return items

    async def nothing_more(self) -> None:
        """Fails when anything leaves within a while."""
        await ClockCycles(self.dut.clk, 1000)
        for port, sink in self.sinks.items():
            assert sink.empty() and not sink.active, f"{port.name}: a frame more than expected"

    async def read(self, name: str) -> int:
        """A register by name."""
        return await self.registers.read_dword(self._by_name[name].address)

    async def write(self, name: str, value: int) -> None:
        """Writes a register by name."""
        await self.registers.write_dword(self._by_name[name].address, value)

    async def counters(self) -> dict[str, int]:
        """Every counter that is not 0, by the name of its event."""
        await self.write("snapshot", 1)
        values = {event: await self.read(counter(event)) for event in EVENTS}
        return {event: value for event, value in values.items() if value}


class Scoreboard:
    """Knows from the reference model what must leave the NIC.

    Regular frames must leave in order. Frames that the NIC builds must leave in order for each host queue; between the
    queues, and between regular and built frames, the order is free.
    """

    def __init__(self, bench: Bench):
        self._bench = bench
        self._reference = ReferenceNic(bench.config)
        self._regular: set[bytes] = set()

    async def send(self, port: Port, frame: bytes, *, queue: int = 0, bad: bool = False, regular: bool = False) -> None:
        """Gives a frame to the NIC and to the reference."""
        if regular:
            self._regular.add(frame)
        await self._bench.send(port, (frame, queue, bad))
        self._reference.offer(port, frame, cycle=self._reference.cycle, queue=queue, bad=bad)

    async def compare(self) -> dict[Port, list[Item]]:
        """Waits for all that the reference sends, compares, and returns what came by port."""
        expected: dict[Port, list[Item]] = {port: [] for port in Port}
        for _ in range(1000):
            for gone in self._reference.run(self._reference.cycle + 1000):
                expected[gone.port].append((gone.frame, gone.queue, gone.bad))
            if self._reference.quiet:
                break
        assert self._reference.quiet, "the reference does not get quiet"
        came = {}
        for port in Port:
            came[port] = await self._bench.receive(port, len(expected[port]))
            assert self._lanes(came[port]) == self._lanes(expected[port]), f"{port.name}: frames differ"
        await self._bench.nothing_more()
        return came

    async def compare_counters(self) -> None:
        """Compares every counter."""
        expected = {event: count for event, count in self._reference.counters().items() if count}
        assert await self._bench.counters() == expected

    def _lanes(self, items: list[Item]) -> dict:
        """The items by what keeps its order."""
        lanes: dict = {}
        for frame, queue, bad in items:
            lane = "regular" if frame in self._regular else queue
            lanes.setdefault(lane, []).append((frame, queue, bad))
        return lanes
