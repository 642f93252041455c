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

    Only ``frame.data`` is without them: ``count`` and ``last`` are those of the frame that leaves. Where the tags push
    its end out of its last beat, one more beat follows, whose ``data`` has no meaning.
    """
    return data.StructLayout(
        {
            "frame": frame_layout(config),
            "tags": range(MAX_VLAN_TAGS + 1),
            "outer": _TAG_BITS,
            "inner": _TAG_BITS,
        }
    )


class Insert(wiring.Component):
    """Inserts 0, 1 or 2 tags. Frames have 64 bytes or more.

    Latency: 0. Throughput: 1. Ready path: combinational: as it comes, no logic. Order: kept. On error: none.
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

        m.d.comb += [
            self.i.ready.eq(self.o.ready),
            self.o.valid.eq(self.i.valid),
            self.o.payload.eq(beat.frame),
            self.o.payload.data.eq(moved),
        ]
        with m.If(self.i.valid & self.o.ready):
            m.d.sync += carry.eq(moved[8 * size :])
            with m.If(beat.frame.last):
                m.d.sync += position.eq(0)
            with m.Elif(before | here):
                m.d.sync += position.eq(position + 1)
        return m
