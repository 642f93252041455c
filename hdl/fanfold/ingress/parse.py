"""Where things are in a frame: counts VLAN tags and IP options, and gathers the headers before UDP.

In: frame beats as they are accepted. Out: the same beats with what is known by then; to the aligner.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import ETHERNET, ETHERTYPE_IPV4, HEADER_BYTES, IPV4, TAG_PROTOCOLS, VLAN, frame_layout, swap

__all__ = ["MAX_SKIPPED_WORDS", "Parse", "early_layout", "parsed_layout"]

#: words (4 bytes) of two VLAN tags and ten words of IP options
MAX_SKIPPED_WORDS = 12
#: bytes up to the end of the IP header's fixed part behind two tags
_EARLY_BYTES = ETHERNET.bytes + 2 * VLAN.bytes + IPV4.bytes
#: first byte of the first EtherType; the window from here decides where everything is
_WINDOW_AT, _WINDOW_BYTES = ETHERNET.offset("ethertype"), 12
#: the beat counter stands still here, behind every header
_INDEX_STOP = 31


def early_layout() -> data.StructLayout:
    """What precedes UDP: ``ethernet`` (addresses), the two words where VLAN tags would be, the ``ip`` header without
    options, all in wire order; ``tags``, and whether ``ip`` is an IPv4 header."""
    return data.StructLayout(
        {
            "macs": 8 * ETHERNET.offset("ethertype"),
            "outer": 8 * VLAN.bytes,
            "inner": 8 * VLAN.bytes,
            "ip": 8 * IPV4.bytes,
            "tags": range(3),
            "options": range(16),
            "ipv4": 1,
        }
    )


def parsed_layout(config: Config) -> data.StructLayout:
    """A frame beat, its number ``index`` (it stops counting behind the headers), and what is known of its frame.

    ``skip`` is how many words of tags and options precede the UDP header. ``header`` marks the beat in which the
    collective header ends, or in which it is clear that there is none; ``before`` marks the beats ahead of it.
    ``early`` is complete at ``header``.
    """
    return data.StructLayout(
        {
            "beat": frame_layout(config),
            "index": range(_INDEX_STOP + 1),
            "skip": range(16),
            "header": 1,
            "before": 1,
            "early": early_layout(),
        }
    )


class Parse(wiring.Component):
    """Latency: 1. Throughput: 1. Ready path: none, always ready. Order: kept. On error: none; a frame that ends early
    carries rubbish in ``skip`` and ``early``, and never reaches ``header``, or ends within it.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(frame_layout(config), always_ready=True)),
                "o": Out(stream.Signature(parsed_layout(config), always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        width = self._config.beat_bytes
        out = self.o.payload
        beat = Signal(frame_layout(self._config), reset_less=True)
        valid = Signal()
        index = Signal(range(_INDEX_STOP + 1))  # of the beat now coming in
        out_index = Signal.like(index, reset_less=True)
        m.d.sync += valid.eq(self.i.valid)
        with m.If(self.i.valid):
            m.d.sync += [beat.eq(self.i.payload), out_index.eq(index)]
            with m.If(self.i.payload.last):
                m.d.sync += index.eq(0)
            with m.Elif(index != _INDEX_STOP):
                m.d.sync += index.eq(index + 1)

        # tags and options, decided when the window from the first EtherType on is there
        incoming = self.i.payload.data
        window = incoming[8 * _WINDOW_AT :] if width > 16 else Cat(beat.data[-32:], incoming)
        decided = (_WINDOW_AT + _WINDOW_BYTES - 1) // width
        types = [swap(window[32 * tags : 32 * tags + 16]) for tags in range(3)]
        tagged = [Cat(kind == protocol for protocol in TAG_PROTOCOLS).any() for kind in types[:2]]
        tags = Signal(range(3), reset_less=True)
        options = Signal(range(16), reset_less=True)
        skip = Signal(range(16), reset_less=True)
        ipv4 = Signal(reset_less=True)
        with m.If(self.i.valid & (index == decided)), m.Switch(Cat(*tagged)):
            for count, pattern in enumerate(("-0", "01", "11")):
                with m.Case(pattern):
                    first = window[32 * count + 16 : 32 * count + 24]  # version in the high half, words in the low one
                    words = first[:4]
                    m.d.sync += [
                        tags.eq(count),
                        options.eq(words - 5),
                        skip.eq(words - 5 + count),
                        ipv4.eq((types[count] == ETHERTYPE_IPV4) & (first[4:] == 4) & (words >= 5)),
                    ]

        # the first beats are kept; the one now leaving counts already
        parts = []
        for number in range(-(-_EARLY_BYTES // width)):
            kept = Signal(8 * width, reset_less=True, name=f"kept_{number}")
            with m.If(valid & (out_index == number)):
                m.d.sync += kept.eq(beat.data)
            parts.append(Mux(out_index == number, beat.data, kept))
        early = Cat(*parts)
        ip_at = 8 * ETHERNET.bytes
        with m.Switch(tags):
            for count in range(3):
                with m.Case(count):
                    m.d.comb += out.early.ip.eq(early[ip_at + 32 * count :])
        # what is no IPv4 is decided as soon as that is known
        ends = Array((HEADER_BYTES + 4 * words - 1) // width for words in range(16))[skip]
        header_ends = Mux(ipv4, ends, decided)
        m.d.comb += [
            self.o.valid.eq(valid),
            out.beat.eq(beat),
            out.index.eq(out_index),
            out.skip.eq(skip),
            out.header.eq(out_index == header_ends),
            out.before.eq(out_index < header_ends),
            out.early.macs.eq(early),
            out.early.outer.eq(early[8 * _WINDOW_AT :]),
            out.early.inner.eq(early[8 * (_WINDOW_AT + VLAN.bytes) :]),
            out.early.tags.eq(tags),
            out.early.options.eq(options),
            out.early.ipv4.eq(ipv4),
        ]
        return m
