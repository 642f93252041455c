"""One port's ingress: only connects its stages.

::

    i ─┬─▶ parse ─┬─▶ align ─┬─▶ verdict ─▶ outlet ─▶ regular, head, payload
       │          └─▶ ip_sum ───▲   │           ▲ ▲
       │                     └─▶ payload ───────┘ │
       └──────────────────────────────────────────┘
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Port
from ..config import Config
from ..registry.ports import lookup_signature
from ..wire import HEADER_BYTES, frame_layout, head_layout, payload_layout
from .align import Align
from .ip_sum import IpSum
from .outlet import Outlet
from .parse import Parse
from .payload import Payload
from .verdict import Verdict

__all__ = ["Ingress"]


class Ingress(wiring.Component):
    """Tells tagged frames from regular ones (docs/protocol.md, section 1).

    ``regular`` frames leave bit for bit as they came. A tagged packet leaves as one ``head`` and its ``payload`` beats,
    the first payload byte at byte 0 of the first beat; the head is offered no later than the first beat. ``events`` are
    high for one cycle a frame. ``local_mac`` is the NIC's address, as far as it is known; it stands still.

    Latency: ``regular_latency``, ``tagged_latency``. Throughput: one beat a cycle, whatever the frames, while the
    outputs are taken. Ready path: registered. Order: kept on each output. On error: a damaged tagged frame ends with
    ``bad``; whatever is not tagged by every rule is regular. A stalled ``head`` or ``payload`` stops the port once the
    queues are full, with the regular frames behind it.
    """

    def __init__(self, config: Config, port: Port):
        super().__init__(
            {
                "i": In(stream.Signature(frame_layout(config))),
                "regular": Out(stream.Signature(frame_layout(config))),
                "head": Out(stream.Signature(head_layout(config))),
                "payload": Out(stream.Signature(payload_layout(config))),
                "lookup": Out(lookup_signature()),
                "local_mac": In(48),
                "events": Out(data.StructLayout({"regular": 1, "tagged": 1, "damaged": 1, "unmatched": 1})),
            }
        )
        self._config = config
        self._port = port

    @property
    def regular_latency(self) -> int:
        """Cycles from the first beat accepted to the first offered, for an untagged frame without IP options that is
        at least as long as all headers and arrives without a pause, when the ingress is empty."""
        return HEADER_BYTES // self._config.beat_bytes - 1 + 10

    @property
    def tagged_latency(self) -> int:
        """Cycles from the first beat accepted to the first payload beat offered, in the same case. A payload of a
        single beat with a UDP checksum takes up to 5 cycles more."""
        return self.regular_latency

    def elaborate(self, platform):
        m = Module()
        m.submodules.parse = parse = Parse(self._config)
        m.submodules.align = align = Align(self._config)
        m.submodules.ip_sum = ip_sum = IpSum(self._config)
        m.submodules.verdict = verdict = Verdict(self._config, self._port)
        m.submodules.payload = payload = Payload(self._config)
        m.submodules.outlet = outlet = Outlet(self._config)
        wiring.connect(m, verdict.lookup, wiring.flipped(self.lookup))
        wiring.connect(m, payload.o, outlet.beats)
        wiring.connect(m, payload.damage, outlet.damages)
        wiring.connect(m, verdict.o, outlet.verdicts)
        wiring.connect(m, outlet.regular, wiring.flipped(self.regular))
        wiring.connect(m, outlet.head, wiring.flipped(self.head))
        wiring.connect(m, outlet.payload, wiring.flipped(self.payload))
        accepted = self.i.valid & self.i.ready
        m.d.comb += [
            self.i.ready.eq(outlet.open),
            outlet.frames.valid.eq(accepted),
            outlet.frames.payload.eq(self.i.payload),
            parse.i.valid.eq(accepted),
            parse.i.payload.eq(self.i.payload),
            verdict.ip_sum.eq(ip_sum.total),
            verdict.local_mac.eq(self.local_mac),
            payload.candidate.eq(verdict.candidate),
            self.events.regular.eq(verdict.o.valid & ~verdict.o.payload.tagged),
            self.events.tagged.eq(verdict.o.payload.tagged),
            self.events.unmatched.eq(verdict.o.payload.unmatched),
            self.events.damaged.eq(outlet.damaged),
        ]
        for taker in (align, ip_sum):
            m.d.comb += [taker.i.valid.eq(parse.o.valid), taker.i.payload.eq(parse.o.payload)]
        for taker in (verdict, payload):
            m.d.comb += [taker.i.valid.eq(align.o.valid), taker.i.payload.eq(align.o.payload)]
        return m
