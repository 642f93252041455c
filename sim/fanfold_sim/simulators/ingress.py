"""A Verilated ingress: Python hands over frames by the thousand, C++ streams them through under stalls."""

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import c_char_p, c_int, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from fanfold import export
from fanfold.codes import Port
from fanfold.config import Config
from fanfold.ingress import Ingress
from fanfold.wire import head_layout

from ..bench import Stall
from . import library

__all__ = ["Emerged", "Offered", "VerilatedIngress"]

_HARNESS = library.Harness(Path(__file__).parent / "ingress.cpp", "ingress", "ingress", compile_flags="-DVL_USER_STOP")
#: communicator, key, and the NIC's MAC and IP address in it
_Opened = tuple[int, int, int, int]
_EVENTS = ("regular", "tagged", "damaged", "unmatched")
#: chances in 256 that the source, and each sink, hesitates for a cycle; whether sinks wait for an offer
_STALLS = {
    Stall.NONE: (0, 0, False),
    Stall.SLOW_SOURCE: (192, 0, False),
    Stall.SLOW_SINK: (0, 192, False),
    Stall.RANDOM: (128, 128, False),
    Stall.AFTER_VALID: (0, 0, True),
}


class _Bench(wiring.Component):
    """An ingress behind ports whose names are free in C++; its registry has one open context."""

    def __init__(self, config: Config, port: Port, opened: _Opened, local_mac: int):
        frame = {"data": 8 * config.beat_bytes, "count": 8, "last": 1, "bad": 1, "queue": 16, "valid": 1}
        payload = {name: frame[name] for name in ("data", "last", "bad", "valid")}
        head = {"bits": 8 * _head_bytes(config), "valid": 1}
        ports = {f"i_{name}": In(width) for name, width in frame.items()} | {"i_ready": Out(1)}
        for stream, members in (("regular", frame), ("head", head), ("payload", payload)):
            ports |= {f"{stream}_{name}": Out(width) for name, width in members.items()} | {f"{stream}_ready": In(1)}
        super().__init__(ports | {f"is_{event}": Out(1) for event in _EVENTS})
        self._config = config
        self._port = port
        self._opened = opened
        self._local_mac = local_mac

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = Ingress(self._config, self._port)

        def port(stream, name):
            return getattr(self, f"{stream}_{name}")

        m.d.comb += [
            *(dut.i.payload[name].eq(port("i", name)) for name in ("data", "count", "last", "bad", "queue")),
            *(dut.i.valid.eq(self.i_valid), self.i_ready.eq(dut.i.ready)),
            *(
                port("regular", name).eq(dut.regular.payload[name])
                for name in ("data", "count", "last", "bad", "queue")
            ),
            *(port("payload", name).eq(dut.payload.payload[name]) for name in ("data", "last", "bad")),
            self.head_bits.eq(dut.head.payload),
            *(port("is", event).eq(dut.events[event]) for event in _EVENTS),
        ]
        for stream in ("regular", "head", "payload"):
            inner = getattr(dut, stream)
            m.d.comb += [port(stream, "valid").eq(inner.valid), inner.ready.eq(port(stream, "ready"))]
        request, response = dut.lookup.request, dut.lookup.response
        comm_id, key, mac, ip = self._opened
        known, here = Signal(), Signal()
        m.d.sync += [
            known.eq(request.valid & (request.p.names.comm_id == comm_id) & (request.p.names.key == key)),
            here.eq((request.p.local_mac == mac) & (request.p.local_ip == ip)),
            response.p.open.eq(known),
            response.p.here.eq(here),
        ]
        m.d.comb += dut.local_mac.eq(self._local_mac)
        return m


@dataclass(frozen=True, slots=True)
class Offered:
    """A frame for the ingress."""

    raw: bytes
    bad: bool = False
    queue: int = 0


@dataclass(frozen=True, slots=True)
class Emerged:
    """What came out: ``regular`` frames; of tagged ones the ``heads``, each member by its path, and the ``payloads``,
    whole beats with their bad mark; how often each event was high; the cycles up to the
    last movement."""

    regular: list[Offered]
    heads: list[dict[str, int]]
    payloads: list[tuple[bytes, bool]]
    events: dict[str, int]
    cycles: int


class VerilatedIngress:
    """An ingress of ``config`` whose only open context is that of ``opened``: communicator and key, and the NIC's MAC
    and IP address in it. ``local_mac`` is the NIC's address for registrations, 0: any.

    Its first use builds the model, which is kept. Raises ``ToolMissing`` without a C++ compiler.
    """

    def __init__(self, config: Config, opened: _Opened, port: Port = Port.HOST, local_mac: int = 0):
        self.config = config
        self._head_bytes = _head_bytes(config)
        built = library.build(
            _HARNESS,
            lambda: export.verilog(_Bench(config, port, opened, local_mac), "ingress", simulation=True),
            [
                config.as_dict(),
                port.name,
                opened,
                local_mac,
                *(path.read_bytes() for path in (*export.sources(), Path(__file__))),
            ],
            f"ingress of {config.beat_bytes}-byte beats",
        )
        self._call = ctypes.CDLL(str(built))
        self._call.ingress_failure.restype = c_char_p
        self._call.ingress_create.restype = c_void_p
        self._call.ingress_destroy.argtypes = [c_void_p]
        self._call.ingress_run.argtypes = [c_void_p, c_char_p, *3 * [c_void_p], c_uint64, *3 * [c_int], c_uint64]
        self._call.ingress_run.restype = c_int64
        self._call.ingress_sizes.argtypes = [c_void_p, c_void_p]
        self._call.ingress_take.argtypes = 9 * [c_void_p]
        self._ingress = c_void_p(self._call.ingress_create())
        self._places = _places(head_layout(config))

    def __del__(self):
        if ingress := getattr(self, "_ingress", None):
            self._call.ingress_destroy(ingress)

    def run(self, frames: Sequence[Offered], stall: Stall = Stall.NONE, seed: int = 0) -> Emerged:
        """Sends ``frames`` back to back, but for ``stall``, and waits until nothing moves any more.

        Raises ``AssertionError`` where the hardware's own assertions fail or an output breaks the stream's rules.
        """
        count = len(frames)
        lengths = (c_uint32 * count)(*(len(frame.raw) for frame in frames))
        bad = (c_uint8 * count)(*(frame.bad for frame in frames))
        queues = (c_uint16 * count)(*(frame.queue for frame in frames))
        everything = b"".join(frame.raw for frame in frames)
        cycles = self._call.ingress_run(self._ingress, everything, lengths, bad, queues, count, *_STALLS[stall], seed)
        if cycles < 0:
            raise AssertionError(self._call.ingress_failure().decode())
        return self._taken(cycles)

    def _taken(self, cycles: int) -> Emerged:
        sizes = (c_uint64 * (5 + len(_EVENTS)))()
        self._call.ingress_sizes(self._ingress, sizes)
        regular_count, regular_bytes, head_count, payload_count, payload_bytes, *events = sizes
        regular, heads, payload = (
            ctypes.create_string_buffer(max(size, 1))
            for size in (regular_bytes, head_count * self._head_bytes, payload_bytes)
        )
        lengths, bad, queues = ((kind * regular_count)() for kind in (c_uint32, c_uint8, c_uint16))
        payload_lengths, payload_bad = (c_uint32 * payload_count)(), (c_uint8 * payload_count)()
        places = (regular, lengths, bad, queues, heads, payload, payload_lengths, payload_bad)
        self._call.ingress_take(self._ingress, *places)
        return Emerged(
            [
                Offered(raw, bool(mark), queue)
                for raw, mark, queue in zip(_cut(regular.raw, lengths), bad, queues, strict=True)
            ],
            [self._head(raw) for raw in _cut(heads.raw, head_count * [self._head_bytes])],
            [(raw, bool(mark)) for raw, mark in zip(_cut(payload.raw, payload_lengths), payload_bad, strict=True)],
            dict(zip(_EVENTS, events, strict=True)),
            cycles,
        )

    def _head(self, raw: bytes) -> dict[str, int]:
        bits = int.from_bytes(raw, "little")
        return {name: bits >> at & mask for name, (at, mask) in self._places.items()}


def _cut(raw: bytes, lengths: Iterable[int]) -> list[bytes]:
    """``raw`` as pieces of these lengths; what is behind them is dropped."""
    return [raw[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]


def _head_bytes(config: Config) -> int:
    """Bytes of a head, rounded up to what C++ keeps of it."""
    return -(-head_layout(config).size // 32) * 4


def _places(layout: data.Layout, path: str = "", at: int = 0) -> dict[str, tuple[int, int]]:
    """Offset and mask of every member, by its path with dots."""
    found: dict[str, tuple[int, int]] = {}
    for name, field in layout:
        inner = f"{path}{name}"
        if isinstance(field.shape, data.Layout):
            found |= _places(field.shape, f"{inner}.", at + field.offset)
        else:
            found[inner] = (at + field.offset, (1 << field.width) - 1)
    return found
