"""A NIC without time: packets in, in the order of their acceptance; packets out, and counters."""

from fanfold.codes import Collective, Direction, Port, Status
from fanfold.config import Config
from fanfold.control.events import EVENTS, refused

from ..frames import Packet
from .classify import Classified, classify
from .contexts import Entry
from .outgoing import Outgoing
from .registry import Registry
from .slots import SlotRules

__all__ = ["Core"]

_REFUSED = {status: refused(status) for status in Status if status.value}
_PORT_NAMES = {Port.HOST: "host", Port.NET: "net"}


class Core:
    """The function of a NIC. For each frame call ``classify``; for each tagged one of them ``accept``, later, when its
    last beat enters; ``sent`` for each packet that left. ``local_mac`` is the address at which registrations are taken,
    0: any."""

    def __init__(self, config: Config):
        self._config = config
        self._registry = Registry(config)
        self._slots = SlotRules(config)
        self._counts = dict.fromkeys(EVENTS, 0)
        self.local_mac = 0

    def classify(self, port: Port, frame: bytes, *, queue: int = 0, bad: bool = False) -> Classified:
        """Decides what a frame is, and counts it."""
        queue = queue if port is Port.HOST else 0
        verdict = classify(
            frame, self._config.udp_port, self._registry.is_open, local_mac=self.local_mac, queue=queue, bad=bad
        )
        name = _PORT_NAMES[port]
        self._counts[f"{name}_tagged" if verdict.packet else f"{name}_regular"] += 1
        if verdict.unmatched:
            self._counts[f"{name}_unmatched"] += 1
        return verdict

    def accept(self, port: Port, packet: Packet) -> list[Outgoing]:
        """Takes a whole tagged packet; what the NIC sends because of it, in order."""
        if packet.damage:
            self._counts[f"{_PORT_NAMES[port]}_damaged"] += 1
            return []
        cause, packets, counts_as = self._decide(port, packet)
        if cause is not Status.OK:
            self._counts[_REFUSED[cause]] += 1
        elif counts_as:
            self._counts[counts_as] += 1
        return packets

    def _decide(self, port: Port, packet: Packet) -> tuple[Status, list[Outgoing], str]:
        """What becomes of a packet, and the name under which it counts if it is accepted."""
        upwards = packet.direction is Direction.UP
        if not upwards and port is Port.HOST:
            return Status.WRONG_SOURCE, [], ""
        if packet.collective is Collective.REGISTER:
            rules = self._registry
            return (*(rules.up(port, packet) if upwards else rules.down(packet)), "")
        entry = self._registry.entry(packet.comm_id)
        if upwards:
            return (*self._slots.up(entry, port, packet), "contributions")
        return (*self._slots.down(entry, packet), "results")

    def sent(self, outgoing: Outgoing) -> None:
        """Counts a packet that left at its port, and frees the entry that it is the last to close."""
        self._counts[f"{_PORT_NAMES[outgoing.port]}_copies"] += 1
        closing = outgoing.closing
        if closing is not None:
            closing.remaining -= 1
            if not closing.remaining:
                self._registry.free(closing.entry)

    def entry(self, comm_id: int) -> Entry:
        """The context table's entry for a communicator; for tests that look inside."""
        return self._registry.entry(comm_id)

    def counters(self) -> dict[str, int]:
        """Every counter by name."""
        return {
            **self._counts,
            "folded": self._slots.folded,
            "failed_segments": self._slots.failed,
            "opened": self._registry.opened,
            "closed": self._registry.closed,
        }
