"""Regular frames of every kind that links carry, byte by byte, some of which look like a NIC's own for a while."""

import random

from fanfold.config import Config

from ..frames import Address, Packet, build

__all__ = ["ordinary"]

_MACS = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02"
_HOSTS = Address(mac=0x020000000002, ip=0x0A630001, port=53), Address(mac=0x020000000001, ip=0x0A630002, port=1024)


def ordinary(choices: random.Random, config: Config) -> bytes:
    """A frame drawn from ``choices``: regular, whatever is open, or of a communicator that never is."""
    return choices.choices(_KINDS, _WEIGHTS)[0](choices, config)


def _length(choices: random.Random, config: Config) -> int:
    width = config.beat_bytes
    return choices.choice(
        (0, 1, 45, 46, width - 1, width, width + 1, choices.randrange(4 * width), choices.randrange(600))
    )


def _random(choices, config) -> bytes:
    """Not even a MAC header, perhaps."""
    return choices.randbytes(max(1, _length(choices, config)))


def _other(choices, config) -> bytes:
    """ARP, IPv6, MPLS, PPPoE, three tags, a length in place of the EtherType."""
    kind = choices.choice(
        (b"\x08\x06", b"\x86\xdd", b"\x88\x47", b"\x88\x64", b"\x81\0\0\x01" * 3 + b"\x08\0", b"\0\x2e")
    )
    return _MACS + kind + choices.randbytes(_length(choices, config))


def _ip(choices, config) -> bytes:
    """IPv4 with another protocol or fragments, UDP to another port or with something else inside."""
    packet = Packet(
        sender=_HOSTS[0],
        receiver=_HOSTS[1],
        payload=choices.randbytes(_length(choices, config)),
        tags=choices.choice(((), ((0x8100, 7),), ((0x88A8, 7), (0x8100, 9)))),
        fragment=choices.choice((0, 0x4000, 0x2000, 0x0007)),
        udp_checksum=choices.choice((None, "correct", 0xFFFF)),
        ip_options=choices.randbytes(4 * choices.choice((0, 0, 1, 10))),
    )
    return build(packet)


def _almost(choices, config) -> bytes:
    """To the collective port, but of a communicator that nobody has opened."""
    receiver = Address(mac=_HOSTS[1].mac, ip=_HOSTS[1].ip, port=config.udp_port)
    payload = choices.randbytes(_length(choices, config))
    return build(Packet(sender=_HOSTS[0], receiver=receiver, coll_tag_high32=choices.getrandbits(32), payload=payload))


def _jumbo(choices, config) -> bytes:
    longest = config.frame_bytes
    return _MACS + b"\x08\x06" + choices.randbytes(choices.choice((longest, choices.randrange(1500, longest))) - 14)


_KINDS = (_random, _other, _ip, _almost, _jumbo)
_WEIGHTS = (30, 30, 30, 20, 1)
