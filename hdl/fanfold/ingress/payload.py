"""A tagged packet's payload: as many beats as its length asks for, and whether it is damaged.

In: aligned beats, and which frames are candidates. Out: payload beats, and once a candidate its ``damage``; both to the
outlet.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import COLLECTIVE, IP_PROTOCOL_UDP, IPV4, UDP, swap
from .align import aligned_layout
from .checksum import add_up, correct, partial_sums, split_words
from .table import table

__all__ = ["Payload", "beat_layout"]

#: cycles from a beat to the sum of all words up to and with it
_SUMMED = 5


def beat_layout(config: Config) -> data.StructLayout:
    """A payload beat before it is known whether the packet is damaged."""
    return data.StructLayout({"data": 8 * config.beat_bytes, "last": 1})


class Payload(wiring.Component):
    """Payload beats of candidates, ``max(1, ceil(length / beat_bytes))`` a packet, fewer where the frame is cut; then
    one ``damage`` for each, whose ``bad`` says: bad mark, cut short, or wrong UDP checksum.

    Latency: 0 for beats; for ``damage`` 0 from the frame's end, or 5 where a UDP checksum is verified, or was just
    before. Throughput: 1. Ready path: none, always ready. Order: kept. On error: as above.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(aligned_layout(config), always_ready=True)),
                "candidate": In(1),
                "o": Out(stream.Signature(beat_layout(config), always_ready=True)),
                "damage": Out(stream.Signature(data.StructLayout({"bad": 1}), always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        width = self._config.beat_bytes
        aligned = self.i.payload
        begins = self.i.valid & aligned.decide & aligned.complete
        ends = aligned.end
        header = COLLECTIVE.from_wire(aligned.headers[8 * UDP.bytes :])
        udp = UDP.from_wire(aligned.headers)

        # a packet is open from its header to its last payload beat, known from its header to the frame's end
        is_open, known = Signal(), Signal()
        more = Signal(range((1 << 16) // width + 1), reset_less=True)  # beats from the next one on, as the length says
        even = Signal(reset_less=True)  # ... and one of them is too many, for the length is a multiple of a beat
        no_more = Signal(reset_less=True)  # the next one is the last; then ``more`` has no meaning
        tail = Signal(range(width + 1), reset_less=True)  # bytes of the last one
        whole_tail = Signal(reset_less=True)  # they are a whole beat
        in_tail = Signal(width, reset_less=True)  # one bit for each of them, where they are not
        checked = Signal(reset_less=True)
        was_cut = Signal(reset_less=True)
        moves, last, cut = Signal(), Signal(), Signal()
        m.d.comb += [
            moves.eq(is_open & self.i.valid),
            last.eq(aligned.end | aligned.closes | no_more),
            cut.eq(~no_more | (aligned.available < tail)),
            self.o.valid.eq(moves & self.candidate),
            self.o.payload.data.eq(aligned.data),
            self.o.payload.last.eq(last),
        ]
        with m.If(moves):
            m.d.sync += [more.eq(more - 1), no_more.eq(Mux(even, more == 2, more == 1))]
            with m.If(last):
                m.d.sync += [is_open.eq(0), was_cut.eq(cut)]
        with m.If(ends):
            m.d.sync += known.eq(0)
        with m.If(begins):
            bits = width.bit_length() - 1
            beats, rest = header.length[bits:], header.length[:bits]
            no_rest = rest == 0
            all_of_it = no_rest & (beats != 0)  # the last beat is a whole one
            m.d.sync += [
                is_open.eq(1),
                known.eq(1),
                more.eq(beats),
                even.eq(no_rest),
                no_more.eq((beats == 0) | (no_rest & (beats == 1))),
                tail.eq(Cat(rest, all_of_it)),
                whole_tail.eq(all_of_it),
                in_tail.eq(table(rest, [(1 << count) - 1 for count in range(width)], width)),
                checked.eq(udp.checksum != 0),
            ]

        # the UDP checksum: headers and pseudo header once, then every payload beat without what follows the payload
        ip = aligned.early.ip
        once = [
            *split_words(aligned.headers),
            *split_words(ip[8 * IPV4.offset("source") :]),
            swap(C(IP_PROTOCOL_UDP, 16)),
            aligned.headers[8 * UDP.offset("length") :][:16],
        ]
        header_sums = partial_sums(m, once, "header_pair", 2)
        masked = Signal(8 * width, reset_less=True)
        for byte in range(width):
            counts = moves & (~no_more | whole_tail | in_tail[byte])
            m.d.sync += masked[8 * byte : 8 * byte + 8].eq(Mux(counts, aligned.data[8 * byte : 8 * byte + 8], 0))
        done, at_once, bad_or_cut = Signal(), Signal(), Signal()
        busy = Signal()  # an earlier packet waits
        start, end, bad, check = [begins], [done & ~at_once], [bad_or_cut], [checked]
        for stages, name in ((start, "start"), (end, "end"), (bad, "bad"), (check, "check")):
            for rank in range(_SUMMED):
                stage = Signal(name=f"{name}_{rank}", reset_less=name in ("bad", "check"))
                m.d.sync += stage.eq(stages[-1])
                stages.append(stage)

        # without a checksum there is nothing to wait for, unless an earlier packet does
        m.d.sync += busy.eq(Cat(end[:-1]).any())
        m.d.comb += [
            done.eq(ends & known & self.candidate),
            at_once.eq(done & ~checked & ~busy),
            bad_or_cut.eq(aligned.bad | Mux(moves, cut, was_cut)),
        ]

        # the masked words come from far and near: the first rank adds only pairs of them
        sums = partial_sums(m, split_words(masked), "payload_pair", 2)
        sums = partial_sums(m, partial_sums(m, sums, "payload_sum"), "payload_total")
        header_sums = partial_sums(m, partial_sums(m, header_sums, "header_sum"), "header_total")
        header_sum = Signal(32, reset_less=True)
        so_far = Signal(32, reset_less=True)
        finished = Signal(32, reset_less=True)
        total = add_up([*sums, so_far])[:32]
        m.d.sync += [
            header_sum.eq(add_up(header_sums)),
            so_far.eq(Mux(start[_SUMMED - 1], header_sum, total)),
            finished.eq(total),
        ]
        m.d.comb += [
            self.damage.valid.eq(at_once | end[-1]),
            self.damage.payload.bad.eq(Mux(at_once, bad_or_cut, bad[-1] | (check[-1] & ~correct(finished)))),
        ]
        return m
