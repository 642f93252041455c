"""The headers of a tagged packet, in the order in which they travel.

Ethernet II, up to two VLAN tags, IPv4 (RFC 791), UDP (RFC 768), the collective header, the payload. Without tags and
options the headers are exactly 64 bytes, so the payload starts on a beat boundary for every beat width.
"""

from amaranth.lib import data

from .fields import Field, Layout

__all__ = [
    "COLLECTIVE", "ETHERNET", "ETHERTYPE_IPV4", "FAULT", "FAULT_OF_ONE_BYTES", "FLAGS", "HEADER_BYTES", "IPV4",
    "IP_PROTOCOL_UDP", "MAX_VLAN_TAGS", "RECORD", "RECORD_FLAGS", "TAG_PROTOCOLS", "TOTAL", "UDP", "VERSION", "VLAN",
]  # fmt: skip

ETHERNET = Layout("Ethernet", "big", (
    Field("destination", 6, "MAC address of the receiver"),
    Field("source", 6, "MAC address of the sender"),
    Field("ethertype", 2, "0x0800 for IPv4; a tag protocol where a VLAN tag follows"),
))  # fmt: skip

VLAN = Layout("VLAN tag", "big", (
    Field("protocol", 2, "tag protocol identifier: 0x8100, 0x88A8 or 0x9100"),
    Field("control", 2, "priority (3 bits), drop eligible (1), VLAN identifier (12)"),
))  # fmt: skip

IPV4 = Layout("IPv4", "big", (
    Field("version_length", 1, "version 4 in the high half, header length in 32-bit words in the low half"),
    Field("service", 1, "differentiated services and congestion notification"),
    Field("total_length", 2, "bytes from the start of this header to the end of the payload"),
    Field("identification", 2, "0: results are never fragmented"),
    Field("fragment", 2, "flags (3 bits) and fragment offset (13)"),
    Field("time_to_live", 1, "hops left"),
    Field("protocol", 1, "17 for UDP"),
    Field("checksum", 2, "one's complement sum of the header"),
    Field("source", 4, "address of the sender"),
    Field("destination", 4, "address of the receiver"),
))  # fmt: skip

UDP = Layout("UDP", "big", (
    Field("source", 2, "port of the sender; results come back to it"),
    Field("destination", 2, "the collective port, 49169 unless configured otherwise"),
    Field("length", 2, "bytes of this header and what follows"),
    Field("checksum", 2, "0 as sent; verified when a received one is not 0"),
))  # fmt: skip

COLLECTIVE = Layout("collective header", "big", (
    Field("coll_tag_high32", 4, "the communicator's key"),
    Field("coll_tag", 4, "sequence number of the segment in the communicator, modulo 2^32"),
    Field("comm_id", 2, "communicator"),
    Field("opt_code", 1, "reduction operator"),
    Field("data_type", 1, "element type"),
    Field("collective", 1, "which collective"),
    Field("flags", 1, "version (bits 7:6), direction (5), repeat (4), error (3)"),
    Field("source", 2, "contributor index at the receiving NIC"),
    Field("root", 2, "root contributor or node where the collective has one; else 0"),
    Field("status", 2, "0, or why the collective failed"),
    Field("length", 2, "payload bytes"),
))  # fmt: skip

#: the payload of a registration: what the contributor says about its node and itself
RECORD = Layout("record", "little", (
    Field("ranks", 4, "ranks that this contributor stands for; the fold is their sum"),
    Field("node", 4, "number of the node"),
    Field("leaders", 2, "local leaders of this NIC: contributors 0 to leaders - 1"),
    Field("children", 2, "child NICs: the contributors after the leaders"),
    Field("window", 2, "segments that a contributor may have unanswered"),
    Field("parent_index", 2, "contributor index of this NIC at its parent"),
    Field("flags", 1, "bit 0: this NIC is the root of the tree"),
    Field("parent_tags", 1, "VLAN tags of packets to the parent: 0, 1 or 2"),
    Field("parent_mac", 6, "MAC address of the parent NIC"),
    Field("parent_ip", 4, "IPv4 address of the parent NIC"),
    Field("parent_port", 2, "collective UDP port of the parent NIC"),
    Field("parent_outer", 4, "outer VLAN tag to the parent (protocol, control)"),
    Field("parent_inner", 4, "inner VLAN tag to the parent, with two tags"),
    Field("parent_total", 2, "contributors of the parent NIC; 0 at the root"),
    Field("abort_ticks", 4, "how long a segment may wait for contributors here; 0: as long as the register says"),
), frozenset({"parent_mac", "parent_ip", "parent_outer", "parent_inner"}))  # fmt: skip

#: the payload of the answer to a registration
TOTAL = Layout("total", "little", (Field("ranks", 4, "ranks of the whole communicator"),))

#: the payload of a result that failed: who is at fault, in contributor indices of the NIC that found it
FAULT = Layout("fault", "little", (
    Field("node", 4, "node of the NIC that found it"),
    Field("contributor", 2, "the first contributor at fault; 0xFFFF: the parent of that NIC"),
    Field("count", 2, "how many are at fault"),
    Field("missing", 16, "bit i: contributor i did not come"),
))  # fmt: skip
#: of the fault of one contribution only so many bytes are sent
FAULT_OF_ONE_BYTES = 8

#: bits of the collective header's ``flags``
FLAGS = data.StructLayout({"unused": 3, "error": 1, "repeat": 1, "direction": 1, "version": 2})
#: bits of the record's ``flags``
RECORD_FLAGS = data.StructLayout({"root": 1, "unused": 7})

VERSION = 1
MAX_VLAN_TAGS = 2
TAG_PROTOCOLS = (0x8100, 0x88A8, 0x9100)
ETHERTYPE_IPV4 = 0x0800
IP_PROTOCOL_UDP = 17

#: bytes of all headers of an untagged packet without IP options
HEADER_BYTES = ETHERNET.bytes + IPV4.bytes + UDP.bytes + COLLECTIVE.bytes
assert HEADER_BYTES == 64
