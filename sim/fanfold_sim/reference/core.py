"""A NIC without a clock: packets in, in the order of their acceptance; packets out, and counters."""

from fanfold.codes import Collective, Direction, Port, Status
from fanfold.config import Config
from fanfold.control.events import EVENTS, refused

from ..frames import Packet
from .classify import Classified, classify
from .contexts import Entry
from .deadlines import Deadlines
from .endings import Endings
from .outgoing import Decision, Outgoing
from .registry import Registry
from .slots import SlotRules

__all__ = ["Core"]

_REFUSED = {status: refused(status) for status in Status if status.value}
_PORT_NAMES = {Port.HOST: "host", Port.NET: "net"}


class Core:
    """The function of a NIC. For each frame call ``classify``; for each tagged one of them ``accept``, later, when its
    last beat enters; ``sent`` for each packet that left. ``local_mac`` is the address at which registrations are taken,
    0: any.

    Who has a clock sets ``deadlines.now`` before each of these calls and calls ``overdue`` at the ticks that
    ``deadlines.next`` names."""

    def __init__(self, config: Config):
        self._config = config
        self.deadlines = Deadlines(config.contexts, config.window)
        self._registry = Registry(config, self.deadlines)
        self._endings = Endings(config, self.deadlines)
        self._slots = SlotRules(config, self.deadlines, self._endings)
        self._counts = dict.fromkeys(EVENTS, 0)
        self.local_mac = 0

    def classify(self, port: Port, frame: bytes, *, queue: int = 0, bad: bool = False) -> Classified:
        """Decides what a frame is, and counts it."""
        queue = queue if port is Port.HOST else 0
        verdict = classify(
            frame, self._config.udp_port, self._registry.hears, local_mac=self.local_mac, queue=queue, bad=bad
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
        decision = self._decide(port, packet)
        if decision.cause is not Status.OK:
            self._counts[_REFUSED[decision.cause]] += 1
        elif decision.counts_as:
            self._counts[decision.counts_as] += 1
        return list(decision.sends)

    def _decide(self, port: Port, packet: Packet) -> Decision:
        """What becomes of a packet."""
        upwards = packet.direction is Direction.UP
        if not upwards and port is Port.HOST:
            return Decision(Status.WRONG_SOURCE)
        if packet.collective is Collective.REGISTER:
            return self._registry.up(port, packet) if upwards else self._registry.down(packet)
        entry = self._registry.entry(packet.comm_id)
        return self._slots.up(entry, port, packet) if upwards else self._slots.down(entry, packet)

    def overdue(self) -> list[list[Outgoing]]:
        """Does all that is due now, once, in the order of contexts and slots; what the NIC sends, for each."""
        sends = []
        for context, number in self.deadlines.due():
            entry = self._registry.entry(context)
            slot = None if number is None else entry.slots[number]
            event, packets = self._registry.due(entry) if slot is None else self._endings.due(entry, slot)
            if event:
                self._counts[event] += 1
            if packets:
                sends.append(packets)
        return sends

    def sent(self, outgoing: Outgoing) -> None:
        """Counts a packet that left at its port, and ends the entry that it is the last to close."""
        self._counts[f"{_PORT_NAMES[outgoing.port]}_copies"] += 1
        delivery = outgoing.delivery
        if delivery is not None and delivery.left() and delivery.closes:
            self._registry.end(delivery.entry)

    def release(self, context: int) -> None:
        """The host frees an entry of the context table."""
        self._registry.release(context)

    @property
    def opened(self) -> int:
        """Contexts that became open."""
        return self._registry.opened

    def entry(self, comm_id: int) -> Entry:
        """The context table's entry for a communicator; for tests that look inside."""
        return self._registry.entry(comm_id)

    def counters(self) -> dict[str, int]:
        """Every counter by name."""
        return {
            **self._counts,
            "folded": self._endings.folded,
            "failed_segments": self._endings.failed,
            "opened": self.opened,
            "closed": self._registry.closed,
        }
