"""Where things are in a frame: counts VLAN tags and IP options, and gathers the headers before UDP.

In: frame beats as they are accepted. Out: the same beats with what is known by then; to the aligner and the IP sum.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import ETHERNET, ETHERTYPE_IPV4, HEADER_BYTES, IPV4, TAG_PROTOCOLS, VLAN, frame_layout, swap
from .table import table

__all__ = ["MAX_SKIPPED_WORDS", "Parse", "early_layout", "parsed_layout"]

#: words (4 bytes) of two VLAN tags and ten words of IP options
MAX_SKIPPED_WORDS = 12
#: words of an IPv4 header without options
_IP_WORDS = IPV4.bytes // 4
#: bytes up to the end of the IP header's fixed part behind two tags
_EARLY_BYTES = ETHERNET.bytes + 2 * VLAN.bytes + IPV4.bytes
#: first byte that IP options can take
_OPTIONS_AT = ETHERNET.bytes + IPV4.bytes
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
            "ipv4": 1,
        }
    )


def parsed_layout(config: Config) -> data.StructLayout:
    """A frame beat, whether it is its frame's ``first``, and what is known of its frame.

    ``skip`` is how many words of tags and options precede the UDP header; ``options`` has a bit for each 16-bit word of
    the beat, set where it belongs to the options. ``header`` marks the beat in which the collective header ends, or in
    which it is clear that there is none; ``before`` marks the beats ahead of it. ``early`` is complete at ``header``.
    """
    return data.StructLayout(
        {
            "beat": frame_layout(config),
            "first": 1,
            "skip": range(16),
            "options": config.beat_bytes // 2,
            "header": 1,
            "before": 1,
            "early": early_layout(),
        }
    )


class Parse(wiring.Component):
    """Two ranks: what each place in the window would be, then what follows from all of them.

    Latency: 2. Throughput: 1. Ready path: none, always ready. Order: kept. On error: none; a frame that ends early
    carries rubbish in ``skip``, ``options`` and ``early``, and never reaches ``header``, or ends within it.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(frame_layout(config), always_ready=True)),
                "o": Out(stream.Signature(parsed_layout(config), always_ready=True)),
            }
        )
        self._config = config
        #: number of the beat that has the end of the window
        self._decided = (_WINDOW_AT + _WINDOW_BYTES - 1) // config.beat_bytes

    def elaborate(self, platform):
        m = Module()

        # first rank: the beat and its number
        beat = Signal(frame_layout(self._config), reset_less=True)
        valid = Signal()
        next_index = Signal(range(_INDEX_STOP + 1))  # of the beat now coming in
        index = Signal.like(next_index, reset_less=True)
        deciding = Signal()
        m.d.sync += [valid.eq(self.i.valid), deciding.eq(self.i.valid & (next_index == self._decided))]
        with m.If(self.i.valid):
            m.d.sync += [beat.eq(self.i.payload), index.eq(next_index)]
            with m.If(self.i.payload.last):
                m.d.sync += next_index.eq(0)
            with m.Elif(next_index != _INDEX_STOP):
                m.d.sync += next_index.eq(next_index + 1)

        # second rank
        out = Signal(parsed_layout(self._config), reset_less=True)
        m.d.sync += [self.o.valid.eq(valid), out.beat.eq(beat), out.first.eq(index == 0)]
        m.d.comb += self.o.payload.eq(out)
        self._locate(m, out, beat, index, deciding)
        self._gather(m, beat, index, valid, out.early.tags)
        return m

    def _locate(self, m, out, beat, index, deciding):
        """Tags, options and the header's end, decided when the window from the first EtherType on is there."""
        width, decided = self._config.beat_bytes, self._decided
        incoming = self.i.payload.data
        window = incoming[8 * _WINDOW_AT :] if width > 16 else Cat(beat.data[-32:], incoming)

        # first rank: how many tags there are, and what would be behind as many
        kinds = [swap(window[32 * count : 32 * count + 16]) for count in range(3)]
        firsts = [window[32 * count + 16 : 32 * count + 24] for count in range(3)]  # words in the low half, version
        is_tag = [Cat(kind == protocol for protocol in TAG_PROTOCOLS).any() for kind in kinds[:2]]
        behind = Cat(~is_tag[0], is_tag[0] & ~is_tag[1], is_tag[0] & is_tag[1])
        has_tags = Signal(3, reset_less=True)  # one bit a number of tags
        is_ipv4 = Signal(3, reset_less=True)  # ... with which it is IPv4
        ip_words = [Signal(4, name=f"ip_words_{count}", reset_less=True) for count in range(3)]
        ip_kinds = [
            (kind == ETHERTYPE_IPV4) & (first[4:] == 4) & (first[:4] >= _IP_WORDS)
            for kind, first in zip(kinds, firsts, strict=True)
        ]
        m.d.sync += [has_tags.eq(behind), is_ipv4.eq(behind & Cat(*ip_kinds))]
        m.d.sync += [words.eq(first[:4]) for words, first in zip(ip_words, firsts, strict=True)]

        # second rank: what follows; what is no IPv4 ends as soon as that is known
        def follows(rule, size):
            """``rule(skip, tags)`` of what there is, from tables of it for every number of words and tags."""
            tables = []
            for count, words in enumerate(ip_words):
                values = [rule(max(number - _IP_WORDS, 0) + count, count) for number in range(16)]
                tables.append(Mux(has_tags[count], table(words, values, size), 0))
            return tables[0] | tables[1] | tables[2]

        ends = Signal(range(_INDEX_STOP + 1), init=decided)  # also that of the frame before: never earlier than decided
        held = Signal(MAX_SKIPPED_WORDS, reset_less=True)  # which words behind the fixed IP header are options
        found, found_ends, at_once, ipv4 = Signal.like(held), Signal.like(ends), Signal(), Signal()
        m.d.comb += [
            ipv4.eq(is_ipv4.any()),
            found.eq(follows(lambda skip, tags: (1 << skip) - (1 << tags), len(held))),
            found_ends.eq(follows(lambda skip, _: (HEADER_BYTES + 4 * skip - 1) // width, len(ends))),
            at_once.eq(~ipv4 | (found_ends == decided)),
        ]
        with m.If(deciding):
            m.d.sync += [
                out.early.tags.eq(has_tags[1:]),
                out.early.ipv4.eq(ipv4),
                out.skip.eq(follows(lambda skip, _: skip, 4)),
                held.eq(found),
                ends.eq(Mux(ipv4, found_ends, decided)),
                out.header.eq(at_once),
                out.before.eq(~at_once),
            ]
        with m.Else():
            m.d.sync += [out.header.eq(index == ends), out.before.eq(index < ends)]

        for place in range(width // 2):
            inside = []
            for number in range(2 * MAX_SKIPPED_WORDS):
                at_beat, at = divmod(_OPTIONS_AT + 2 * number, width)
                if at // 2 == place:
                    # narrow beats with options come after the one that decides
                    inside.append((index == at_beat) & (found if at_beat == decided else held)[number // 2])
            m.d.sync += out.options[place].eq(Cat(*inside).any())

    def _gather(self, m, beat, index, valid, tags):
        """The first beats are kept; the one that leaves is among them."""
        width = self._config.beat_bytes
        parts = []
        for number in range(-(-_EARLY_BYTES // width)):
            kept = Signal(8 * width, reset_less=True, name=f"kept_{number}")
            with m.If(valid & (index == number)):
                m.d.sync += kept.eq(beat.data)
            parts.append(kept)
        kept, early = Cat(*parts), self.o.payload.early
        m.d.comb += [
            early.macs.eq(kept),
            early.outer.eq(kept[8 * _WINDOW_AT :]),
            early.inner.eq(kept[8 * (_WINDOW_AT + VLAN.bytes) :]),
        ]
        with m.Switch(tags):
            for count in range(3):
                with m.Case(count):
                    m.d.comb += early.ip.eq(kept[8 * ETHERNET.bytes + 32 * count :])
