"""Header bytes from a copy, the IP checksum among them, and what the builder needs to know of the packet.

Copies come from the egress's arbiter; packets go to ``build``.
"""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Direction
from ..config import Config
from ..streams import Skid
from ..wire import (
    COLLECTIVE,
    ETHERNET,
    ETHERTYPE_IPV4,
    FLAGS,
    HEADER_BYTES,
    IP_PROTOCOL_UDP,
    IPV4,
    MAX_VLAN_TAGS,
    UDP,
    VERSION,
    VLAN,
    copy_layout,
)  # fmt: skip

__all__ = ["Headers", "packet_layout"]

_TIME_TO_LIVE = 64
_DO_NOT_FRAGMENT = 0x4000
_VERSION_LENGTH = 0x45
#: bytes that the lengths in the UDP and IP headers count besides the payload
_UDP_BYTES = UDP.bytes + COLLECTIVE.bytes
_IP_BYTES = IPV4.bytes + _UDP_BYTES
#: what is the same in every IP header: the words of version, fragment, time to live and protocol, and of the length
_IP_CONSTANT = (_VERSION_LENGTH << 8) + _DO_NOT_FRAGMENT + (_TIME_TO_LIVE << 8) + IP_PROTOCOL_UDP + _IP_BYTES
#: bits that hold the sum of all words of an IP header
_SUM_BITS = 19


def packet_layout(config: Config) -> data.StructLayout:
    """A packet to build: its header bytes without VLAN tags (first byte lowest), and where its payload is stored.

    ``payload`` says whether it has any; then ``last_beat`` is the last of its beats in the store and ``count`` the
    bytes in that one. ``over`` says whether the tags push the packet's end out of its last beat. ``silent`` packets
    send nothing; they, and packets of a ``single`` beat, are ``alone``: the builder takes no second look at them.
    ``closing`` is reported when the packet is done.
    """
    return data.StructLayout(
        {
            "header": 8 * HEADER_BYTES,
            "tags": range(MAX_VLAN_TAGS + 1),
            "outer": 8 * VLAN.bytes,
            "inner": 8 * VLAN.bytes,
            "queue": config.queue_bits,
            "context": range(config.contexts),
            "slot": range(2 * config.window),
            "direction": Direction,
            "payload": 1,
            "last_beat": range(config.segment_beats),
            "count": range(config.beat_bytes + 1),
            "over": 1,
            "single": 1,
            "alone": 1,
            "silent": 1,
            "closing": 1,
        }
    )


class Headers(wiring.Component):
    """One packet from each copy. The length that is sent is 0 when the copy's status is not.

    Three registers: the addresses' words are compressed to two numbers; all words are added and the lengths derived;
    the sum is folded to the checksum and all header bytes are in place. The last one is a skid: the builder's ready
    comes late in the cycle and goes no further. All that is wide moves when the skid has room.

    Latency: ``latency``. Throughput: 1. Ready path: registered. Order: kept. On error: none.
    """

    latency = 3

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(copy_layout(config))),
                "o": Out(stream.Signature(packet_layout(config))),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        copy = copy_layout(config)
        length = range(config.segment_bytes + 1)
        compressed = Signal(
            data.StructLayout({"copy": copy, "error": 1, "sums": _SUM_BITS, "carries": _SUM_BITS}), reset_less=True
        )
        summed = Signal(
            data.StructLayout(
                {
                    "copy": copy, "error": 1, "length": length, "ip_length": 16, "udp_length": 16, "sum": _SUM_BITS,
                    "before_end": length,
                }
            ),
            reset_less=True,
        )  # fmt: skip
        m.submodules.packets = packets = Skid(packet_layout(config))
        wiring.connect(m, packets.o, wiring.flipped(self.o))
        valids = Signal(2)  # of the two registers
        m.d.comb += [self.i.ready.eq(packets.i.ready), packets.i.valid.eq(valids[1])]
        with m.If(packets.i.ready):
            m.d.sync += valids.eq(Cat(self.i.valid, valids))
            self._compress(m, self.i.payload, compressed)
            self._sum(m, compressed, summed)
        self._assemble(m, summed, packets.i.payload)
        with m.If(self.i.valid & ~self.i.payload.silent):
            header = self.i.payload.segment.header
            m.d.sync += Assert(header.length <= config.segment_bytes, "a packet's payload is no longer than a segment")
        return m

    def _compress(self, m, copy, out):
        local, remote = copy.local_ip, copy.remote.ip
        sums, carries = _carry_save(local[:16], local[16:], remote[:16])
        sums, carries = _carry_save(sums, carries, remote[16:])
        m.d.sync += [
            out.copy.eq(copy),
            out.error.eq(copy.segment.header.status != 0),
            out.sums.eq(sums),
            out.carries.eq(carries),
        ]

    def _sum(self, m, ranked, out):
        length = ranked.copy.segment.header.length[: len(out.length)]
        sums, carries = _carry_save(ranked.sums, ranked.carries, length)
        sums, carries = _carry_save(sums, carries, Const(_IP_CONSTANT, 16))
        m.d.sync += [
            out.copy.eq(ranked.copy),
            out.error.eq(ranked.error),
            out.length.eq(length),
            out.ip_length.eq(length + _IP_BYTES),
            out.udp_length.eq(length + _UDP_BYTES),
            out.sum.eq(sums[:_SUM_BITS] + carries[:_SUM_BITS]),
            out.before_end.eq(length - 1),
        ]

    def _assemble(self, m, summed, out):
        config = self._config
        copy = summed.copy
        ethernet = Signal(ETHERNET.struct())
        ip = Signal(IPV4.struct())
        udp = Signal(UDP.struct())
        collective = Signal(COLLECTIVE.struct())
        flags = Signal(FLAGS)
        m.d.comb += [
            ethernet.destination.eq(copy.remote.mac),
            ethernet.source.eq(copy.local_mac),
            ethernet.ethertype.eq(ETHERTYPE_IPV4),
            ip.version_length.eq(_VERSION_LENGTH),
            ip.total_length.eq(summed.ip_length),
            ip.fragment.eq(_DO_NOT_FRAGMENT),
            ip.time_to_live.eq(_TIME_TO_LIVE),
            ip.protocol.eq(IP_PROTOCOL_UDP),
            ip.checksum.eq(_folded(m, summed.sum)),
            ip.source.eq(copy.local_ip),
            ip.destination.eq(copy.remote.ip),
            udp.source.eq(config.udp_port),
            udp.destination.eq(copy.remote.port),
            udp.length.eq(summed.udp_length),
            flags.version.eq(VERSION),
            flags.direction.eq(copy.segment.direction),
            flags.error.eq(summed.error),
            flags.repeat.eq(FLAGS(copy.segment.header.flags).repeat),
            collective.eq(copy.segment.header),
            collective.flags.eq(flags),
            collective.length.eq(summed.length),
        ]
        parts = ((ETHERNET, ethernet), (IPV4, ip), (UDP, udp), (COLLECTIVE, collective))
        beat_bits = (config.beat_bytes - 1).bit_length()
        # a header ends with its beat; a payload's last beat has so many words (of 4 bytes, as tags) before its last one
        words = summed.before_end[2:beat_bits]
        empty = summed.length == 0
        over = Mux(empty, copy.remote.tags != 0, (words + copy.remote.tags)[beat_bits - 2 :] != 0)
        single = empty & (copy.remote.tags == 0) if config.beat_bytes == HEADER_BYTES else C(0)
        m.d.comb += [
            out.header.eq(Cat(layout.to_wire(native) for layout, native in parts)),
            out.tags.eq(copy.remote.tags),
            out.outer.eq(copy.remote.outer),
            out.inner.eq(copy.remote.inner),
            out.queue.eq(copy.remote.queue),
            out.context.eq(copy.segment.context),
            out.slot.eq(copy.segment.slot),
            out.direction.eq(copy.segment.direction),
            out.payload.eq(~empty),
            out.last_beat.eq(summed.before_end >> beat_bits),
            out.count.eq(summed.before_end[:beat_bits] + 1),
            out.over.eq(over),
            out.single.eq(single),
            out.alone.eq(copy.silent | single),
            out.silent.eq(copy.silent),
            out.closing.eq(copy.closing),
        ]


def _carry_save(a, b, c):
    """Two numbers with the sum of three, without a carry chain."""
    a, b, c = Value.cast(a), Value.cast(b), Value.cast(c)
    return a ^ b ^ c, Cat(C(0, 1), (a & b) | (a & c) | (b & c))


def _folded(m, total):
    """The IP checksum: complement of the one's complement sum. Both outcomes of the end-around carry are ready before
    the carry is known."""
    plain, raised = Signal(17), Signal(17)
    m.d.comb += [plain.eq(total[:16] + total[16:]), raised.eq(total[:16] + total[16:] + 1)]
    return ~Mux(plain[16], raised[:16], plain[:16])
