"""VLAN tags into a frame, behind its MAC addresses: what follows moves by 4 or 8 bytes.

Untagged beats come from ``build``; frames go to the egress's arbiter.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import ETHERNET, MAX_VLAN_TAGS, VLAN, frame_layout, swap

__all__ = ["Insert", "untagged_layout"]

_TAG_BITS = 8 * VLAN.bytes


def untagged_layout(config: Config) -> data.StructLayout:
    """One beat of a frame without its VLAN tags, and the tags (the same in all its beats).

    ``filled`` is ``frame.count`` with the bytes of the tags; ``over`` marks a last beat that they no longer fit.
    """
    return data.StructLayout(
        {
            "frame": frame_layout(config),
            "filled": range(config.beat_bytes + 2 * VLAN.bytes + 1),
            "over": 1,
            "tags": range(MAX_VLAN_TAGS + 1),
            "outer": _TAG_BITS,
            "inner": _TAG_BITS,
        }
    )


class Insert(wiring.Component):
    """Inserts 0, 1 or 2 tags; a frame whose end no longer fits its last beat gets one more. Frames have 64 bytes
    or more.

    Latency: 0. Throughput: 1 at the output; the additional beat is the only time the input waits for. Ready path:
    combinational. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(untagged_layout(config))),
                "o": Out(stream.Signature(frame_layout(config))),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        size = self._config.beat_bytes
        beat = self.i.payload
        at = ETHERNET.offset("ethertype")  # byte where the tags go
        at_beat, at_byte = divmod(at, size)

        position = Signal(range(at_beat + 2))  # beats before this one in the frame, as far as they matter
        before, here = position < at_beat, position == at_beat
        moved = Signal(8 * size + 2 * _TAG_BITS)  # the beat, moved up by the tags; then with what comes before it
        tags = Cat(swap(beat.outer), swap(beat.inner))
        carry = Signal(2 * _TAG_BITS, reset_less=True)  # bytes that the previous beat had no place for
        for number in range(MAX_VLAN_TAGS + 1):
            with m.If(beat.tags == number):
                width = number * _TAG_BITS
                m.d.comb += moved.eq(beat.frame.data << width)
                if number:
                    with m.If(before):
                        m.d.comb += moved.eq(beat.frame.data)
                    with m.Elif(here):
                        m.d.comb += moved[: 8 * at_byte].eq(beat.frame.data)
                        m.d.comb += moved[8 * at_byte :][:width].eq(tags)
                    with m.Else():
                        m.d.comb += moved[:width].eq(carry)

        # the rest of a frame after its last beat is taken
        rest = Signal()
        rest_count = Signal(range(2 * VLAN.bytes + 1), reset_less=True)
        rest_queue = Signal(self._config.queue_bits, reset_less=True)
        m.d.comb += [
            self.i.ready.eq(self.o.ready & ~rest),
            self.o.valid.eq(self.i.valid | rest),
            self.o.payload.data.eq(moved),
            self.o.payload.count.eq(Mux(beat.frame.last & ~beat.over, beat.filled, size)),
            self.o.payload.last.eq(beat.frame.last & ~beat.over),
            self.o.payload.queue.eq(beat.frame.queue),
        ]
        with m.If(rest):
            m.d.comb += [
                self.o.payload.data[: 2 * _TAG_BITS].eq(carry),
                self.o.payload.count.eq(rest_count),
                self.o.payload.last.eq(1),
                self.o.payload.queue.eq(rest_queue),
            ]
        with m.If(self.o.ready):
            m.d.sync += rest.eq(0)
            with m.If(self.i.valid & ~rest):
                m.d.sync += [
                    rest.eq(beat.over),
                    rest_count.eq(beat.filled - size),
                    rest_queue.eq(beat.frame.queue),
                    carry.eq(moved[8 * size :]),
                ]
                with m.If(beat.frame.last):
                    m.d.sync += position.eq(0)
                with m.Elif(before | here):
                    m.d.sync += position.eq(position + 1)
        return m
