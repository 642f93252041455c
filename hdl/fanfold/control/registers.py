"""The registers: answers the bus, shows the counters and the open contexts, and passes on what a host asks for.

The edge puts an AXI4-Lite port in front of the bus; the engine gives events and open contexts, and takes releases,
the NIC's MAC address, and what its timers are to do.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from .bus import bus_signature, request_layout, response_layout
from .counters import Counters
from .description import WORD_BITS, Register, by_name, counter, describe
from .events import EVENTS, events_layout
from .telemetry import telemetry_signature
from .timing import timing_layout

__all__ = ["Registers"]

#: registers that hold what was written
_KEPT = ("scratch", "local_mac_low", "local_mac_high", *timing_layout().members, "statistics_select")


class Registers(wiring.Component):
    """All registers of one instance, as ``description`` has them.

    Latency: 3 from request to response, more while the counters or the statistics are busy (then no access is
    answered); a released context is offered with the response. Throughput: one access in 4 cycles. Ready path:
    registered. Order: kept, one access at a time. On error: an access that the register map does not have (address,
    direction, number of a context or contributor) is answered with ``error`` and changes nothing; so is a release while
    the one before is not taken yet.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "bus": In(bus_signature()),
                "events": In(events_layout()),
                "open_contexts": In(config.contexts),
                "release": Out(stream.Signature(range(config.contexts))),
                "local_mac": Out(48),
                "timing": Out(timing_layout()),
                "telemetry": Out(telemetry_signature(config)),
            }
        )
        self._config = config

    @property
    def latency(self) -> int:
        """Cycles from a request that is taken to its response, when the counters are not busy."""
        return 3

    def elaborate(self, platform):
        m = Module()
        m.submodules.counters = counters = Counters()
        m.d.comb += counters.events.eq(self.events)
        opened = Signal.like(self.open_contexts)
        m.d.sync += opened.eq(self.open_contexts)
        registers = by_name(self._config)
        kept = {name: Signal(registers[name].width, name=name) for name in _KEPT}
        m.d.comb += self.local_mac.eq(Cat(kept["local_mac_low"], kept["local_mac_high"]))
        m.d.comb += [self.timing[name].eq(kept[name]) for name in timing_layout().members]

        request = Signal(request_layout())
        response = Signal(response_layout())
        # what is known of the request when the register is found
        refused = Signal()
        counted = Signal()  # a counter is to be read
        found = Signal(WORD_BITS)  # what is to be read otherwise
        writes = {name: Signal(name=f"write_{name}") for name in (*_KEPT, "release", "snapshot", "event_pop")}
        values = kept | {f"open_contexts_{n}": word for n, word in enumerate(_words(opened))}
        values |= self._telemetry_words()
        counters_from = registers[counter(next(iter(EVENTS)))].address
        m.d.comb += [
            counters.index.eq((request.address - counters_from) >> 2),
            self.bus.response.payload.eq(response),
        ]

        def look_at(register: Register):
            """What is known when the request is for this register."""
            readable, writable = register.access != "wo", register.access != "ro"
            m.d.sync += refused.eq(Mux(request.write, not writable, not readable))
            if writable:
                m.d.sync += writes[register.name].eq(request.write)
            if readable and register.name.startswith(counter("")):
                m.d.sync += counted.eq(~request.write)
            elif readable:
                value = register.reset if register.constant else values[register.name]
                m.d.sync += found.eq(Mux(request.write, 0, value))

        acting = Signal()
        with m.FSM(name="access"):
            with m.State("waiting for a request"):
                m.d.comb += self.bus.request.ready.eq(1)
                m.d.sync += request.eq(self.bus.request.payload)
                with m.If(self.bus.request.valid):
                    m.next = "finding the register"
            with m.State("finding the register"):
                m.d.sync += [refused.eq(1), counted.eq(0), found.eq(0), Cat(writes.values()).eq(0)]
                with m.Switch(request.address[2:]):
                    for register in describe(self._config):
                        with m.Case(register.address >> 2):
                            look_at(register)
                with m.If(~counters.busy & ~self.telemetry.busy):
                    m.next = "acting"
            with m.State("acting"):
                m.d.comb += acting.eq(1)
                m.d.sync += [response.data.eq(Mux(counted, counters.count, found)), response.error.eq(refused)]
                m.next = "answering"
            with m.State("answering"):
                m.d.comb += self.bus.response.valid.eq(1)
                with m.If(self.bus.response.ready):
                    m.next = "waiting for a request"

        chosen = Cat(bit.replicate(8) for bit in request.strobe)  # the bits that are to be written
        written = Signal(WORD_BITS)
        m.d.comb += [
            written.eq(request.data & chosen),
            counters.snapshot.eq(acting & writes["snapshot"] & written[0]),
        ]
        choice = Signal(WORD_BITS)  # what ``statistics_select`` is to become
        chosen_rows = self._choice(choice)
        offered = Signal()  # there is such a context, and such a contributor
        m.d.comb += [
            choice.eq((kept["statistics_select"] & ~chosen) | written),
            offered.eq(
                (chosen_rows["context"] < self._config.contexts)
                & (chosen_rows["contributor"] < self._config.contributors)
                & ~written[len(kept["statistics_select"]) :].any()
            ),
            *(self.telemetry.choice[name].eq(part) for name, part in self._choice(kept["statistics_select"]).items()),
            self.telemetry.take.eq(acting & writes["statistics_select"] & offered),
            self.telemetry.pop.eq(acting & writes["event_pop"] & written[0]),
        ]
        with m.If(acting & writes["statistics_select"] & ~offered):
            m.d.sync += response.error.eq(1)
        for name, value in kept.items():
            with m.If(acting & writes[name] & (offered if name == "statistics_select" else 1)):
                m.d.sync += value.eq((value & ~chosen) | written)
        with m.If(self.release.ready):
            m.d.sync += self.release.valid.eq(0)
        with m.If(acting & writes["release"]):
            with m.If(self.release.valid | written[len(self.release.payload) :].any()):  # contexts: a power of two
                m.d.sync += response.error.eq(1)
            with m.Elif(request.strobe[0]):
                m.d.sync += [self.release.valid.eq(1), self.release.payload.eq(written)]
        return m

    def _choice(self, word: Value) -> dict[str, Value]:
        """The fields of ``statistics_select``."""
        fields = by_name(self._config)["statistics_select"].fields
        return {field.name: word[field.low : field.low + field.width] for field in fields}

    def _telemetry_words(self) -> dict[str, Value]:
        """The registers that show telemetry, with what they show."""
        telemetry = self.telemetry
        events = telemetry.events
        # a member of an event by the name of a register's field
        parts = {name: Value.cast(events.oldest[name]) for name in events.oldest.shape().members}
        parts |= {"found": events.found, "slot": parts["slot"][: (self._config.window - 1).bit_length()]}
        shown: dict[str, Value] = {name: telemetry.words[name] for name in telemetry.words.shape().members}
        for name in ("event_cause", "event_place", "event_time"):
            fields = by_name(self._config)[name].fields
            pieces: list[Value] = []
            for field in fields:  # by rising place
                pieces.append(Const(0, field.low - len(Cat(pieces))))
                pieces.append(parts[field.name])
            shown[name] = Cat(pieces)
        return shown | {
            "event_waiting": events.level,
            "event_lost": events.lost,
            "statistics_missed": telemetry.missed,
        }


def _words(flags: Value) -> list[Value]:
    """``flags`` cut into words, the first bits first."""
    return [flags[at : at + WORD_BITS] for at in range(0, len(flags), WORD_BITS)]
