"""Visits every reachable state of a few parts that send each other packets, breadth first.

The network between two parts is the set of all packets that were ever sent there: each may come at any later moment,
in any order, any number of times, or never. So loss, duplication and reordering have no bound. A part's step depends on
its own state and on one packet alone, so each is worked out once; a state of the whole is the numbers of its parts'.
"""

import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

__all__ = ["Explorer", "Link", "Result"]

_BITS = 20
_MASK = (1 << _BITS) - 1


class Link(NamedTuple):
    """Packets from part ``sender``, ``sent(state)`` gives all, to part ``receiver``, which ``takes(state, packet)``."""

    sender: int
    receiver: int
    sent: Callable
    takes: Callable


class Result(NamedTuple):
    """What was found: how many states and steps, ``wrong`` and the steps that led there (None: nothing is wrong)."""

    states: int
    steps: int
    seconds: float
    complete: bool
    wrong: str | None
    trace: tuple[str, ...]

    def __str__(self) -> str:
        head = f"{self.states} states, {self.steps} steps, {self.seconds:.1f} s" + ", cut short" * (not self.complete)
        lines = [f"  {number:2}. {step}" for number, step in enumerate(self.trace, 1)]
        return "\n".join([head, *([f"wrong: {self.wrong}"] if self.wrong else ["nothing is wrong"]), *lines])


class Explorer:
    """The whole: ``parts`` have start(), local(state), done(state), wrong(state).

    ``watch`` says of a whole state what is wrong with it, or None.
    """

    def __init__(self, parts: list, links: list[Link], *, watch: Callable | None = None):
        self.parts, self.links, self._watch = parts, links, watch
        self._numbers: list[dict] = [{} for _ in parts]
        self.states: list[list] = [[] for _ in parts]
        self._local: list[dict] = [{} for _ in parts]
        self._sent: list[list] = [[] for _ in links]
        self._packets: list[dict] = [{} for _ in links]
        self._received: list[dict] = [{} for _ in links]

    # -------------------------------------------------------------------------------------------------- parts by number

    def number(self, part: int, state) -> int:
        numbers = self._numbers[part]
        found = numbers.get(state)
        if found is None:
            found = numbers[state] = len(numbers)
            assert found <= _MASK
            self.states[part].append(state)
            for index, link in enumerate(self.links):
                if link.sender == part:
                    packets = link.sent(state)
                    self._sent[index].append(self._packets[index].setdefault(packets, len(self._packets[index])))
        return found

    def _steps(self, part: int, before, steps: Iterable) -> list[tuple]:
        """As (number after, kind, what, wrong); a step that changes nothing is none."""
        found = []
        for step in steps:
            if step.after != before or step.wrong:
                wrong = step.wrong or self.parts[part].wrong(step.after)
                found.append((self.number(part, step.after), step.kind, step.what, wrong))
        return found

    def _local_steps(self, part: int, number: int) -> list[tuple]:
        known = self._local[part].get(number)
        if known is None:
            state = self.states[part][number]
            known = self._local[part][number] = self._steps(part, state, self.parts[part].local(state))
        return known

    def _received_steps(self, index: int, sender: int, receiver: int) -> list[tuple]:
        link = self.links[index]
        sent = self._sent[index][sender]
        key = receiver << _BITS | sent
        known = self._received[index].get(key)
        if known is None:
            state = self.states[link.receiver][receiver]
            packets = sorted(link.sent(self.states[link.sender][sender]), key=str)
            steps = [step for packet in packets for step in link.takes(state, packet)]
            known = self._received[index][key] = self._steps(link.receiver, state, steps)
        return known

    # ----------------------------------------------------------------------------------------------------------- search

    def successors(self, whole: tuple[int, ...]):
        """All steps from a state: (part, number after, kind, what, wrong)."""
        for part, number in enumerate(whole):
            for step in self._local_steps(part, number):
                yield part, step
        for index, (sender, receiver, *_) in enumerate(self.links):
            for step in self._received_steps(index, whole[sender], whole[receiver]):
                yield receiver, step

    def explore(
        self, *, limit: int = 10_000_000, progress: Callable = lambda *_: None, keep_steps: bool = False
    ) -> Result:
        """All states, or up to the first that is wrong, or to ``limit`` of them."""
        begun = time.monotonic()
        start = tuple(self.number(part, model.start()) for part, model in enumerate(self.parts))
        self.index = index = {start: 0}
        self.order = order = [start]
        cause = [0]
        self.kept: list[tuple[int, int, str]] = []
        steps = at = 0

        def result(complete: bool, wrong: str | None = None, trace: tuple[str, ...] = ()) -> Result:
            return Result(len(order), steps, time.monotonic() - begun, complete, wrong, trace)

        while at < len(order):
            if len(order) > limit:
                return result(False)
            whole = order[at]
            for part, (number, kind, what, wrong) in self.successors(whole):
                steps += 1
                after = (*whole[:part], number, *whole[part + 1 :])
                found = index.get(after)
                if found is None:
                    found = index[after] = len(order)
                    order.append(after)
                    cause.append(at)
                    if self._watch is not None and wrong is None:
                        wrong = self._watch(
                            *(states[number] for states, number in zip(self.states, after, strict=True))
                        )
                if keep_steps:
                    self.kept.append((at, found, kind))
                if wrong is not None:
                    return result(False, wrong, (*self._trace(order, cause, at), what))
            at += 1
            if not at % 100_000:
                progress(at, len(order), time.monotonic() - begun)
        return result(True)

    def _trace(self, order: list, cause: list, at: int) -> tuple[str, ...]:
        """What the steps to ``order[at]`` are."""
        path = [order[at]]
        while at:
            at = cause[at]
            path.append(order[at])
        path.reverse()
        found = []
        for whole, after in pairwise(path):
            for part, (number, _kind, what, _wrong) in self.successors(whole):
                reached = (*whole[:part], number, *whole[part + 1 :])
                if reached == after:
                    found.append(what)
                    break
        return tuple(found)

    def stuck(self, kinds: frozenset[str], done: Callable) -> int:
        """Of all states, how many have no way to one that is ``done`` by steps of these kinds alone."""
        kept = [(before, after) for before, after, kind in self.kept if kind in kinds]
        before, after = (np.array(side, dtype=np.int32) for side in zip(*kept, strict=True))
        wholes = ([states[number] for states, number in zip(self.states, whole, strict=True)] for whole in self.order)
        reach = np.array([done(*whole) for whole in wholes])
        while True:
            more = reach.copy()
            more[before[reach[after]]] = True
            if (more == reach).all():
                return int((~reach).sum())
            reach = more
