"""The NICs around the one that is modelled in full: its children, and its parent.

A child here is a NIC with one leader that is never slow to take a result; a parent is a root with one more contributor,
which may come or not. Both keep to the rules; what passes between them and their leaders at once is left out.
"""

from typing import NamedTuple

from slot_rules import EXPIRED, FAILED, OK, PEER_GONE, TIMED_OUT, Down, Size, Step, Up, put, say

__all__ = ["Child", "ChildState", "Parent", "ParentState"]


class ChildState(NamedTuple):
    """By slot: turn; repeats made (None: not waiting), whether it failed, what is stored to be sent.

    ``leaving``: (tag, repeat, failed) of what has not left. ``up``: all that was ever sent. ``ends`` by segment, when
    they are kept.
    """

    turn: tuple[int, ...]
    waiting: tuple[int | None, ...]
    failed: tuple[bool, ...]
    store: tuple
    leaving: tuple[tuple[int, bool, bool], ...]
    up: frozenset[Up]
    ends: tuple[str | None, ...]


class Child:
    """A contributor on the network, with its retry rule."""

    def __init__(self, size: Size, name: str):
        self.size, self.name = size, name

    def start(self) -> ChildState:
        size, slots = self.size, self.size.window
        return ChildState(
            turn=size.first_turns(),
            waiting=(None,) * slots,
            failed=(False,) * slots,
            store=(None,) * slots,
            leaving=(),
            up=frozenset(),
            ends=(None,) * size.segments * size.history,
        )

    def done(self, s: ChildState) -> bool:
        return all(not self.size.runs(turn) for turn in s.turn) and not s.leaving

    def wrong(self, s: ChildState) -> None:
        return None

    def local(self, s: ChildState) -> list[Step]:
        return [*(self._settled(step) for step in self._slots(s)), *self._leave(s)]

    def _settled(self, step: Step) -> Step:
        """With what leaves at once, where children never stall."""
        while step.after.leaving and "child" not in self.size.stalls:
            step = step._replace(after=next(self._leave(step.after)).after)
        return step

    def _slots(self, s: ChildState):
        size = self.size
        for slot, turn in enumerate(s.turn):
            if not size.runs(turn):
                continue
            repeats = s.waiting[slot]
            if repeats is None:
                for failed in (False, True)[: 1 + size.failing]:
                    after = s._replace(
                        waiting=put(s.waiting, slot, 0),
                        failed=put(s.failed, slot, failed),
                        store=put(s.store, slot, size.segment(turn)),
                        leaving=(*s.leaving, (turn, False, failed)),
                    )
                    yield Step(f"{self.name}: is complete for {size.segment(turn)}{', failed' * failed}", "host", after)
                continue
            under_way = any(tag == turn for tag, *_ in s.leaving)
            if repeats < size.repeats:
                if not under_way:
                    after = s._replace(
                        waiting=put(s.waiting, slot, repeats + 1),
                        leaving=(*s.leaving, (turn, True, s.failed[slot])),
                    )
                    yield Step(f"{self.name}: repeats {size.segment(turn)}", "timer", after)
            elif not (size.rules.give_up_waits and under_way):
                yield Step(f"{self.name}: gives up {self.size.segment(turn)}", "timer", self._end(s, slot, PEER_GONE))

    def _leave(self, s: ChildState):
        if s.leaving:
            tag, repeat, failed = s.leaving[0]
            packet = Up(tag, repeat, failed, s.store[tag % self.size.window])
            what = f"{self.name}: leaves {say(packet, self.size)}"
            first = packet._replace(repeat=False)
            up = s.up - {first} | {packet}  # a repeat does all that the first packet can
            yield Step(what, "send", s._replace(leaving=s.leaving[1:], up=up))

    def packet_down(self, s: ChildState, packet: Down) -> list[Step]:
        size = self.size
        slot = packet.tag % size.window
        if packet.tag != s.turn[slot] or not size.runs(packet.tag):
            return []
        if s.waiting[slot] is None and packet.status == OK:
            return []
        wrong = None
        if packet.content != size.segment(packet.tag):
            wrong = "a child takes a result with the payload of another segment"
        return [
            Step(f"{self.name}: comes {say(packet, self.size)}", "packet", self._end(s, slot, packet.status), wrong)
        ]

    def _end(self, s: ChildState, slot: int, status: str) -> ChildState:
        size = self.size
        return s._replace(
            turn=put(s.turn, slot, size.plus(s.turn[slot])),
            waiting=put(s.waiting, slot, None),
            failed=put(s.failed, slot, False),
            ends=put(s.ends, size.segment(s.turn[slot]), status) if size.history else s.ends,
        )


class ParentState(NamedTuple):
    """By slot: turn; whether the child is in ("": not, else OK or FAILED), last status.

    ``down``: all that was ever sent.
    """

    turn: tuple[int, ...]
    inside: tuple[str, ...]
    last: tuple[str | None, ...]
    down: frozenset[Down]


class Parent:
    """The root above a middle NIC."""

    def __init__(self, size: Size):
        self.size = size

    def start(self) -> ParentState:
        slots = self.size.window
        return ParentState(self.size.first_turns(), ("",) * slots, (None,) * slots, frozenset())

    def done(self, s: ParentState) -> bool:
        return all(not self.size.runs(turn) for turn in s.turn)

    def wrong(self, s: ParentState) -> None:
        return None

    def local(self, s: ParentState) -> list[Step]:
        """The other contributor comes when this one is in; or the segment is aborted."""
        steps = []
        for slot, turn in enumerate(s.turn):
            if self.size.runs(turn):
                for status in {s.inside[slot] or TIMED_OUT, TIMED_OUT}:
                    after = s._replace(
                        turn=put(s.turn, slot, self.size.plus(turn)),
                        inside=put(s.inside, slot, ""),
                        last=put(s.last, slot, status),
                        down=s.down | {Down(turn, status, self.size.segment(turn))},
                    )
                    steps.append(Step(f"parent: {self.size.segment(turn)} ends with {status}", "timer", after))
        return steps

    def packet_up(self, s: ParentState, packet: Up) -> list[Step]:
        size = self.size
        slot = packet.tag % size.window
        turn = s.turn[slot]
        what = f"parent: comes {say(packet, self.size)}"
        if packet.tag == turn and not s.inside[slot]:
            wrong = None
            if packet.content != size.segment(turn):
                wrong = "the parent takes a contribution with the payload of another segment"
            after = s._replace(inside=put(s.inside, slot, FAILED if packet.failed else OK))
            return [Step(f"{what}: enters", "packet", after, wrong)]
        if not size.before(packet.tag, turn):
            return []
        last = s.last[slot] if packet.tag == size.plus(turn, -1) else None
        if not (packet.repeat or last not in (None, OK)):
            return []
        answer = Down(packet.tag, last or EXPIRED, size.segment(packet.tag))
        return [Step(f"{what}: answered {say(answer, self.size)}", "packet", s._replace(down=s.down | {answer}))]
