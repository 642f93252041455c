"""A NIC played by its Verilated RTL: Python hands over frames and fetches frames, C++ runs the cycles."""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

from fanfold.codes import Port
from fanfold.config import Config

from .. import toolchain
from ..nic import Departure, Timing
from ..waveforms import write_save
from . import model
from .base import TopMaker, check_offer, fanfold_top, read_counters, write_local_mac, write_timing

__all__ = ["VerilatorNic"]


class _Departure(Structure):
    _fields_ = [
        ("first_cycle", c_uint64),
        ("last_cycle", c_uint64),
        ("length", c_uint32),
        ("queue", c_uint32),
        ("port", c_uint8),
        ("bad", c_uint8),
    ]


class _Acceptance(Structure):
    _fields_ = [("first_cycle", c_uint64), ("last_cycle", c_uint64), ("port", c_uint8)]


#: the functions of harness.cpp: arguments and result
_FUNCTIONS = {
    "failure": ([], c_char_p),
    "create": ([c_char_p], c_void_p),
    "destroy": ([c_void_p], None),
    "offer": ([c_void_p, c_int, c_char_p, c_uint64, c_uint32, c_int, c_uint64], None),
    "run": ([c_void_p, c_uint64], c_int64),
    "departed_bytes": ([c_void_p], c_uint64),
    "take": ([c_void_p, POINTER(_Departure), c_char_p], None),
    "accepted": ([c_void_p], c_uint64),
    "take_accepted": ([c_void_p, POINTER(_Acceptance)], None),
    "hesitate": ([c_void_p, c_int, c_int, c_uint64], None),
    "cycle": ([c_void_p], c_uint64),
    "quiet": ([c_void_p], c_int),
    "read": ([c_void_p, c_uint32], c_int64),
    "write": ([c_void_p, c_uint32, c_uint32], c_int64),
}


class VerilatorNic:
    """A ``Nic`` (see ``fanfold_sim.nic``) of Verilated RTL. Its first use of a configuration builds the model.

    ``waves`` is where to write waveforms, one cycle a nanosecond: FST for a name that ends so and where the LZ4 headers
    are, else VCD; ``close`` writes a GTKWave save file beside them. Idle time in which the hardware's state stands
    still is skipped. A failed assertion in the hardware raises ``AssertionError``. Raises ``ToolMissing`` without a C++
    compiler.
    """

    def __init__(self, config: Config, waves: Path | None = None, *, top: TopMaker = fanfold_top):
        self.config = config
        self._handle = None
        self._waves = waves
        trace = None
        if waves is not None:
            trace = "fst" if waves.suffix == ".fst" else "vcd"
            if trace == "fst" and not toolchain.has_lz4():
                raise toolchain.ToolMissing(f"no lz4.h for FST waveforms: give {waves.stem}.vcd instead")
            waves.parent.mkdir(parents=True, exist_ok=True)
        library = ctypes.CDLL(str(model.build(config, top, trace)))
        self._call = {}
        for name, (arguments, result) in _FUNCTIONS.items():
            function = getattr(library, f"fanfold_{name}")
            function.argtypes, function.restype = arguments, result
            self._call[name] = function
        self._handle = self._call["create"](str(waves).encode() if waves is not None else b"")
        if not self._handle:
            raise self._failure()

    @property
    def cycle(self) -> int:
        """The next cycle to be run."""
        return self._call["cycle"](self._handle)

    def offer(self, port: Port, frame: bytes, *, cycle: int, queue: int = 0, bad: bool = False) -> None:
        """See ``Nic.offer``."""
        check_offer(self.config, self.cycle, port, frame, cycle, queue)
        self._call["offer"](self._handle, port.value, bytes(frame), len(frame), queue, bad, cycle)

    def hesitate(self, port: Port, chance: float, seed: int = 0) -> None:
        """From now on the output ``port`` takes nothing in ``chance`` of all cycles: 0 is never, 1 is for ever.

        An offer that changes while it has to wait raises ``AssertionError``.
        """
        if not 0 <= chance <= 1:
            raise ValueError(f"chance is {chance}: it must be from 0 to 1")
        self._call["hesitate"](self._handle, port.value, round(256 * chance), seed)

    def run(self, until: int) -> list[Departure]:
        """See ``Nic.run``."""
        count = self._checked(self._call["run"](self._handle, until))
        if not count:
            return []
        records = (_Departure * count)()
        data = ctypes.create_string_buffer(self._call["departed_bytes"](self._handle))
        self._call["take"](self._handle, records, data)
        frames, at, found = data.raw, 0, []
        for each in records:
            frame = frames[at : at + each.length]
            at += each.length
            found.append(
                Departure(Port(each.port), frame, each.queue, bool(each.bad), each.first_cycle, each.last_cycle)
            )
        return found

    @property
    def quiet(self) -> bool:
        """See ``Nic.quiet``; seen some cycles after it has become so."""
        return bool(self._call["quiet"](self._handle))

    def accepted_cycles(self) -> list[tuple[Port, int, int]]:
        """See ``Nic.accepted_cycles``."""
        records = (_Acceptance * self._call["accepted"](self._handle))()
        self._call["take_accepted"](self._handle, records)
        return [(Port(each.port), each.first_cycle, each.last_cycle) for each in records]

    def read_register(self, address: int) -> int:
        """Reads over AXI4-Lite. Takes no time while the NIC is quiet, else some cycles pass."""
        return self._checked(self._call["read"](self._handle, address))

    def write_register(self, address: int, value: int) -> None:
        """Writes over AXI4-Lite; time as for ``read_register``."""
        self._checked(self._call["write"](self._handle, address, value))

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
        waves, self._waves = self._waves, None
        self._destroy()
        if waves is not None:
            write_save(waves)

    def _destroy(self) -> None:
        if self._handle:
            self._call["destroy"](self._handle)
        self._handle = None

    def __del__(self):
        self._destroy()

    def _checked(self, result: int) -> int:
        if result < 0:
            raise self._failure()
        return result

    def _failure(self) -> Exception:
        message = self._call["failure"]().decode()
        return AssertionError(message) if message.startswith("an assertion failed") else RuntimeError(message)
