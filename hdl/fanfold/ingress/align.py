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
        parsed = self.i.payload
        ending = Signal()  # the beat in the first rank is its frame's last; the end comes in the next cycle
        ended = Signal()

        # first rank: rotate by multiples of four words
        half = Signal(parsed.shape(), reset_less=True)
        half_valid = Signal()
        straight = Signal(reset_less=True)  # no shift within a beat
        m.d.sync += [half.eq(parsed), half_valid.eq(self.i.valid), straight.eq(parsed.skip[:bits] == 0)]
        if coarse:
            choices = [parsed.beat.data.rotate_right(128 * step) for step in range(1 << coarse)]
            m.d.sync += half.beat.data.eq(Array(choices)[parsed.skip[2:bits]])

        # second rank: the rest, then together with the words that the beat before left over
        shift = half.skip[:bits]
        turned = Signal(8 * width)
        m.d.comb += turned.eq(Array(half.beat.data.rotate_right(32 * step) for step in range(min(4, words)))[shift[:2]])
        left_over = Signal(8 * width, reset_less=True)
        whole, given = Signal(8 * width), Signal(8 * width)
        for word in range(words):
            part = slice(32 * word, 32 * word + 32)
            # a register for each word: is it the beat's, and is it to be seen beside what another frame left over
            ours = Signal(name=f"ours_{word}", reset_less=True)
            shown = Signal(name=f"shown_{word}", reset_less=True)
            is_ours = (parsed.skip[:bits] == 0) | (parsed.skip[:bits] >= words - word)
            m.d.sync += [ours.eq(is_ours), shown.eq(is_ours & ~ending)]
            m.d.comb += [
                whole[part].eq(Mux(ours, turned[part], left_over[part])),
                given[part].eq(Mux(shown, turned[part], left_over[part])),
            ]

        out = Signal(aligned_layout(self._config), reset_less=True)
        valid = Signal()
        full, available, beyond = self._measure(m, half.beat, shift, straight)
        rest = Signal(range(width + 1), reset_less=True)  # bytes left over by the beat before
        was_bad = Signal(reset_less=True)
        with m.If(half_valid):
            m.d.sync += [left_over.eq(turned), rest.eq(beyond), was_bad.eq(half.beat.bad)]

        history = whole
        needed = 8 * _HEADER_BYTES
        for number in range(-(-_HEADER_BYTES // width) - 1):
            kept = Signal(8 * width, reset_less=True, name=f"headers_{number}")
            with m.If(half_valid):
                m.d.sync += kept.eq(history[: 8 * width])
            history = Cat(kept, history)

        m.d.comb += ending.eq(half_valid & half.beat.last)
        m.d.sync += [
            ended.eq(ending),
            valid.eq(half_valid | ended),
            out.beat.eq(half_valid),
            out.end.eq(ended),
            out.decide.eq(half_valid & (half.header | (half.before & half.beat.last))),
            out.complete.eq(half.header & full),
            out.closes.eq(half.beat.last & straight),
            out.bad.eq(was_bad),
            out.headers.eq(history[-needed:]),
            out.early.eq(half.early),
            out.queue.eq(half.beat.queue),
            out.data.eq(given),
            out.available.eq(Mux(ended, rest, available)),
        ]
        m.d.comb += [self.o.valid.eq(valid), self.o.payload.eq(out)]
        return m

    def _measure(self, m, beat, shift, straight):
        """Whether a whole beat is available with this one, how many bytes are, and how many are left over."""
        bits = (self._config.beat_bytes - 1).bit_length()
        less = Signal(bits + 1)  # count without the shift, modulo
        reaches, full = Signal(), Signal()
        m.d.comb += [
            less.eq(Cat(beat.count[:2], beat.count[2:] - shift)),
            reaches.eq(beat.count[2:] >= shift),
            full.eq(~beat.last | Mux(straight, beat.count[bits], reaches)),
        ]
        return full, Cat(Mux(full, 0, less[:bits]), full), Mux(straight | ~reaches, 0, less[:bits])
