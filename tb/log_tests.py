"""Plays a script to the NIC cycle by cycle, without a bus model between, and writes down every frame with its cycles.

Any simulator, of whatever initial values, must write the same. The script and the log are JSON files, named by
``FANFOLD_SCRIPT`` and ``FANFOLD_LOG``; with ``FANFOLD_UNDEFINED=1`` every output is looked at in every cycle, and
must be defined.
"""

import json
import os
from collections import deque
from pathlib import Path

import cocotb
from cocotb.triggers import Timer

from bench import QUEUES
from fanfold.codes import Port
from fanfold.config import Config

#: cycles after the last arrival in which everything must have left
REST = 1500
RESET_CYCLES = 4
DATA = ("tdata", "tkeep", "tlast", "tuser")
#: what an AXI4-Lite subordinate drives: valids and readys, and what goes with the valids
REGISTERS = {
    "s_axil_arready": (), "s_axil_awready": (), "s_axil_wready": (), "s_axil_rvalid": ("s_axil_rdata", "s_axil_rresp"),
    "s_axil_bvalid": ("s_axil_bresp",),
}  # fmt: skip


class Source:
    """Offers the frames of one input port, a beat a cycle."""

    def __init__(self, dut, port: Port, width: int, arrivals: list[dict]):
        self._signals = {name: getattr(dut, f"s_axis_{port.name.lower()}_{name}") for name in (*DATA, "tvalid")}
        self._queue = getattr(dut, f"s_axis_{port.name.lower()}_{QUEUES[port][0]}")
        self._ready = getattr(dut, f"s_axis_{port.name.lower()}_tready")
        self._width = width
        self._arrivals = deque(arrivals)
        self._at = 0
        self._valid = False
        for signal in (*self._signals.values(), self._queue):
            signal.value = 0

    def drive(self, cycle: int) -> None:
        """Sets the signals of this cycle."""
        self._valid = bool(self._arrivals) and (self._at > 0 or self._arrivals[0]["cycle"] <= cycle)
        self._signals["tvalid"].value = self._valid
        if not self._valid:
            return
        arrival = self._arrivals[0]
        frame = bytes.fromhex(arrival["frame"])
        beat = frame[self._at : self._at + self._width]
        last = self._at + self._width >= len(frame)
        self._signals["tdata"].value = int.from_bytes(beat, "little")
        self._signals["tkeep"].value = (1 << len(beat)) - 1
        self._signals["tlast"].value = last
        self._signals["tuser"].value = last and arrival["bad"]
        self._queue.value = arrival["queue"]

    def look(self) -> None:
        """When the cycle has settled: a beat is in, or not."""
        if self._valid and self._ready.value == 1:
            self._at += self._width
            if self._at >= len(self._arrivals[0]["frame"]) // 2:
                self._arrivals.popleft()
                self._at = 0


class Sink:
    """Takes every beat of one output port."""

    def __init__(self, dut, port: Port, log: list):
        self._signals = {name: getattr(dut, f"m_axis_{port.name.lower()}_{name}") for name in (*DATA, "tvalid")}
        self._queue = getattr(dut, f"m_axis_{port.name.lower()}_{QUEUES[port][1]}")
        self._port = port
        self._log = log
        self._frame = b""
        self._first = 0
        getattr(dut, f"m_axis_{port.name.lower()}_tready").value = 1

    def look(self, cycle: int) -> None:
        """When the cycle has settled: takes the beat that is offered."""
        if self._signals["tvalid"].value != 1:
            return
        if not self._frame:
            self._first = cycle
        data = int(self._signals["tdata"].value).to_bytes(len(self._signals["tdata"]) // 8, "little")
        self._frame += data[: int(self._signals["tkeep"].value).bit_count()]
        if self._signals["tlast"].value == 1:
            bad, queue = int(self._signals["tuser"].value), int(self._queue.value)
            self._log.append([self._port.name, self._frame.hex(), queue, bad, self._first, cycle])
            self._frame = b""


def outputs(dut) -> dict:
    """Every valid and ready of the NIC, each with what it drives beside a valid."""
    groups = {}
    for port in Port:
        name = port.name.lower()
        groups[f"s_axis_{name}_tready"] = ()
        groups[f"m_axis_{name}_tvalid"] = [f"m_axis_{name}_{field}" for field in (*DATA, QUEUES[port][1])]
    groups |= REGISTERS
    return {getattr(dut, valid): [getattr(dut, field) for field in fields] for valid, fields in groups.items()}


def check_defined(groups: dict, cycle: int) -> None:
    """No valid or ready is undefined, and nothing beside a valid that is high."""
    for valid, fields in groups.items():
        assert str(valid.value) in "01", f"{valid._name} is {valid.value} in cycle {cycle}"
        for field in fields if str(valid.value) == "1" else ():
            assert set(str(field.value)) <= set("01"), f"{field._name} is {field.value} in cycle {cycle}"


@cocotb.test()
async def plays_the_script(dut):
    config = Config.from_dict(json.loads(os.environ["FANFOLD_CONFIG"]))
    script = json.loads(Path(os.environ["FANFOLD_SCRIPT"]).read_text())
    log: list = []
    sources = [
        Source(dut, port, config.beat_bytes, [each for each in script if each["port"] == port.name]) for port in Port
    ]
    sinks = [Sink(dut, port, log) for port in Port]
    groups = outputs(dut) if os.environ.get("FANFOLD_UNDEFINED") == "1" else {}
    for name in ("araddr", "arvalid", "awaddr", "awvalid", "wdata", "wstrb", "wvalid", "rready", "bready"):
        getattr(dut, f"s_axil_{name}").value = 0

    async def edge():
        dut.clk.value = 1
        await Timer(2, "ns")
        dut.clk.value = 0

    dut.clk.value = 0
    dut.rst.value = 1
    for _ in range(RESET_CYCLES):
        await Timer(2, "ns")
        await edge()
    dut.rst.value = 0
    for cycle in range(script[-1]["cycle"] + REST):
        for source in sources:
            source.drive(cycle)
        await Timer(2, "ns")
        if groups:
            check_defined(groups, cycle)
        for source in sources:
            source.look()
        for sink in sinks:
            sink.look(cycle)
        await edge()
    Path(os.environ["FANFOLD_LOG"]).write_text(json.dumps(log))
