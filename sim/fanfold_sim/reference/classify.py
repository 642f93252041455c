"""Tagged or regular (docs/protocol.md, section 1): what a port decides about a frame from its bytes alone."""

from collections.abc import Callable
from dataclasses import dataclass

from fanfold.codes import Collective
from fanfold.wire import HEADER_BYTES

from ..frames import Packet, inspect

__all__ = ["Classified", "classify"]


@dataclass(frozen=True, slots=True)
class Classified:
    """A frame and what it is: ``packet`` is there when it is tagged, otherwise ``reason`` says why it is regular.

    ``unmatched`` regular frames have a collective header, but no open context. ``header_bytes`` is how much of the
    frame had to be seen for the verdict.
    """

    packet: Packet | None
    reason: str
    header_bytes: int
    unmatched: bool = False


def classify(
    frame: bytes, udp_port: int, is_open: Callable[[int, int], bool], *, queue: int = 0, bad: bool = False
) -> Classified:
    """What ``frame`` is, to a NIC whose open communicators are those for which ``is_open(comm_id, key)`` holds.

    A tagged frame that carries the bad-frame mark is damaged.
    """
    packet, reason = inspect(frame, udp_port, queue=queue)
    if packet is None:
        return Classified(None, reason, min(len(frame), HEADER_BYTES))
    header_bytes = HEADER_BYTES + 4 * len(packet.tags or ()) + len(packet.ip_options)
    if packet.collective is not Collective.REGISTER and not is_open(packet.comm_id, packet.coll_tag_high32):
        return Classified(None, f"communicator {packet.comm_id} is not open with this key", header_bytes, True)
    if bad and not packet.damage:
        packet.damage = "marked bad"
    return Classified(packet, "", header_bytes)
