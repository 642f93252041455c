"""What both simulators of the hardware have in common: the checks of what is offered, and counters by their names."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Protocol

from amaranth.lib import wiring

from fanfold.codes import Port
from fanfold.config import Config
from fanfold.control.description import by_name, counter
from fanfold.control.events import EVENTS

from ..nic import Timing

__all__ = [
    "RegisterAccess",
    "TopMaker",
    "check_offer",
    "fanfold_top",
    "read_counters",
    "write_local_mac",
    "write_timing",
]

#: makes the hardware of a configuration: a component with the ports of ``fanfold.edge.top.Fanfold``
TopMaker = Callable[[Config], wiring.Component]


class RegisterAccess(Protocol):
    """Reads and writes registers by address over AXI4-Lite; raises ``RuntimeError`` where there is none."""

    def read_register(self, address: int) -> int: ...

    def write_register(self, address: int, value: int) -> None: ...


def fanfold_top(config: Config) -> wiring.Component:
    """The whole of Fanfold."""
    from fanfold.edge.top import Fanfold

    return Fanfold(config)


def check_offer(config: Config, now: int, port: Port, frame: bytes, cycle: int, queue: int) -> None:
    """Raises ``ValueError`` for what no NIC can take at cycle ``now``."""
    if not frame:
        raise ValueError(f"the frame for the {port.name.lower()} port is empty: it must have 1 byte or more")
    if cycle < now:
        raise ValueError(f"cycle is {cycle}: the next cycle to run is {now}")
    if not 0 <= queue < 1 << config.queue_bits:
        raise ValueError(f"queue is {queue}: it must be from 0 to {(1 << config.queue_bits) - 1}")


def write_local_mac(nic: RegisterAccess, config: Config, mac: int) -> None:
    """Tells the NIC its MAC address."""
    registers = by_name(config)
    nic.write_register(registers["local_mac_low"].address, mac & 0xFFFF_FFFF)
    nic.write_register(registers["local_mac_high"].address, mac >> 32)


def write_timing(nic: RegisterAccess, config: Config, timing: Timing) -> None:
    """Tells the NIC what to wait for."""
    registers = by_name(config)
    for name, value in asdict(timing).items():
        nic.write_register(registers[name].address, int(value))


def read_counters(nic: RegisterAccess, config: Config) -> dict[str, int]:
    """Every counter by the name of its event, all as they were at one moment."""
    registers = by_name(config)
    nic.write_register(registers["snapshot"].address, 1)
    return {event: nic.read_register(registers[counter(event)].address) for event in EVENTS}
