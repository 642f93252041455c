"""Sums the words of a frame's IP header, its options among them, for the header's checksum.

In: parsed beats. Out: the sum so far, in step with the aligned beats; to the verdict.
"""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from .checksum import add_up, partial_sums, split_words
from .parse import parsed_layout

__all__ = ["IP_SUM_LATENCY", "SUM_BITS", "IpSum"]

#: cycles from a beat out of the aligner to the sum that includes it
IP_SUM_LATENCY = 2
#: bits that hold the sum of all words of an IP header, of which there are 30 at most
SUM_BITS = 16 + 5
#: of two words of a beat this far from each other, one at most belongs to options: those of a frame in 64-byte beats
#: are in the upper half of its first beat and in the lower half of its second
_FOLDED = 16


class IpSum(wiring.Component):
    """The sum of the words of the fixed IP header and of the options up to and with the beat; it counts where the
    headers are complete.

    Latency: 4. Throughput: 1. Ready path: none, always ready. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(parsed_layout(config), always_ready=True)),
                "total": Out(SUM_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        parsed = self.i.payload

        # first rank: words that are no options become 0; ranks two and three: partial sums
        ip = Signal.like(parsed.early.ip, reset_less=True)
        options = []
        words = [
            Mux(self.i.valid & parsed.options[place], word, 0)
            for place, word in enumerate(split_words(parsed.beat.data))
        ]
        for place in range(min(len(words), _FOLDED)):
            option = Signal(16, reset_less=True, name=f"option_{place}")
            m.d.sync += option.eq(reduce(or_, words[place::_FOLDED]))
            options.append(option)
        starts = Signal(2)  # the beat of each rank is its frame's first
        m.d.sync += [ip.eq(parsed.early.ip), starts.eq(Cat(self.i.valid & parsed.first, starts))]
        fixed = partial_sums(m, partial_sums(m, split_words(ip), "fixed"), "fixed_total")
        options = partial_sums(m, partial_sums(m, options, "options"), "options_total")

        # fourth rank: together with the options of the beats before, of which a frame's first beat has none
        before = Signal(SUM_BITS, reset_less=True)
        with m.If(starts[1]):
            m.d.sync += before.eq(0)
        with m.Else():
            m.d.sync += before.eq(add_up([before, *options])[:SUM_BITS])
        m.d.sync += self.total.eq(add_up([before, *options, *fixed])[:SUM_BITS])
        return m
