"""How far apart the contributions of a segment arrive: a count of cycles that runs while there is something to measure.

It takes the reports of admission, and gives the spread of each segment to the statistics. A NIC without a segment that
is open, or that was not told to measure, stands still.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..codes import Origin
from ..config import Config
from .reports import report_layout

__all__ = ["SPREAD_BITS", "Arrivals", "gave"]

#: width of a number of cycles
SPREAD_BITS = 32


def gave(report: data.View) -> Value:
    """Whether the packet of a report was a contribution that was taken."""
    received = (report.origin == Origin.RECEIVED) & ~report.down & ~report.answered
    return received & (Value.cast(report.status) == 0)


class Arrivals(wiring.Component):
    """The cycles from the first to the last contribution of each segment that all contributors were in.

    ``o`` has an item for each segment whose last contribution came, with the spread modulo 2^32, if cycles were
    counted from its first one on. They are counted while ``measure`` is 1, from the report that opens a segment to the
    one that closes the last open segment. A context that is not open has no open segments.

    Latency: ``latency`` from the report to the spread. Throughput: 1. Ready path: always ready. Order: kept. On error:
    none; a segment that opens when a window of them is open already is not counted among them.
    """

    #: cycles from a report to its spread
    latency = 2

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(report_layout(config), always_ready=True)),
                "open_contexts": In(config.contexts),
                "measure": In(1),
                "o": Out(stream.Signature(SPREAD_BITS, always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        report = self.i.payload
        opens, closes = Signal(name="opens"), Signal(name="closes")
        m.d.comb += [opens.eq(self.i.valid & report.opens), closes.eq(self.i.valid & report.closes)]

        # segments that are open, by context
        counts = Signal(data.ArrayLayout(range(config.window + 1), config.contexts))
        for context in range(config.contexts):
            here = Signal(name=f"at_{context}")
            m.d.comb += here.eq(report.context == context)
            with m.If(~self.open_contexts[context]):
                m.d.sync += counts[context].eq(0)
            with m.Elif(here & opens & ~closes & (counts[context] != config.window)):
                m.d.sync += counts[context].eq(counts[context] + 1)
            with m.Elif(here & closes & ~opens & (counts[context] != 0)):
                m.d.sync += counts[context].eq(counts[context] - 1)

        now = Signal(SPREAD_BITS)
        running = Signal()
        m.d.comb += running.eq(self.measure & (opens | Value.cast(counts).any()))
        with m.If(running):
            m.d.sync += now.eq(now + 1)

        began = data.StructLayout({"time": SPREAD_BITS, "measured": 1})
        m.submodules.first = first = Memory(shape=began, depth=config.fold_slots, init=[])
        write, read = first.write_port(), first.read_port()
        m.d.comb += [
            write.addr.eq(report.slot),
            write.data.time.eq(now),
            write.data.measured.eq(self.measure),
            write.en.eq(opens),
            read.addr.eq(report.slot),
            read.en.eq(closes),
        ]
        ended = Signal()  # the segment whose first contribution is read now has got its last one
        alone = Signal()  # they are the same
        time = Signal(SPREAD_BITS)
        m.d.sync += ended.eq(closes & gave(report) & self.measure)
        with m.If(closes):
            m.d.sync += [time.eq(now), alone.eq(opens)]
        m.d.sync += self.o.valid.eq(ended & (alone | read.data.measured))
        with m.If(ended):
            m.d.sync += self.o.payload.eq(Mux(alone, 0, time - read.data.time))
        return m
