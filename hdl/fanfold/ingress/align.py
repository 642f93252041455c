"""Realigns a frame so that the payload starts on a beat boundary, whatever tags and options precede it.

In: parsed beats. Out: for each beat the headers from UDP on (where they end) and a beat of payload; to the verdict
and to the payload's path.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import COLLECTIVE, UDP
from .parse import early_layout, parsed_layout

__all__ = ["Align", "aligned_layout"]

_HEADER_BYTES = UDP.bytes + COLLECTIVE.bytes


def aligned_layout(config: Config) -> data.StructLayout:
    """What one cycle brings. Up to two frames have a part in it: one with a ``beat``, and the one before with its
    ``end``, which always comes one cycle after the frame's last beat.

    ``decide`` comes once a frame, with ``complete`` if the collective header is whole; then ``headers`` (UDP and
    collective, in wire order), ``early`` and ``queue`` are the frame's. ``data`` has ``available`` bytes of payload:
    of the beat, or at the ``end`` of what was left over. ``closes`` marks a last beat that leaves nothing over.
    ``bad`` counts at the ``end``.
    """
    return data.StructLayout(
        {
            "beat": 1,
            "end": 1,
            "decide": 1,
            "complete": 1,
            "closes": 1,
            "bad": 1,
            "headers": 8 * _HEADER_BYTES,
            "early": early_layout(),
            "queue": config.queue_bits,
            "data": 8 * config.beat_bytes,
            "available": range(config.beat_bytes + 1),
        }
    )


class Align(wiring.Component):
    """Rotates every beat by its frame's shift, and puts each together with the one before.

    Latency: 2. Throughput: 1. Ready path: none, always ready. Order: kept. On error: a cut frame has fewer bytes
    ``available``.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(parsed_layout(config), always_ready=True)),
                "o": Out(stream.Signature(aligned_layout(config), always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        width = self._config.beat_bytes
        words = width // 4
        bits = words.bit_length() - 1  # of a shift within a beat
        coarse = max(bits - 2, 0)

        # first rank: rotate by multiples of four words
        half = Signal(parsed_layout(self._config), reset_less=True)
        half_valid = Signal()
        m.d.sync += [half.eq(self.i.payload), half_valid.eq(self.i.valid)]
        if coarse:
            choices = [self.i.payload.beat.data.rotate_right(128 * step) for step in range(1 << coarse)]
            m.d.sync += half.beat.data.eq(Array(choices)[self.i.payload.skip[2:bits]])

        # second rank: the rest, then together with the words that the beat before left over
        shift = half.skip[:bits]
        turned = Array(half.beat.data.rotate_right(32 * step) for step in range(min(4, words)))[shift[:2]]
        beat = Signal(8 * width)
        m.d.comb += beat.eq(turned)
        left_over = Signal(8 * width, reset_less=True)
        whole = Signal(8 * width)
        for word in range(words):
            part = slice(32 * word, 32 * word + 32)
            ours = (shift == 0) | (shift >= words - word)
            m.d.comb += whole[part].eq(Mux(ours, beat[part], left_over[part]))

        ended = Signal()
        out = Signal(aligned_layout(self._config), reset_less=True)
        valid = Signal()
        shift_bytes = Cat(C(0, 2), shift)
        available = Signal(range(width + 1))
        rest = Signal(range(width + 1), reset_less=True)  # bytes left over by the beat before
        count = half.beat.count
        full = Signal()  # a whole beat is available
        m.d.comb += [
            available.eq(width),
            full.eq(~half.beat.last | Mux(shift == 0, count == width, count >= shift_bytes)),
        ]
        with m.If(half.beat.last):
            with m.If(shift == 0):
                m.d.comb += available.eq(count)
            with m.Elif(count < shift_bytes):
                m.d.comb += available.eq(count + width - shift_bytes)
        with m.If(half_valid):
            m.d.sync += left_over.eq(beat)
            m.d.sync += rest.eq(Mux((shift != 0) & (count > shift_bytes), count - shift_bytes, 0))

        history = whole
        needed = 8 * _HEADER_BYTES
        for number in range(-(-_HEADER_BYTES // width) - 1):
            kept = Signal(8 * width, reset_less=True, name=f"headers_{number}")
            with m.If(half_valid):
                m.d.sync += kept.eq(history[: 8 * width])
            history = Cat(kept, history)

        was_bad = Signal(reset_less=True)
        with m.If(half_valid):
            m.d.sync += was_bad.eq(half.beat.bad)
        m.d.sync += [
            ended.eq(half_valid & half.beat.last),
            valid.eq(half_valid | ended),
            out.beat.eq(half_valid),
            out.end.eq(ended),
            out.decide.eq(half_valid & (half.header | (half.before & half.beat.last))),
            out.complete.eq(half.header & full),
            out.closes.eq(half.beat.last & (shift == 0)),
            out.bad.eq(was_bad),
            out.headers.eq(history[-needed:]),
            out.early.eq(half.early),
            out.queue.eq(half.beat.queue),
            out.data.eq(Mux(ended, left_over, whole)),
            out.available.eq(Mux(ended, rest, available)),
        ]
        m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(out)]
        return m
