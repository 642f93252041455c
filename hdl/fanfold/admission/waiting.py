"""Where one port's tagged packets wait for the fold: each until it is whole, and while others are in front of it.

In: head and payload as an ingress gives them, while the frame is still coming. Out: the same of whole packets, to the
merge. So a frame that stays away half-way keeps nobody from the fold, and nobody in the fold keeps a port's frames.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import Config
from ..streams import Queue
from ..wire import head_layout, payload_layout

__all__ = ["WaitingRoom"]


class WaitingRoom(wiring.Component):
    """Room for ``waiting_segments`` packets of one port; offers one once its last beat is in.

    Head and payload come and go in step, a head with its packet's last beat. A packet longer than a segment, which can
    only be refused or fail its segment, keeps as many beats as a segment has, and the mark of its last one.

    With ``lossy`` every beat is taken, and a packet that finds no room at its first beat is dropped whole; ``dropped``
    is then high for a cycle, but for damaged ones, which were counted as such. Without it a first beat waits for room.
    ``pressed`` says that more than half is in use, ``coming`` that a beat will be offered in the next cycle.

    Latency: ``latency`` from a packet's last beat in to its first beat out. Throughput: 1. Ready path: registered for
    the payload; a head's follows its last beat. Order: kept. On error: a damaged packet passes with its mark.
    """

    latency = 2

    def __init__(self, config: Config, *, lossy: bool):
        head, payload = stream.Signature(head_layout(config)), stream.Signature(payload_layout(config))
        super().__init__(
            {
                "i_head": In(head),
                "i_payload": In(payload),
                "o_head": Out(head),
                "o_payload": Out(payload),
                "pressed": Out(1),
                "coming": Out(1),
                "dropped": Out(1),
            }
        )
        self._config = config
        self._lossy = lossy

    def elaborate(self, platform):
        m = Module()
        config = self._config
        segments, rows, longest = config.waiting_segments, config.waiting_beats, config.segment_beats
        # as many rows as the packets can have beats at most: where a head finds room, its beats do
        m.submodules.heads = heads = Queue(head_layout(config), segments)
        m.submodules.beats = beats = Memory(shape=Shape.cast(payload_layout(config)), depth=rows, init=[])
        write, read = beats.write_port(), beats.read_port()
        connect(m, heads.o, flipped(self.o_head))

        # a place is a row and a lap around all of them: full and empty differ by the lap
        place_layout = data.StructLayout({"row": range(rows), "lap": 1})
        place = Signal(place_layout)  # of the next beat to come
        whole = Signal(place_layout)  # what is before it belongs to whole packets
        tail = Signal(place_layout)  # of the next beat to leave

        def after(one):
            return Mux(one.row == rows - 1, Cat(C(0, len(one.row)), ~one.lap), Value.cast(one) + 1)

        # in
        begun = Signal()  # a packet has begun to come in and not ended
        dropping = Signal()  # it found no room
        stored = Signal(range(longest))  # beats of it that are in their rows for good
        fits, takes = Signal(), Signal()
        last = self.i_payload.p.last
        m.d.comb += [
            fits.eq(Mux(begun, ~dropping, heads.level != segments)),
            self.i_payload.ready.eq(self.i_head.valid & (1 if self._lossy else fits)),
            takes.eq(self.i_payload.valid & self.i_payload.ready),
            self.i_head.ready.eq(takes & last),
            heads.i.valid.eq(takes & last & fits),
            heads.i.payload.eq(self.i_head.payload),
            self.dropped.eq(takes & last & ~fits & ~self.i_payload.p.bad),
            # without waiting for a beat: where one would find room, the row is free
            write.en.eq(fits),
            write.addr.eq(place.row),
            write.data.eq(self.i_payload.payload),
        ]
        with m.If(takes):
            m.d.sync += [begun.eq(~last), dropping.eq(~fits)]
            with m.If(fits & last):
                m.d.sync += [stored.eq(0), place.eq(after(place)), whole.eq(after(place))]
            with m.Elif(fits & (stored != longest - 1)):  # in a longer packet the last beat takes this row
                m.d.sync += [stored.eq(stored + 1), place.eq(after(place))]
        m.d.sync += [
            self.pressed.eq(heads.level > segments // 2),
            Assert(~heads.i.valid | heads.i.ready, "waiting room: a head finds no room"),
        ]

        # out
        offers, moves = Signal(), Signal()
        m.d.comb += [
            self.coming.eq(Value.cast(tail) != Value.cast(whole)),
            moves.eq(self.coming & (self.o_payload.ready | ~offers)),
            read.en.eq(moves),
            read.addr.eq(tail.row),
            Value.cast(self.o_payload.payload).eq(read.data),
            self.o_payload.valid.eq(offers),
        ]
        with m.If(moves):
            m.d.sync += [tail.eq(after(tail)), offers.eq(1)]
        with m.Elif(self.o_payload.ready):
            m.d.sync += offers.eq(0)
        return m
