"""AXI4-Stream to frames and back: the adapters between the four stream ports of the top and the engine.

Here the AXI port is a stream whose payload has the foreign fields; the top gives them their flat names.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..streams import Skid, Slice
from ..wire import frame_layout

__all__ = ["FromAxi", "ToAxi", "axi_layout"]


def axi_layout(config: Config, queue: str) -> data.StructLayout:
    """One transfer; ``queue`` is the name of the field that carries the host queue: ``tid`` or ``tdest``."""
    if queue not in ("tid", "tdest"):
        raise ValueError(f"queue is {queue!r}: it must be 'tid' or 'tdest'")
    return data.StructLayout(
        {
            "tdata": 8 * config.beat_bytes,
            "tkeep": config.beat_bytes,
            "tlast": 1,
            "tuser": 1,
            queue: config.queue_bits,
        }
    )


class FromAxi(wiring.Component):
    """AXI4-Stream transfers in, frame beats out.

    The bytes of a beat are the ones of ``tkeep`` up to its first zero. ``tuser`` counts with ``tlast``. A frame's host
    queue is that of its first beat.

    What a reset cuts is lost: beats that are taken during it, and the rest of a frame that is under way when it ends.
    A source that offers no beat in the whole of a reset is reset as well, as AXI4-Stream has it: then the next beat
    begins a frame.

    ``always_ready`` says that what follows takes every beat, as the network's buffer does: then so does this.

    Latency: ``latency``. Throughput: 1. Ready path: registered, or constant. Order: kept. On error: a beat with
    ``tkeep`` all zero is dropped when it is not the last. A frame leaves with its bad mark when it has a byte after a
    zero in ``tkeep``, a beat that is not full before the last, or no byte in the last beat; that last beat then counts
    as one byte.
    """

    def __init__(self, config: Config, *, queue: str, always_ready: bool = False):
        super().__init__(
            {
                "i": In(stream.Signature(axi_layout(config, queue), always_ready=always_ready)),
                "o": Out(stream.Signature(frame_layout(config), always_ready=always_ready)),
            }
        )
        self._config = config
        self._queue = queue
        self._always_ready = always_ready

    @property
    def latency(self) -> int:
        """Cycles from a beat's arrival to its offer."""
        return 1 if self._always_ready else 2

    def elaborate(self, platform):
        m = Module()
        arrived = stream.Signature(axi_layout(self._config, self._queue)).create()
        arrives = self.i.valid & ~self._track_resets(m)
        if self._always_ready:
            m.d.comb += [arrived.payload.eq(self.i.payload), arrived.valid.eq(arrives)]
        else:
            m.submodules.arrivals = arrivals = Skid(axi_layout(self._config, self._queue))
            wiring.connect(m, arrivals.o, wiring.flipped(arrived))
            m.d.comb += [
                arrivals.i.payload.eq(self.i.payload),
                arrivals.i.valid.eq(arrives),
                self.i.ready.eq(arrivals.i.ready),
            ]
        checked = data.StructLayout({"frame": frame_layout(self._config), "null": 1})
        m.submodules.departures = departures = Slice(checked)
        beat, frame = arrived.payload, departures.i.payload.frame
        full, leading = _leading_ones(beat.tkeep)
        null = departures.i.payload.null
        broken = Signal()  # this beat breaks its frame
        torn = (beat.tkeep[1:] & ~beat.tkeep[:-1]).any()
        m.d.comb += [
            null.eq(~beat.tkeep.any() & ~beat.tlast),
            broken.eq(torn | Mux(beat.tlast, ~beat.tkeep[0], ~full)),
        ]

        first = Signal(init=1)
        was_broken = Signal()  # a beat before it did
        queue = Signal(self._config.queue_bits)
        m.d.comb += [
            arrived.ready.eq(departures.i.ready),
            departures.i.valid.eq(arrived.valid),
            frame.data.eq(beat.tdata),
            frame.last.eq(beat.tlast),
            frame.bad.eq(beat.tuser | broken | was_broken),
            frame.queue.eq(Mux(first, beat[self._queue], queue)),
        ]
        with m.If(full | ~beat.tlast):
            m.d.comb += frame.count.eq(self._config.beat_bytes)
        with m.Elif(~beat.tkeep[0]):
            m.d.comb += frame.count.eq(1)
        with m.Else():
            m.d.comb += frame.count.eq(leading)
        with m.If(departures.i.valid & departures.i.ready & ~null):
            m.d.sync += [
                first.eq(beat.tlast),
                was_broken.eq((was_broken | broken) & ~beat.tlast),
                queue.eq(frame.queue),
            ]

        # null beats are dropped behind the register: the enable of so many flip-flops does not wait for tkeep
        dropped = departures.o.payload.null
        m.d.comb += [
            self.o.payload.eq(departures.o.payload.frame),
            self.o.valid.eq(departures.o.valid & ~dropped),
            departures.o.ready.eq(self.o.ready | dropped),
        ]
        return m

    def _track_resets(self, m: Module) -> Value:
        """Whether beats belong to a frame that a reset has cut. What knows that is not reset itself."""
        beat = self.i.payload
        in_reset = ResetSignal("sync", allow_reset_less=True)
        was_reset = Signal(reset_less=True)
        offered = Signal(reset_less=True)  # the source has offered a beat in this reset
        under_way = Signal(reset_less=True)  # it is within a frame
        now_under_way = Signal()
        rest = Signal(reset_less=True)
        m.d.comb += now_under_way.eq(under_way)
        with m.If(self.i.valid & self.i.ready & (beat.tlast | beat.tkeep.any())):
            m.d.comb += now_under_way.eq(~beat.tlast)
        with m.Elif(was_reset & ~in_reset & ~offered):
            m.d.comb += now_under_way.eq(0)
        m.d.sync += [
            was_reset.eq(in_reset),
            offered.eq(in_reset & (self.i.valid | (was_reset & offered))),
            under_way.eq(now_under_way),
            rest.eq(now_under_way & Mux(in_reset, self.i.valid | (was_reset & offered), rest)),
        ]
        return rest


class ToAxi(wiring.Component):
    """Frame beats in, AXI4-Stream transfers out; ``tuser`` is high only with ``tlast``, in a bad frame.

    Latency: 1. Throughput: 1. Ready path: registered. Order: kept. On error: none.
    """

    def __init__(self, config: Config, *, queue: str):
        super().__init__(
            {
                "i": In(stream.Signature(frame_layout(config))),
                "o": Out(stream.Signature(axi_layout(config, queue))),
            }
        )
        self._config = config
        self._queue = queue

    @property
    def latency(self) -> int:
        """Cycles from a beat's arrival to its offer."""
        return 1

    def elaborate(self, platform):
        m = Module()
        m.submodules.departures = departures = Skid(axi_layout(self._config, self._queue))
        wiring.connect(m, departures.o, wiring.flipped(self.o))
        frame, beat = self.i.payload, departures.i.payload
        m.d.comb += [
            departures.i.valid.eq(self.i.valid),
            self.i.ready.eq(departures.i.ready),
            beat.tdata.eq(frame.data),
            beat.tkeep.eq(Cat(_thermometer(frame.count))[: self._config.beat_bytes]),
            beat.tlast.eq(frame.last),
            beat.tuser.eq(frame.bad & frame.last),
            beat[self._queue].eq(frame.queue),
        ]
        return m


def _leading_ones(bits: Value) -> tuple[Value, Value]:
    """Whether all ``bits`` are ones; and if not, how many of them from bit 0 up are. As deep as the number has bits."""
    if len(bits) == 2:
        return bits.all(), bits[0]
    half = len(bits) // 2
    low_full, low = _leading_ones(bits[:half])
    high_full, high = _leading_ones(bits[half:])
    return low_full & high_full, Cat(Mux(low_full, high, low), low_full)


def _thermometer(number: Value) -> list[Value]:
    """For each number that fits, from 0 up: whether ``number`` is greater. Without the carry chains of comparisons."""
    if len(number) == 0:
        return []
    below, highest = _thermometer(number[:-1]), number[-1]
    return [highest | each for each in below] + [highest] + [highest & each for each in below]
