"""Beats moved over cycles in ingress, fold and egress; sources never pause, and sinks are always ready."""

import random
from collections.abc import Iterator

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from fanfold.codes import Collective, DataType, Direction, Operator, Port
from fanfold.config import Config
from fanfold.egress import Egress
from fanfold.fold import Spine
from fanfold.ingress import Ingress
from fanfold.registry.ports import LOOKUP_LATENCY
from fanfold.wire import frame_layout, head_layout, payload_layout

from ..bench import receive, receive_packet, run, send
from ..frames import Address, Packet, build
from .figure import Figure

__all__ = ["throughput"]

BEAT_BYTES = (8, 16, 32, 64)
_SENDER = Address(mac=0x020000000001, ip=0x0A000001, port=5000)
_NIC = Address(mac=0x0200000000FE, ip=0x0A0000FE, port=49169)


def throughput() -> Iterator[Figure]:
    """Figures ``ingress.``, ``fold.`` and ``egress.beats_per_cycle.<beat bytes>``; 1 is the limit."""
    for beat_bytes in BEAT_BYTES:
        config = Config(beat_bytes=beat_bytes, contributors=4, contexts=2, window=4)
        for room, measure in (("ingress", _ingress), ("fold", _fold), ("egress", _egress)):
            value = measure(config, random.Random(beat_bytes))
            yield Figure(f"{room}.beats_per_cycle.{beat_bytes}", round(value, 4), "beats/cycle", 1.0)


def _rate(taken: list[int]) -> float:
    """Beats a cycle from the first to the last."""
    return len(taken) / (taken[-1] - taken[0] + 1)


def frame_beats(config: Config, frame: bytes) -> Iterator[dict]:
    """The beats of ``frame`` as the items of a frame stream."""
    size = config.beat_bytes
    for at in range(0, len(frame), size):
        part = frame[at : at + size]
        yield {"data": int.from_bytes(part, "little"), "count": len(part), "last": at + size >= len(frame)}


def _regular(choices: random.Random) -> bytes:
    return b"\x02" + choices.randbytes(choices.choice((59, 60, 63, 64, 65, 127, 128, 200, 513)) - 1)


class _Answered(wiring.Component):
    """An ingress whose lookups always find an open context."""

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(frame_layout(config))),
                "regular": Out(stream.Signature(frame_layout(config))),
                "head": Out(stream.Signature(head_layout(config))),
                "payload": Out(stream.Signature(payload_layout(config))),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        m.submodules.ingress = ingress = Ingress(self._config, Port.HOST)
        for name in ("i", "regular", "head", "payload"):
            inner, outer = getattr(ingress, name), flipped(getattr(self, name))
            connect(m, *((outer, inner) if name == "i" else (inner, outer)))
        asked = ingress.lookup.request.valid
        for rank in range(LOOKUP_LATENCY):
            later = Signal(name=f"asked_{rank + 1}")
            m.d.sync += later.eq(asked)
            asked = later
        m.d.comb += [ingress.lookup.response.valid.eq(asked), Value.cast(ingress.lookup.response.p).eq(~0)]
        return m


def _ingress(config: Config, choices: random.Random) -> float:
    """Tagged and regular frames of all lengths, back to back."""
    beats: list[dict] = []
    tagged = regular = 0
    while len(beats) < 500:
        if choices.random() < 0.5:
            payload = choices.randbytes(choices.choice((0, 1, 4, 8, 60, 64, 65, 512)))
            frame = build(Packet(sender=_SENDER, receiver=_NIC, payload=payload))
            tagged += 1
        else:
            frame = _regular(choices)
            regular += 1
        beats += frame_beats(config, frame)
    dut = _Answered(config)

    async def source(ctx):
        await send(ctx, dut.i, beats)

    async def heads(ctx):
        await receive(ctx, dut.head, tagged)

    async def payloads(ctx):
        for _ in range(tagged):
            await receive_packet(ctx, dut.payload)

    async def regulars(ctx):
        for _ in range(regular):
            await receive_packet(ctx, dut.regular)

    monitors = run(dut, source, heads, payloads, regulars, cycles=4 * len(beats) + 1000)
    return _rate(monitors["i"].taken)


def _fold(config: Config, choices: random.Random) -> float:
    """Contributions of four, of all lengths, operators and types, each segment as soon as the one before is in."""
    items: list[dict] = []
    results = 0
    slot = 0
    while len(items) < 500:
        length = choices.randint(1, config.segment_beats)
        operator, data_type = choices.choice(config.pairs)
        order = [0, 1, 2, 3]
        choices.shuffle(order)
        present: set[int] = set()
        for leaf in order:
            present.add(leaf)
            pair = leaf ^ 1 in present
            others = {0, 1, 2, 3} - {leaf, leaf ^ 1} <= present
            for beat in range(length):
                items.append(
                    {
                        "data": choices.getrandbits(8 * config.beat_bytes),
                        "first": beat == 0,
                        "last": beat == length - 1,
                        "beat": beat,
                        "slot": slot,
                        "leaf": leaf,
                        "operator": operator,
                        "type": data_type,
                        "combine": pair | (others << 1),
                        "keep": (not pair) | ((not others) << 1),
                    }
                )
        results += length
        slot = (slot + 1) % config.fold_slots
    dut = Spine(config)

    async def source(ctx):
        await send(ctx, dut.i, items)

    async def sink(ctx):
        await receive(ctx, dut.o, results)

    return _rate(run(dut, source, sink, cycles=4 * len(items) + 1000)["i"].taken)


def _egress(config: Config, choices: random.Random) -> float:
    """Copies of all lengths and regular frames, both waiting all the time."""
    copies, regular, frames = [], [], 0
    beats = 0
    while beats < 500:
        length = choices.choice((0, 4, 8, 60, 64, 68, 512))
        copies.append(
            {
                "segment": {
                    "direction": Direction.DOWN,
                    "header": {
                        "collective": Collective.ALLREDUCE.value,
                        "opt_code": Operator.SUM.value,
                        "data_type": DataType.UINT32.value,
                        "length": length,
                    },
                },
            }
        )
        frame = list(frame_beats(config, _regular(choices)))
        regular += frame
        beats += len(frame) + -(-(64 + length) // config.beat_bytes)
        frames += 2
    dut = Egress(config, Port.HOST)

    async def source(ctx):
        await send(ctx, dut.copies, copies)

    async def passing(ctx):
        await send(ctx, dut.regular, regular)

    async def sink(ctx):
        for _ in range(frames):
            await receive_packet(ctx, dut.o)

    return _rate(run(dut, source, passing, sink, cycles=4 * beats + 1000)["o"].taken)
