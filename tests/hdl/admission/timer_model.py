"""The rules of the timers in plain Python, a cycle at a time: what must be offered when, with which tolerance.

The model knows the rules and when a commit counts, but not in which order slots are looked at: of every packet that is
offered it says whether it is right and not early, and of every slot that is due how long it has been.
"""

from dataclasses import dataclass, field, replace

from fanfold.codes import Origin
from fanfold.config import Config
from fanfold.wire import FAULT

__all__ = ["Packet", "Record", "TimerModel"]

#: cycles until a commit, or a context that comes or goes, counts
DELAY = 2
LONGEST = 0xFFFF0000


@dataclass(frozen=True)
class Record:
    """What a commit says of a slot."""

    turn: int = 0
    begun: int = 0
    waiting: int = 0
    missing: int = 0
    present: int = 0


@dataclass(frozen=True)
class Packet:
    """What is to be read off a packet's first beat, and all its payload."""

    origin: Origin
    context: int
    turn: int
    source: int
    fault: bytes


@dataclass
class Slot:
    kind: str = "idle"
    start: int = 0
    attempts: int = 0
    record: Record = Record()
    #: cycles for which it is timed
    age: int = 0
    #: cycles for which it is due and nobody else's packet is offered, and how many are excused
    waited: int = 0
    excused: int = 0


@dataclass
class Context:
    open: bool = False
    node: int = 0
    total: int = 0
    patience: int = 0


@dataclass
class Event:
    """What comes in during a cycle."""

    commit: tuple[int, Record] | None = None  # slot
    describe: tuple[int, int, int, int] | None = None  # context, node, total, abort ticks
    forget: int = 0


@dataclass
class TimerModel:
    config: Config
    timing: dict
    #: cycles from a tick to the packet, and those that any other packet may take from it
    latency: int = 0
    packet_cycles: int = 0
    slots: dict = field(default_factory=dict)
    contexts: list = field(default_factory=list)
    past: list = field(default_factory=lambda: [Event()] * DELAY)
    #: the slot whose packet is under way, what it is, and whether the slot was changed since
    sender: tuple[int, Packet] | None = None
    sent: bool = False
    outdated: bool = False
    #: packets of each origin
    counts: dict = field(default_factory=dict)

    def __post_init__(self):
        self.slots = {slot: Slot() for slot in range(self.config.fold_slots)}
        self.contexts = [Context() for _ in range(self.config.contexts)]

    def context_of(self, slot: int) -> int:
        return slot // self.config.window

    def interval(self, number: int) -> int:
        """Ticks that a slot may wait; 0 is for ever."""
        slot, patience = self.slots[number], self.contexts[self.context_of(number)].patience
        if slot.kind == "idle":
            return 0
        if slot.kind == "folding":
            return patience
        return self.timing["retry_ticks"] or min(2 * patience, LONGEST)

    def is_due(self, number: int, now: int) -> bool:
        interval = self.interval(number)
        return interval != 0 and (now - self.slots[number].start) % 2**32 >= interval

    def packet(self, number: int) -> Packet:
        """What a slot that is due must say."""
        slot, context = self.slots[number], self.contexts[self.context_of(number)]
        record, fault = slot.record, b""
        if slot.kind == "folding":
            origin = Origin.OVERDUE
            absent = [index for index in range(context.total) if not record.present >> index & 1]
            bitmap = sum(1 << index for index in absent)
            fault = FAULT.pack(node=context.node, contributor=absent[0], count=record.missing, missing=bitmap)
        elif self.timing["retry_ticks"] and slot.attempts < self.timing["retry_limit"]:
            origin = Origin.REPEATED
        else:
            origin = Origin.GIVEN_UP
            fault = FAULT.pack(node=context.node, contributor=0xFFFF, count=1)
        return Packet(origin, self.context_of(number), record.turn, record.missing, fault)

    def cycle(self, now: int, event: Event, offered: Packet | None, taken: Packet | None) -> None:
        """One cycle: what came in, and the packet that is offered, with the payload of this beat; in the cycle in which
        its last beat goes, the whole of it is ``taken``."""
        last = self.past[-1]
        starts = self._apply(self.past.pop(0), now)
        self.past.append(event)
        if self.sender is None and offered is not None:
            self._offer(now, offered)
        if self.sender is not None:
            number = self.sender[0]
            self.outdated |= last.commit is not None and last.commit[0] == number
            if self.sent and (self.outdated or not starts):
                if not self.outdated:
                    self._note(number, now)
                self.sender = None
            if taken is not None:
                assert taken == self.sender[1], f"{taken} instead of {self.sender[1]}"
                self.sent = True
        self._wait(now, offered is not None)

    def _apply(self, event: Event, now: int) -> bool:
        """A commit, then contexts that end, then one that opens; whether a slot's time starts."""
        starts = False
        if event.commit is not None:
            number, record = event.commit
            context, slot = self.contexts[self.context_of(number)], self.slots[number]
            kind = "idle"
            if context.open and record.waiting and (self.timing["retry_ticks"] or context.patience):
                kind = "waiting"
            elif context.open and record.begun and not record.waiting and context.patience:
                kind = "folding"
            starts = kind not in ("idle", slot.kind)
            if self.is_due(number, now):
                self._excuse(1)
            if starts:
                slot.start, slot.attempts = now, 0
            slot.kind, slot.record, slot.waited, slot.excused = kind, record, 0, 0
            slot.age = slot.age if kind != "idle" else 0
        ended = [context for context in range(self.config.contexts) if event.forget >> context & 1]
        if event.describe is not None:
            ended.append(event.describe[0])
        for context in ended:
            self._excuse(2 * self.config.window)
            self.contexts[context].open = False
            for offset in range(self.config.window):
                self.slots[context * self.config.window + offset] = Slot()
            if self.sender is not None and self.context_of(self.sender[0]) == context:
                self.outdated = True
        if event.describe is not None:
            context, node, total, abort = event.describe
            self.contexts[context] = Context(True, node, total, abort or self.timing["abort_ticks"])
        return starts

    def _offer(self, now: int, offered: Packet) -> None:
        number = offered.context * self.config.window + offered.turn % self.config.window
        assert self.slots[number].kind != "idle", f"{offered} of a slot that is idle"
        assert self.is_due(number, now), f"{offered} is early: {self.slots[number]}, now {now}"
        expected = self.packet(number)
        begins = replace(expected, fault=expected.fault[: len(offered.fault)])
        assert offered == begins, f"{offered} instead of {expected}"
        self._excuse(1)
        self.sender, self.sent, self.outdated = (number, expected), False, False
        self.counts[expected.origin] = self.counts.get(expected.origin, 0) + 1

    def _note(self, number: int, now: int) -> None:
        """The packet is gone: when is the slot due again?"""
        slot, interval = self.slots[number], self.interval(number)
        if slot.kind != "idle":
            repeated = self.sender[1].origin is Origin.REPEATED
            slot.start = now if repeated else (now - interval + 1) % 2**32
            slot.attempts += repeated
            slot.waited = slot.excused = 0

    def _excuse(self, packets: int) -> None:
        for slot in self.slots.values():
            slot.excused += packets * self.packet_cycles

    def _wait(self, now: int, offers: bool) -> None:
        for number, slot in self.slots.items():
            slot.age += slot.kind != "idle"
            if self.sender is not None and number == self.sender[0]:
                continue
            if not self.is_due(number, now):
                slot.waited = slot.excused = 0
                continue
            slot.waited += not offers
            allowed = self.latency + slot.excused
            assert slot.waited <= allowed, (
                f"slot {number} is due for {slot.waited} cycles, {allowed} are allowed: {slot}"
            )

    def timed_for(self) -> int:
        """The cycles for which a slot waits for time by now; 0: none does."""
        return max(slot.age for slot in self.slots.values())
