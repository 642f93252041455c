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
from .checksum import correct
from .ip_sum import IP_SUM_LATENCY, SUM_BITS

__all__ = ["Verdict", "verdict_layout"]

#: more-fragments flag and offset: a packet with any of these bits is a fragment
_FRAGMENT_BITS = 0x3FFF


def verdict_layout(config: Config) -> data.StructLayout:
    """``tagged`` or not; a ``candidate`` has sent payload towards the outlet; ``unmatched`` lacks only the context.

    They are only high in a verdict, so each can stand for its ``valid``. ``head`` has a meaning for tagged packets.
    """
    return data.StructLayout({"tagged": 1, "candidate": 1, "unmatched": 1, "head": head_layout(config)})


class Verdict(wiring.Component):
    """One verdict for each frame, at ``decide``.

    ``candidate`` is early, one cycle after ``decide``, and stays until the next: the frame is an IPv4 packet to the
    collective port and has whole headers. ``ip_sum`` is the sum of the IP header's words, ``IP_SUM_LATENCY`` cycles
    after the aligned beat. ``local_mac`` is the only address at which registrations are taken; 0: any.

    Latency: 3. Throughput: 1. Ready path: none, always ready. Order: kept. On error: regular.
    """

    def __init__(self, config: Config, port: Port):
        super().__init__(
            {
                "i": In(stream.Signature(aligned_layout(config), always_ready=True)),
                "ip_sum": In(SUM_BITS),
                "o": Out(stream.Signature(verdict_layout(config), always_ready=True)),
                "candidate": Out(1),
                "local_mac": In(48),
                "lookup": Out(lookup_signature()),
            }
        )
        self._config = config
        self._port = port

    def elaborate(self, platform):
        assert LOOKUP_LATENCY == IP_SUM_LATENCY == 2, "the ranks below are made for these latencies"
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
            self.lookup.request.p.names.comm_id.eq(header.comm_id),
            self.lookup.request.p.names.key.eq(header.coll_tag_high32),
            self.lookup.request.p.local_mac.eq(ethernet.destination),
            self.lookup.request.p.local_ip.eq(ip.destination),
        ]

        # first rank: every rule by itself
        ip_bytes = Cat(C(0, 2), ip.version_length[:4])  # bytes of the IP header
        to_port = (ip.protocol == IP_PROTOCOL_UDP) & (udp.destination == self._config.udp_port)
        rules = {
            "candidate": aligned.complete & early.ipv4 & to_port,
            "one_to_one": ~(
                ethernet.destination[40] | ethernet.source[40] | _is_group(ip.destination) | _is_group(ip.source)
            ),
            "whole": (ip.fragment & _FRAGMENT_BITS) == 0,
            "version": FLAGS(header.flags).version == VERSION,
            **_adds_up("ip_length", udp.length, ip_bytes, ip.total_length),
            **_adds_up("udp_length", header.length, C(UDP.bytes + COLLECTIVE.bytes, 16), udp.length),
        }
        local_mac = Signal(48)  # a rank of its own: the registers are far away
        anywhere = Signal()
        m.d.sync += [local_mac.eq(self.local_mac), anywhere.eq(self.local_mac == 0)]
        held = self._held(m, decide, rules)
        local = self._held(m, decide, _equal("local_mac", ethernet.destination, local_mac))
        registers = self._held(m, decide, {"registration": header.collective == Collective.REGISTER.value})
        m.d.comb += self.candidate.eq(held["candidate"])
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

        # second rank: the rules together, the registry's answer and the IP header's sum; third rank: the verdict
        valid, formed, passed, matched = Signal(), Signal(), Signal(), Signal()
        candidate, registration = Signal(), Signal(reset_less=True)
        late_head = Signal.like(head)
        found = Signal(self.o.payload.shape())
        verdict_head = Signal.like(head)
        m.d.sync += [
            valid.eq(decided),
            formed.eq(decided & Cat(held.values()).all()),
            candidate.eq(decided & self.candidate),
            registration.eq(registers["registration"] & (anywhere | Cat(local.values()).all())),
            late_head.eq(head),
            self.o.valid.eq(valid),
            found.tagged.eq(passed & matched),
            found.candidate.eq(candidate),
            found.unmatched.eq(passed & ~matched),
            verdict_head.eq(late_head),
        ]
        m.d.comb += [
            matched.eq(registration | (self.lookup.response.p.open & self.lookup.response.p.here)),
            passed.eq(formed & correct(self.ip_sum)),
            self.o.payload.eq(found),
            self.o.payload.head.eq(verdict_head),
        ]
        return m

    def _held(self, m, decide, rules):
        """Each of ``rules`` as it was at the last ``decide``."""
        held = {}
        for name, rule in rules.items():
            held[name] = Signal(name=f"is_{name}", reset_less=name != "candidate")
            with m.If(decide):
                m.d.sync += held[name].eq(rule)
        return held


def _adds_up(name, a, b, total, size=4) -> dict[str, Value]:
    """Rules that hold together when ``a + b == total``, in 16 bits and without overflow, each of ``size`` bits.

    Without a carry chain: what a bit lacks to be right is the carry into it, which its lower neighbour tells from the
    total that it should have.
    """
    a, b, total = (Value.cast(value) for value in (a, b, total))
    b = Cat(b, C(0, 16 - len(b)))
    lacks = a ^ b ^ total
    carries = (a & b) | ((a | b) & ~total)
    right = ~(Cat(lacks, C(0, 1)) ^ Cat(C(0, 1), carries))
    return {f"{name}_{at}": right[at : min(at + size, 17)].all() for at in range(0, 17, size)}


def _equal(name, a, b, size=4) -> dict[str, Value]:
    """Rules that hold together when ``a == b``, each of ``size`` bits."""
    return {f"{name}_{at}": a[at : at + size] == b[at : at + size] for at in range(0, len(b), size)}


def _is_group(address) -> Value:
    """Whether an IPv4 address is no single host's: multicast, reserved or broadcast, from 224.0.0.0 up."""
    return address[29:].all()


def _number(tag) -> Value:
    """A VLAN tag's wire bytes as one number: protocol in the high half."""
    fields = VLAN.from_wire(tag)
    return Cat(fields.control, fields.protocol)
