"""The internet checksum (RFC 1071), and what UDP's covers (RFC 768)."""

from struct import Struct

from fanfold.wire import IP_PROTOCOL_UDP

__all__ = ["internet_checksum", "ones_sum", "udp_sum"]

#: what a UDP checksum covers beside the datagram (RFC 768): addresses, protocol, length
_PSEUDO_HEADER = Struct(">IIHH")


def ones_sum(raw: bytes) -> int:
    """One's complement sum of ``raw`` as 16-bit words, padded with a zero byte.

    The remainder modulo 0xFFFF is that sum, but for 0xFFFF, which reads 0.
    """
    value = int.from_bytes(raw, "big") << (8 * (len(raw) % 2))
    return value % 0xFFFF or (0xFFFF if value else 0)


def internet_checksum(raw: bytes) -> int:
    """The checksum of RFC 1071 over ``raw``; 0 for bytes that already hold their correct checksum."""
    return 0xFFFF ^ ones_sum(raw)


def udp_sum(source_ip: int, destination_ip: int, datagram: bytes) -> int:
    return ones_sum(_PSEUDO_HEADER.pack(source_ip, destination_ip, IP_PROTOCOL_UDP, len(datagram)) + datagram)
