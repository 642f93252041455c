"""Cycles a second of the makers on one run at 64-byte beats, the packets checked against the reference model."""

import time
from collections.abc import Iterator

from fanfold.codes import DataType, Operator, Port
from fanfold.config import PRESETS, Config

from ..frames import Address
from ..leader import Leader
from ..nic import make_nic
from ..traffic import Arrival, play
from .figure import Figure

__all__ = ["speed"]

#: windows of segments that each maker runs; the slow one gets less of the same traffic
_WINDOWS = {"amaranth": 1, "verilator": 1000}
#: what the Verilated model is to reach against Amaranth's simulator
_RATIO = 1000.0


def speed(config: Config | None = None) -> Iterator[Figure]:
    """Figures ``sim.cycles_per_second.<maker>`` and their ratio. Only cycles in which frames move are counted."""
    config = config or PRESETS["numa"]
    rates = {}
    for maker, windows in _WINDOWS.items():
        rates[maker] = _rate(maker, config, windows)
        yield Figure(f"sim.cycles_per_second.{maker}", round(rates[maker], 1), "cycles/s")
    yield Figure("sim.verilator_over_amaranth", round(rates["verilator"] / rates["amaranth"], 1), "times", _RATIO)


def _rate(maker: str, config: Config, windows: int) -> float:
    arrivals = busy_script(config, windows)
    expected = play(make_nic("reference", config), arrivals)
    nic = make_nic(maker, config)
    started = time.perf_counter()
    found = play(nic, arrivals)
    assert found.copies == expected.copies and found.regular == expected.regular, f"{maker} differs from the reference"
    spent = time.perf_counter() - started
    nic.close()
    return found.departures[-1].last_cycle / spent


def busy_script(config: Config, windows: int) -> list[Arrival]:
    """Four leaders all-reduce ``windows`` windows of full segments; the host port rests only to let results out."""
    nic = Address(mac=0x0200000000FE, ip=0x0A0000FE, port=config.udp_port)
    leaders = [
        Leader(
            Address(mac=0x020000000000 + index, ip=0x0A000000 + index, port=5000, queue=index), nic, 1, 0xF01D, index
        )
        for index in range(4)
    ]
    beats = -(-(64 + config.segment_bytes) // config.beat_bytes)
    cycle = 0
    arrivals = []
    for leader in leaders:
        frame = leader.register(ranks=1, leaders=len(leaders), window=config.window)
        arrivals.append(Arrival(cycle, Port.HOST, frame, leader.address.queue))
    cycle += 400
    for window in range(windows):
        for number in range(config.window):
            for leader in leaders:
                payload = bytes([window % 251, number, leader.index, 1]) * (config.segment_bytes // 4)
                frame = leader.allreduce(payload, Operator.SUM, DataType.UINT32)
                arrivals.append(Arrival(cycle, Port.HOST, frame, leader.address.queue))
        cycle += len(leaders) * config.window * beats + 200 + len(leaders) * beats
    return arrivals
