"""The one interface to a NIC, whoever plays it: the reference model, Amaranth's simulator, or a Verilated model.

Time is counted in the NIC's clock cycles. Frames go in with the cycle from which their first beat is offered, and come
out with the cycles in which their first and last beats left.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Protocol

from fanfold.codes import Port
from fanfold.config import Config

__all__ = ["MAKERS", "Departure", "Nic", "Timing", "make_nic"]


@dataclass(frozen=True)
class Departure:
    """A frame that left a NIC: where, its bytes (without frame check), host queue, bad-frame mark, and when.

    ``first_cycle`` and ``last_cycle`` are those in which its first and last beats were accepted at the port.
    """

    port: Port
    frame: bytes
    queue: int
    bad: bool
    first_cycle: int
    last_cycle: int


@dataclass(frozen=True)
class Timing:
    """What a NIC waits for, in ticks of 2^``Config.tick_bits`` cycles; a new NIC waits for ever and repeats nothing.

    Raises ``ValueError`` naming the member, its value and what is allowed.
    """

    #: how long a segment or a registration may wait for contributors, where its record says 0; 0: for ever
    abort_ticks: int = 0
    #: between two packets to a parent that does not answer; 0: none is repeated
    retry_ticks: int = 0
    #: how many times such a packet is repeated
    retry_limit: int = 0
    #: how long a context with children answers them after its deregistration; 0: not at all
    linger_ticks: int = 0
    #: time counts while segments are open, also where nothing ends by it
    measure: bool = False

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            most = _MOST[field.name]
            if not isinstance(value, int) or not 0 <= value <= most:
                raise ValueError(f"{field.name} is {value!r}: it must be a whole number from 0 to {most}")


#: the largest value of each register behind ``Timing``
_MOST = {
    "abort_ticks": 0xFFFF_FFFF,
    "retry_ticks": 0xFFFF,
    "retry_limit": 0xFFFF,
    "linger_ticks": 0xFFFF,
    "measure": 1,
}


class Nic(Protocol):
    """One NIC. Both output ports always accept; an input port takes frames in the order of the ``offer`` calls."""

    config: Config

    @property
    def cycle(self) -> int:
        """The next cycle to be run; 0 after reset."""

    def offer(self, port: Port, frame: bytes, *, cycle: int, queue: int = 0, bad: bool = False) -> None:
        """Gives ``frame`` (1 byte or more) to ``port``: its first beat is offered in ``cycle``, or as soon after as the
        frames before it at this port are in; one beat a cycle while the NIC is ready.

        Raises ``ValueError`` when ``cycle`` has already run, the frame is empty, or ``queue`` does not fit.
        """

    def set_local_mac(self, mac: int) -> None:
        """Tells the NIC its MAC address: registrations to another one are regular traffic. 0, as after a reset: any."""

    def set_timing(self, timing: Timing) -> None:
        """Tells the NIC what to wait for; meant for a NIC without open contexts: what is timed already may end by the
        old figures."""

    def run(self, until: int) -> list[Departure]:
        """Runs the cycles before ``until``; what left completely in them, in order of ``last_cycle`` (host first)."""

    @property
    def quiet(self) -> bool:
        """Nothing is waiting to go in, nothing is timed, and nothing can come out any more without a new frame."""

    def accepted_cycles(self) -> list[tuple[Port, int, int]]:
        """For each offered frame completely in since the last call: port, cycles of its first and last beat."""

    def counters(self) -> dict[str, int]:
        """Every counter by name (``fanfold.control.events``)."""

    def close(self) -> None:
        """Frees what the NIC holds; waveforms are complete afterwards."""


def _maker(module: str, name: str) -> Callable[..., Nic]:
    def make(config: Config, *, waves: Path | None = None) -> Nic:
        return getattr(import_module(module), name)(config, waves=waves)

    return make


#: who can play a NIC; each takes the configuration and, where to write waveforms, ``waves``
MAKERS = {
    "reference": _maker("fanfold_sim.reference.nic", "ReferenceNic"),
    "amaranth": _maker("fanfold_sim.simulators.amaranth", "AmaranthNic"),
    "verilator": _maker("fanfold_sim.simulators.verilator", "VerilatorNic"),
}


def make_nic(maker: str, config: Config, *, waves: Path | None = None) -> Nic:
    """A NIC played by ``maker``; raises ``ValueError`` for an unknown one, and what the maker raises (no compiler)."""
    if maker not in MAKERS:
        raise ValueError(f"simulator is {maker!r}: it must be one of {', '.join(MAKERS)}")
    return MAKERS[maker](config, waves=waves)
