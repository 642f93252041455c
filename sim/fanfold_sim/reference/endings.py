"""How a segment ends (docs/protocol.md, sections 3 and 7): complete, by its time, by its parent, and what is sent then.

``slots`` calls it for packets, ``core`` for what is due.
"""

from fanfold.codes import Collective, DataType, Operator, Status
from fanfold.config import Config

from ..records import PARENT, absence
from .arithmetic import fold_tree
from .contexts import Entry, Segment, Slot
from .deadlines import Deadlines
from .outgoing import Outgoing, down_to_all, up_to_parent

__all__ = ["Endings"]


class Endings:
    """The last steps of a segment. ``folded`` and ``failed`` count segments in which all contributors were, all and
    those with a status."""

    def __init__(self, config: Config, deadlines: Deadlines):
        self._config = config
        self._deadlines = deadlines
        self.folded = 0
        self.failed = 0

    def complete(self, entry: Entry, slot: Slot) -> list[Outgoing]:
        """Everyone is in."""
        self.folded += 1
        payload = slot.fault
        if slot.status is not Status.OK:
            self.failed += 1
        elif slot.length:
            assert isinstance(slot.opt_code, Operator) and isinstance(slot.data_type, DataType)
            parts = [slot.parts.get(index) for index in range(self._config.leaves)]
            payload = fold_tree(slot.opt_code, slot.data_type, parts, len(parts))
        return self._leave(entry, slot, slot.segment(slot.status, payload))

    def result(self, entry: Entry, slot: Slot, segment: Segment) -> list[Outgoing]:
        """The segment is over with ``segment``: the next one may begin, and everybody hears of it. After a
        deregistration's the entry is over as well."""
        turn = slot.turn
        self._deadlines.clear(entry, slot)
        slot.move_on(self._config.window, segment)
        closes = segment.collective is Collective.DEREGISTER and segment.status is Status.OK
        return down_to_all(entry, turn, segment, closes=closes)

    def _leave(self, entry: Entry, slot: Slot, segment: Segment) -> list[Outgoing]:
        """A segment ended here: it is the result at the root, and a part of one anywhere else."""
        if entry.root:
            return self.result(entry, slot, segment)
        slot.waiting = True
        slot.asked = segment
        self._deadlines.set(entry, slot, self._deadlines.silence(entry))
        return up_to_parent(entry, slot.turn, segment)

    # ---------------------------------------------------------------------------------------------------- what is due

    def due(self, entry: Entry, slot: Slot) -> tuple[str, list[Outgoing]]:
        """The time of ``slot`` is up: the name of the event, or none if it is put off by a tick; and what is sent."""
        if not slot.waiting:
            return self._abort(entry, slot)
        if self._deadlines.may_repeat(slot.repeats):
            return self._repeat(entry, slot)
        return self._give_up(entry, slot)

    def _abort(self, entry: Entry, slot: Slot) -> tuple[str, list[Outgoing]]:
        if entry.under_way:
            return self._put_off(entry, slot)
        if slot.status is Status.OK:
            missing = set(range(entry.total)) - slot.parts.keys()
            slot.status, slot.fault = Status.TIMED_OUT, absence(self._node(entry), missing)
        return "aborted", self._leave(entry, slot, slot.segment(slot.status, slot.fault))

    def _repeat(self, entry: Entry, slot: Slot) -> tuple[str, list[Outgoing]]:
        if entry.under_way.singles:
            return self._put_off(entry, slot)
        assert slot.asked is not None, "a slot waits for what it asked"
        slot.repeats += 1
        self._deadlines.set(entry, slot, self._deadlines.silence(entry))
        return "repeats", up_to_parent(entry, slot.turn, slot.asked, repeat=True)

    def _give_up(self, entry: Entry, slot: Slot) -> tuple[str, list[Outgoing]]:
        if entry.under_way:
            return self._put_off(entry, slot)
        segment = slot.segment(Status.PEER_GONE, absence(self._node(entry), [PARENT]))
        return "given_up", self.result(entry, slot, segment)

    def _put_off(self, entry: Entry, slot: Slot) -> tuple[str, list[Outgoing]]:
        self._deadlines.set(entry, slot, 1)
        return "", []

    def _node(self, entry: Entry) -> int:
        assert entry.record is not None, "no leader has described the node"
        return entry.record.node
