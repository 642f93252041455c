"""A NIC played by its RTL in Amaranth's own simulator: slow, but without a compiler, and with readable waveforms."""

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amaranth.hdl import Const
from amaranth.sim import Simulator

from fanfold.codes import Port
from fanfold.config import Config

from ..nic import Departure, Timing
from ..waveforms import write_save
from .base import TopMaker, check_offer, fanfold_top, read_counters, write_local_mac, write_timing

__all__ = ["AmaranthNic", "settle_cycles"]

#: waveforms show one cycle a nanosecond
_PERIOD = 1e-9
#: cycles that a register access may take
_REGISTER_LIMIT = 1000
#: the fields of a stream that carry the host queue, by side, for frames in and for frames out
_QUEUES = {Port.HOST: ("tid", "tdest"), Port.NET: ("tdest", "tid")}


def settle_cycles(config: Config) -> int:
    """After so many cycles without movement at the ports nothing can move any more without a new frame.

    Between movements lies at most the way through the whole fold, a walk over all contributors of a segment, or a few
    handovers between rooms; each is taken several times over. The Verilated model compares its whole state instead, and
    the tests hold this bound against it.
    """
    return 4 * (config.levels * (config.adder_stages + 4) + 4 * config.contributors + config.segment_beats) + 256


@dataclass
class _Frame:
    data: bytes
    queue: int
    bad: bool
    cycle: int


@dataclass
class _Input:
    """Frames on their way into one port, and how far the first one is."""

    port: Port
    frames: deque[_Frame] = field(default_factory=deque)
    at: int = 0
    first_cycle: int = 0


@dataclass
class _Output:
    """The frame that is leaving one port."""

    port: Port
    data: bytearray = field(default_factory=bytearray)
    first_cycle: int = 0


class AmaranthNic:
    """A ``Nic`` (see ``fanfold_sim.nic``) of RTL in Amaranth's simulator.

    ``waves`` is where to write a VCD, one cycle a nanosecond, with enumerations as text; ``close`` writes a GTKWave
    save file beside it. Without waveforms, idle time is skipped. A failed assertion in the hardware raises
    ``AssertionError``.
    """

    def __init__(self, config: Config, waves: Path | None = None, *, top: TopMaker = fanfold_top):
        self.config = config
        self.cycle = 0
        self._top = top(config)
        self._inputs = {port: _Input(port) for port in Port}
        self._outputs = {port: _Output(port) for port in Port}
        self._departures: list[Departure] = []
        self._accepted: list[tuple[Port, int, int]] = []
        self._idle = 0
        self._counting = True  # off while registers are read in idle time
        self._before: Callable[[Any], None] | None = None  # sets the registers' signals for a cycle
        self._after: Callable[[dict[str, int]], None] | None = None  # sees them, settled
        self._skips = waves is None
        self._simulator = Simulator(self._top)
        self._simulator.add_clock(_PERIOD)
        self._simulator.add_testbench(self._testbench, background=True)
        self._steps = 0
        self._open = ExitStack()
        if waves is not None:
            if waves.suffix == ".fst":
                raise ValueError(f"waves is {waves.name}: Amaranth's simulator writes VCD, its name ends in .vcd")
            waves.parent.mkdir(parents=True, exist_ok=True)
            self._open.callback(write_save, waves)  # last, when the waveform is complete
            self._open.enter_context(self._simulator.write_vcd(str(waves)))

    def offer(self, port: Port, frame: bytes, *, cycle: int, queue: int = 0, bad: bool = False) -> None:
        """See ``Nic.offer``."""
        check_offer(self.config, self.cycle, port, frame, cycle, queue)
        self._inputs[port].frames.append(_Frame(bytes(frame), queue, bad, cycle))

    def run(self, until: int) -> list[Departure]:
        """See ``Nic.run``."""
        while self.cycle < until:
            if self._skips and self._still:
                waiting = [each.frames[0].cycle for each in self._inputs.values() if each.frames]
                self.cycle = max(self.cycle, min([until, *waiting]))
                self._idle = 0 if waiting and min(waiting) <= self.cycle else self._idle
            else:
                self._step()
        departures, self._departures = self._departures, []
        return departures

    @property
    def _still(self) -> bool:
        return self._idle >= settle_cycles(self.config)

    @property
    def quiet(self) -> bool:
        """See ``Nic.quiet``; seen ``settle_cycles`` after the last movement."""
        return self._still and not any(each.frames for each in self._inputs.values())

    def accepted_cycles(self) -> list[tuple[Port, int, int]]:
        """See ``Nic.accepted_cycles``."""
        accepted, self._accepted = self._accepted, []
        return accepted

    def read_register(self, address: int) -> int:
        """Reads over AXI4-Lite. Takes no time while the NIC is quiet, else some cycles pass."""
        return self._access({"ar": {"araddr": address}}, "r", "no register at this address")

    def write_register(self, address: int, value: int) -> None:
        """Writes over AXI4-Lite; time as for ``read_register``."""
        requests = {"aw": {"awaddr": address}, "w": {"wdata": value, "wstrb": 15}}
        self._access(requests, "b", "no writable register at this address")

    def set_local_mac(self, mac: int) -> None:
        """See ``Nic.set_local_mac``; time as for ``read_register``."""
        write_local_mac(self, self.config, mac)

    def set_timing(self, timing: Timing) -> None:
        """See ``Nic.set_timing``; time as for ``read_register``."""
        write_timing(self, self.config, timing)

    def counters(self) -> dict[str, int]:
        """See ``Nic.counters``; time as for ``read_register``."""
        return read_counters(self, self.config)

    def close(self) -> None:
        """See ``Nic.close``; may be called again."""
        self._open.close()

    def _port(self, direction: str, port: Port, name: str):
        return getattr(self._top, f"{direction}_axis_{port.name.lower()}_{name}")

    def _axil(self, name: str):
        return getattr(self._top, f"s_axil_{name}")

    def _step(self) -> None:
        """Runs one cycle."""
        target = self._steps + 1
        while self._steps < target:
            self._simulator.advance()

    def _access(self, requests: dict[str, dict[str, int]], answer: str, refused: str) -> int:
        """Offers every request until it is taken, and waits for the answer; the data of a read."""
        waiting = dict(requests)
        result: list[tuple[int, int]] = []

        def before(ctx):
            for channel, values in requests.items():
                ctx.set(self._axil(f"{channel}valid"), channel in waiting)
                for name, value in values.items():
                    ctx.set(self._axil(name), value)
            ctx.set(self._axil(f"{answer}ready"), not result)

        def after(seen):
            for channel in list(waiting):
                if seen[f"{channel}ready"]:
                    del waiting[channel]
            if seen[f"{answer}valid"]:
                result.append((seen[f"{answer}resp"], seen["rdata"]))

        self._counting = not self.quiet
        self._before, self._after = before, after
        try:
            for _ in range(_REGISTER_LIMIT):
                self._step()
                if result:
                    break
            else:
                raise RuntimeError("no answer from the registers")
            self._after = None
            self._step()  # one cycle to take the signals back
        finally:
            self._counting, self._before, self._after = True, None, None
        response, value = result[0]
        if response:
            raise RuntimeError(refused)
        return value

    async def _testbench(self, ctx) -> None:
        """Cycle by cycle, for ever: sets the inputs, and looks at the settled ports at the clock's edge."""
        stream = ("tvalid", "tready", "tlast")
        out = (*stream, "tuser", "tdata", "tkeep")
        seen_in = {port: [self._port("s", port, name) for name in stream] for port in Port}
        seen_out = {port: [self._port("m", port, name) for name in (*out, _QUEUES[port][1])] for port in Port}
        names = ("arready", "awready", "wready", "rvalid", "rresp", "rdata", "bvalid", "bresp")
        registers = [self._axil(name) for name in names]
        everything = [signal for group in (*seen_in.values(), *seen_out.values(), registers) for signal in group]
        waits = getattr(self._top, "timed", Const(0))  # only the whole of Fanfold has timers
        trigger = ctx.tick().sample(waits, *everything)
        for port in Port:
            ctx.set(self._port("m", port, "tready"), 1)
        while True:
            await ctx.delay(0)  # the step before is over: what is offered now still counts for this cycle
            offered = [self._drive(ctx, each) for each in self._inputs.values()]
            if self._before:
                self._before(ctx)
            _, _, timed, *values = await trigger
            at = iter(values)
            moved = [self._enter(each, *(next(at) for _ in stream)) for each in self._inputs.values()]
            moved += [self._leave(each, *(next(at) for _ in range(7))) for each in self._outputs.values()]
            if self._after:
                self._after(dict(zip(names, at, strict=True)))
            self._steps += 1
            if self._counting:
                self.cycle += 1
                self._idle = 0 if any(moved) or any(offered) or timed else self._idle + 1

    def _drive(self, ctx, source: _Input) -> bool:
        """Offers the next beat of a port, if it is time for it."""
        valid = bool(source.frames) and self._counting and (source.at > 0 or source.frames[0].cycle <= self.cycle)
        ctx.set(self._port("s", source.port, "tvalid"), valid)
        if valid:
            frame, width = source.frames[0], self.config.beat_bytes
            beat = frame.data[source.at : source.at + width]
            last = source.at + width >= len(frame.data)
            ctx.set(self._port("s", source.port, "tdata"), int.from_bytes(beat, "little"))
            ctx.set(self._port("s", source.port, "tkeep"), (1 << len(beat)) - 1)
            ctx.set(self._port("s", source.port, "tlast"), last)
            ctx.set(self._port("s", source.port, "tuser"), last and frame.bad)
            ctx.set(self._port("s", source.port, _QUEUES[source.port][0]), frame.queue)
        return valid

    def _enter(self, source: _Input, valid: int, ready: int, last: int) -> bool:
        """Notes a beat that went in."""
        if not (valid and ready):
            return False
        if source.at == 0:
            source.first_cycle = self.cycle
        source.at += self.config.beat_bytes
        if last:
            self._accepted.append((source.port, source.first_cycle, self.cycle))
            source.frames.popleft()
            source.at = 0
        return True

    def _leave(self, sink: _Output, valid, ready, last, bad, beat, keep, queue) -> bool:
        """Notes a beat that came out."""
        if not (valid and ready):
            return False
        if not sink.data:
            sink.first_cycle = self.cycle
        sink.data += beat.to_bytes(self.config.beat_bytes, "little")[: keep.bit_count()]
        if last:
            frame = bytes(sink.data)
            self._departures.append(Departure(sink.port, frame, queue, bool(bad), sink.first_cycle, self.cycle))
            sink.data.clear()
        return True
