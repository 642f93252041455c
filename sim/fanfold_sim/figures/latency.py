"""From the last contributor's first beat to the first beat of the result: measured on the RTL, and by room."""

import gc
import warnings
from collections.abc import Iterator

from amaranth.hdl import UnusedElaboratable

from fanfold.codes import DataType, Operator, Port
from fanfold.config import Config
from fanfold.edge.top import Fanfold
from fanfold.engine import Engine

from ..frames import Address
from ..leader import Leader
from ..nic import Nic, make_nic
from .figure import Figure

__all__ = ["CONTRIBUTORS", "last_arrival", "parts"]

CONTRIBUTORS = (2, 4, 8, 128)
#: contributors up to which Amaranth's simulator is fast enough; beyond them the Verilated model measures the same
_SIMULATED = 8
#: rooms on the way, in order of flow
_ROOMS = ("ingress", "admission", "fold", "results", "delivery", "egress")


def last_arrival(beat_bytes: int = 8) -> Iterator[Figure]:
    """Figures ``fold.last_arrival_cycles.<contributors>`` on the RTL, and for each what its rooms say they take,
    ``fold.last_arrival_parts.<contributors>.<room>``; the AXI adapters at both ports are the room ``edge``."""
    for contributors in CONTRIBUTORS:
        config = Config(beat_bytes=beat_bytes, contributors=contributors, contexts=2, window=2, segment_bytes=128)
        nic = make_nic("amaranth" if contributors <= _SIMULATED else "verilator", config)
        measured, rooms = _measure(nic, config), parts(config)
        nic.close()
        assert measured == sum(rooms.values()), f"{measured} cycles measured, but the rooms say {rooms}"
        yield Figure(f"fold.last_arrival_cycles.{contributors}", measured, "cycles")
        for room, cycles in rooms.items():
            yield Figure(f"fold.last_arrival_parts.{contributors}.{room}", cycles, "cycles")


def parts(config: Config) -> dict[str, int]:
    """Cycles by room of a one-beat contribution that completes its segment; they add up to the whole."""
    with warnings.catch_warnings():
        # made for what it says of itself, not to be built
        warnings.simplefilter("ignore", UnusedElaboratable)
        engine = Engine(config)
        top = Fanfold(config, engine)
        rooms = {room: engine.latencies[room] for room in _ROOMS} | {"edge": top.latency}
        del engine, top
        gc.collect()
    return rooms


def _measure(nic: Nic, config: Config) -> int:
    """Registers as many leaders as there can be, then lets the last one's contribution come after all the others."""
    address = Address(mac=0x0200000000FE, ip=0x0A0000FE, port=config.udp_port)
    leaders = [
        Leader(Address(mac=0x020000000000 + index, ip=0x0A000000 + index, port=5000), address, 1, 0xF01D, index)
        for index in range(config.contributors)
    ]
    for leader in leaders:
        frame = leader.register(ranks=1, leaders=len(leaders), window=config.window)
        nic.offer(Port.HOST, frame, cycle=nic.cycle)
    _settle(nic, leaders)
    for leader in leaders:
        if leader is leaders[-1]:
            _settle(nic, [])
        frame = leader.allreduce(bytes(8), Operator.SUM, DataType.UINT32)
        nic.offer(Port.HOST, frame, cycle=nic.cycle)
    departures = _settle(nic, leaders)
    *_, (_, first_in, _) = nic.accepted_cycles()
    return departures[0].first_cycle - first_in


def _settle(nic: Nic, listeners: list[Leader]):
    """Runs until nothing moves any more; what came out, heard by ``listeners``, who must all have their answer."""
    departures = []
    for _ in range(1000):
        departures += nic.run(nic.cycle + 100)
        if nic.quiet:
            break
    for leader in listeners:
        assert any(leader.hear(one.frame) for one in departures), f"leader {leader.index} has no answer"
    return departures
