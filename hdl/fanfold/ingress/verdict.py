"""Tagged or regular: checks a frame's headers, asks the registry, and says so once a frame.

In: aligned beats. Out: for each frame a verdict, and the head of those that are tagged. The rules are those of
docs/protocol.md, section 1.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Collective, Port
from ..config import Config
from ..registry.ports import LOOKUP_LATENCY, lookup_signature
from ..wire import COLLECTIVE, ETHERNET, FLAGS, IP_PROTOCOL_UDP, IPV4, UDP, VERSION, VLAN, head_layout
from .align import aligned_layout
from .checksum import add_up, correct, partial_sums, split_words
from .options import OPTIONS_LATENCY

__all__ = ["Verdict", "verdict_layout"]

#: more-fragments flag and offset: a packet with any of these bits is a fragment
_FRAGMENT_BITS = 0x3FFF
#: the verdict waits for the registry, and everything else is in time for it
_LATENCY = LOOKUP_LATENCY


def verdict_layout(config: Config) -> data.StructLayout:
    """``tagged`` or not; a ``candidate`` has sent payload towards the outlet; ``unmatched`` lacks only the context.

    ``head`` has a meaning for tagged packets.
    """
    return data.StructLayout({"tagged": 1, "candidate": 1, "unmatched": 1, "head": head_layout(config)})


class Verdict(wiring.Component):
    """One verdict for each frame, at ``decide``.

    ``candidate`` is early, one cycle after ``decide``, and stays until the next: the frame is an IPv4 packet to the
    collective port and has whole headers. ``options`` is the sum of the IP options' words, ``OPTIONS_LATENCY`` cycles
    after the aligned beat.

    Latency: 2. Throughput: 1. Ready path: none, always ready. Order: kept. On error: regular.
    """

    def __init__(self, config: Config, port: Port):
        super().__init__(
            {
                "i": In(stream.Signature(aligned_layout(config), always_ready=True)),
                "options": In(32),
                "o": Out(stream.Signature(verdict_layout(config), always_ready=True)),
                "candidate": Out(1),
                "lookup": Out(lookup_signature()),
            }
        )
        self._config = config
        self._port = port

    def elaborate(self, platform):
        assert _LATENCY == 2 and OPTIONS_LATENCY == 1, "the ranks below are made for these latencies"
        m = Module()
        aligned = self.i.payload
        early = aligned.early
        ethernet = ETHERNET.from_wire(Cat(early.macs, C(0, 16)))
        ip = IPV4.from_wire(early.ip)
        udp = UDP.from_wire(aligned.headers)
        header = COLLECTIVE.from_wire(aligned.headers[8 * UDP.bytes :])
        decide = self.i.valid & aligned.decide
        m.d.comb += [
            self.lookup.request.valid.eq(decide & aligned.complete),
            self.lookup.request.payload.comm_id.eq(header.comm_id),
            self.lookup.request.payload.key.eq(header.coll_tag_high32),
        ]

        # first rank: every rule by itself
        rules = {
            "complete": aligned.complete,
            "ipv4": early.ipv4,
            "udp": ip.protocol == IP_PROTOCOL_UDP,
            "port": udp.destination == self._config.udp_port,
            "whole": (ip.fragment & _FRAGMENT_BITS) == 0,
            "ip_length": udp.length + ((early.options + 5) << 2) == ip.total_length,
            "udp_length": udp.length == header.length + UDP.bytes + COLLECTIVE.bytes,
            "version": FLAGS(header.flags).version == VERSION,
            "registration": header.collective == Collective.REGISTER.value,
        }
        held = {}
        for name, rule in rules.items():
            held[name] = Signal(name=f"is_{name}", reset_less=name != "complete")
            with m.If(decide):
                m.d.sync += held[name].eq(rule)
        m.d.comb += self.candidate.eq(held["complete"] & held["ipv4"] & held["udp"] & held["port"])
        decided = Signal()
        head = Signal(head_layout(self._config), reset_less=True)
        m.d.sync += [
            decided.eq(decide),
            head.header.eq(header),
            head.local_mac.eq(ethernet.destination),
            head.local_ip.eq(ip.destination),
            head.remote.mac.eq(ethernet.source),
            head.remote.ip.eq(ip.source),
            head.remote.port.eq(udp.source),
            head.remote.tags.eq(early.tags),
            head.remote.outer.eq(Mux(early.tags > 0, _number(early.outer), 0)),
            head.remote.inner.eq(Mux(early.tags > 1, _number(early.inner), 0)),
            head.remote.queue.eq(aligned.queue if self._port is Port.HOST else 0),
        ]
        fixed = partial_sums(m, split_words(early.ip), "ip_sum")

        # second rank: the rules together; the IP header's sum
        total = Signal(32, reset_less=True)
        valid = Signal()
        formed = Signal()
        candidate = Signal(reset_less=True)
        registration = Signal(reset_less=True)
        late_head = Signal.like(head)
        m.d.sync += [
            total.eq(add_up([*fixed, self.options])),
            valid.eq(decided),
            formed.eq(Cat(rule for name, rule in held.items() if name != "registration").all()),
            candidate.eq(self.candidate),
            registration.eq(held["registration"]),
            late_head.eq(head),
        ]

        passed = Signal()
        matched = registration | self.lookup.response.payload.open
        m.d.comb += [
            passed.eq(formed & correct(total)),
            self.o.valid.eq(valid),
            self.o.payload.tagged.eq(passed & matched),
            self.o.payload.candidate.eq(candidate),
            self.o.payload.unmatched.eq(passed & ~matched),
            self.o.payload.head.eq(late_head),
        ]
        return m


def _number(tag) -> Value:
    """A VLAN tag's wire bytes as one number: protocol in the high half."""
    fields = VLAN.from_wire(tag)
    return Cat(fields.control, fields.protocol)
