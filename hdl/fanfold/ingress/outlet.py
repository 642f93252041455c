"""Where frames wait for their verdict, and leave: regular ones as they came, tagged ones as head and payload.

In: frame beats as accepted, verdicts, payload beats, damages. Out: the ingress's three streams.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..streams import Queue, Skid
from ..wire import frame_layout, head_layout, payload_layout
from .payload import beat_layout
from .verdict import verdict_layout

__all__ = ["ROOM", "Outlet"]

#: items of each queue: a frame's headers at the narrowest beat (14 beats), and the cycles to its verdict
ROOM = 32
#: items that may still come when the input is told to stop: those on their way
_ON_THEIR_WAY = 14
#: the same of frame beats, which come straight from the input
_FRAMES_ON_THEIR_WAY = 3


class Outlet(wiring.Component):
    """Queues with gates that open by verdict. ``open`` is high while the input may accept beats.

    A frame's beats wait in one queue until its verdict: regular ones go on, those of tagged ones go away here. Payload
    beats of candidates wait in another, where the last one waits for its damage, and then in a gate of their own.

    What comes of a tagged frame after its verdict goes away at once, but for the last beat. So regular frames that wait
    do not stop the port inside a tagged one: a packet that has begun to leave can come to its end.

    Latency: 3 from the verdict. Throughput: 1. Ready path: registered. Order: kept on each stream. On error: none;
    streams that stall close the input: ``regular`` only until a tagged frame that is coming in has its verdict.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "frames": In(stream.Signature(frame_layout(config))),
                "verdicts": In(stream.Signature(verdict_layout(config), always_ready=True)),
                "beats": In(stream.Signature(beat_layout(config), always_ready=True)),
                "damages": In(stream.Signature(data.StructLayout({"bad": 1}), always_ready=True)),
                "open": Out(1),
                "damaged": Out(1),
                "regular": Out(stream.Signature(frame_layout(config))),
                "head": Out(stream.Signature(head_layout(config))),
                "payload": Out(stream.Signature(payload_layout(config))),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.frames = frames = Queue(frame_layout(config), ROOM)
        m.submodules.frame_verdicts = frame_verdicts = Queue(unsigned(1), ROOM + 2)
        m.submodules.heads = heads = Queue(head_layout(config), ROOM)
        m.submodules.beats = beats = Queue(beat_layout(config), ROOM)
        m.submodules.beat_verdicts = beat_verdicts = Queue(unsigned(1), ROOM + 2)
        m.submodules.damages = damages = Queue(unsigned(1), ROOM + 2)
        m.submodules.whole = whole = Skid(payload_layout(config))
        m.submodules.regular = regular = Skid(frame_layout(config))
        m.submodules.payload = payload = Skid(payload_layout(config))
        wiring.connect(m, heads.o, wiring.flipped(self.head))
        wiring.connect(m, regular.o, wiring.flipped(self.regular))
        wiring.connect(m, payload.o, wiring.flipped(self.payload))

        verdict = self.verdicts.payload
        within = Signal()  # a frame is coming in: it has begun and not ended
        undecided = Signal(range(_ON_THEIR_WAY))  # frames without a verdict, with the one that is coming in
        no_more = Signal()  # the one that is coming in is tagged, and only its last beat is wanted
        ends = Signal()
        m.d.comb += ends.eq(self.frames.valid & self.frames.payload.last)
        m.d.sync += undecided.eq(undecided + (self.frames.valid & ~within) - self.verdicts.valid)
        with m.If(self.frames.valid):
            m.d.sync += within.eq(~ends)
        with m.If(ends):
            m.d.sync += no_more.eq(0)
        with m.Elif(verdict.tagged & within & (undecided == 1)):
            m.d.sync += no_more.eq(1)

        room = Signal(init=1)
        limit = ROOM - _ON_THEIR_WAY
        frames_fit = (frames.level < ROOM - _FRAMES_ON_THEIR_WAY) | (no_more & ~ends)
        m.d.sync += room.eq((beats.level < limit) & (heads.level < limit) & frames_fit)
        m.d.comb += [
            self.open.eq(room),
            frames.i.valid.eq(self.frames.valid & (~no_more | ends)),
            frames.i.payload.eq(self.frames.payload),
            self.frames.ready.eq(frames.i.ready),
            frame_verdicts.i.valid.eq(self.verdicts.valid),
            frame_verdicts.i.payload.eq(verdict.tagged),
            heads.i.valid.eq(verdict.tagged),
            heads.i.payload.eq(verdict.head),
            beat_verdicts.i.valid.eq(verdict.candidate),
            beat_verdicts.i.payload.eq(verdict.tagged),
            beats.i.valid.eq(self.beats.valid),
            beats.i.payload.eq(self.beats.payload),
            damages.i.valid.eq(self.damages.valid),
            damages.i.payload.eq(self.damages.payload.bad),
        ]
        for name, queue in (
            ("frame beat", frames),
            ("frame verdict", frame_verdicts),
            ("head", heads),
            ("beat verdict", beat_verdicts),
            ("payload beat", beats),
            ("damage", damages),
        ):
            m.d.sync += Assert(~queue.i.valid | queue.i.ready, f"ingress: a {name} finds no room")

        # frames: all beats of one are passed on, or all are dropped
        is_tagged, ruled = frame_verdicts.o.payload, frame_verdicts.o.valid
        frame_moves = Signal()  # a beat leaves the queue
        m.d.comb += [
            frame_moves.eq(frames.o.valid & frames.o.ready),
            regular.i.payload.eq(frames.o.payload),
            regular.i.valid.eq(frames.o.valid & ruled & ~is_tagged),
            frames.o.ready.eq(ruled & (is_tagged | regular.i.ready)),
            frame_verdicts.o.ready.eq(frame_moves & frames.o.payload.last),
        ]

        # payload: a last beat goes on with its damage
        last = beats.o.payload.last
        m.d.comb += [
            whole.i.payload.data.eq(beats.o.payload.data),
            whole.i.payload.last.eq(last),
            whole.i.payload.bad.eq(last & damages.o.payload),
            whole.i.valid.eq(beats.o.valid & (~last | damages.o.valid)),
            beats.o.ready.eq(whole.i.ready & (~last | damages.o.valid)),
            damages.o.ready.eq(whole.i.ready & beats.o.valid & last),
        ]

        # then its gate is like that of the frames
        wanted, judged = beat_verdicts.o.payload, beat_verdicts.o.valid
        m.d.comb += [
            payload.i.payload.eq(whole.o.payload),
            payload.i.valid.eq(whole.o.valid & judged & wanted),
            whole.o.ready.eq(judged & (~wanted | payload.i.ready)),
            beat_verdicts.o.ready.eq(whole.o.valid & whole.o.ready & whole.o.payload.last),
        ]
        m.d.sync += self.damaged.eq(payload.i.valid & payload.i.ready & payload.i.payload.last & payload.i.payload.bad)
        return m
