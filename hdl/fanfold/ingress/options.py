"""Sums the words of a frame's IP options, for the IP header's checksum.

In: parsed beats. Out: the sum so far, in step with the aligned beats; to the verdict.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import ETHERNET, IPV4
from .checksum import add_up, partial_sums, split_words
from .parse import MAX_SKIPPED_WORDS, parsed_layout

__all__ = ["OPTIONS_LATENCY", "Options"]

#: cycles from a beat out of the aligner to the sum that includes it
OPTIONS_LATENCY = 1
#: first byte that options can take, and the first behind the last
_FIRST = ETHERNET.bytes + IPV4.bytes
_BEHIND = _FIRST + 4 * MAX_SKIPPED_WORDS


class Options(wiring.Component):
    """The sum of the option words of the frame, up to and with the beat.

    Latency: 3. Throughput: 1. Ready path: none, always ready. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(parsed_layout(config), always_ready=True)),
                "total": Out(32),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        width = self._config.beat_bytes
        parsed = self.i.payload
        words = split_words(parsed.beat.data)

        # first rank: words that are no options become 0
        masked, inside = {}, []
        for number in range(MAX_SKIPPED_WORDS):  # words of 4 bytes from where options can begin
            each = Signal(name=f"inside_{number}")
            m.d.comb += each.eq((parsed.early.tags <= number) & (parsed.skip > number))
            inside.append(each)
        for at in range(_FIRST, _BEHIND, 2):
            index, place = at // width, (at % width) // 2
            masked.setdefault(place, []).append((parsed.index == index) & inside[(at - _FIRST) // 4])
        kept = []
        for place, chosen in masked.items():
            word = Signal(16, reset_less=True, name=f"word_{place}")
            m.d.sync += word.eq(Mux(self.i.valid & Cat(*chosen).any(), words[place], 0))
            kept.append(word)
        starts = Signal(2)  # the beat of each rank is its frame's first
        m.d.sync += starts.eq(Cat(self.i.valid & (parsed.index == 0), starts[0]))

        # second rank: partial sums; third rank: the sum of the frame so far
        sums = partial_sums(m, kept, "partial", size=8)
        m.d.sync += self.total.eq(add_up([Mux(starts[1], 0, self.total), *sums])[:32])
        return m
