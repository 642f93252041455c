"""What goes wrong in a simulation, as the user asks for it: ``loss=0.05,late=0.1:5000,dead-node=3:10,seed=7``."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["KINDS", "Injection", "Rates"]

#: what can be injected, with its form and its meaning, for ``--help`` and messages
KINDS = {
    "loss": ("loss=PART", "of the frames between NICs that are lost"),
    "duplicate": ("duplicate=PART", "that come twice"),
    "reorder": ("reorder=PART", "that are held back"),
    "corrupt": ("corrupt=PART", "in which a byte is wrong"),
    "reorder-cycles": ("reorder-cycles=N", "for how many NIC cycles at most"),
    "late": ("late=NODE.LEADER:CYCLES", "a leader that begins every collective late"),
    "dead": ("dead=NODE.LEADER:SEGMENTS", "a leader that says nothing more after so many segments"),
    "dead-node": ("dead-node=NODE:SEGMENTS", "a node that stands still after so many, with its NIC"),
    "full": ("full=NODE", "a NIC whose table entry another communicator holds"),
    "leaders-repeat": ("leaders-repeat=CYCLES", "leaders repeat what has no result for so long"),
    "seed": ("seed=N", "of the random numbers"),
}

#: kinds of impairment, each with a rate; ``-up`` and ``-down`` behind the name make it that of one direction
_RATES = ("loss", "duplicate", "reorder", "corrupt")
_MOST = 1_000_000_000

_Leader = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Parts (0 to 1) of the frames in one direction of the tree to which each kind of impairment happens."""

    loss: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    corrupt: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Injection:
    """What goes wrong. Leaders are (node, index); a segment counts over all collectives, registration not counted."""

    up: Rates = Rates()
    down: Rates = Rates()
    #: frames that are held back, and second copies, come up to so many cycles later
    reorder_cycles: int = 1000
    #: cycles by which leaders begin each collective later than the others
    late: Mapping[_Leader, int] = field(default_factory=dict)
    #: segments that leaders, and all leaders of nodes, contribute before they stop
    dead: Mapping[_Leader, int] = field(default_factory=dict)
    dead_nodes: Mapping[int, int] = field(default_factory=dict)
    #: nodes whose NIC has no room
    full: frozenset[int] = frozenset()
    #: cycles after which leaders repeat what has no result; 0: never
    leaders_repeat: int = 0
    seed: int = 0

    @classmethod
    def parse(cls, specs: Iterable[str]) -> "Injection":
        """From the texts of ``--inject``, the later ones first in force.

        Raises ``ValueError`` naming the part that is wrong and what is allowed.
        """
        rates: dict[str, dict[str, float]] = {"up": {}, "down": {}}
        single: dict[str, int] = {}
        late: dict[_Leader, int] = {}
        dead: dict[_Leader, int] = {}
        dead_nodes: dict[int, int] = {}
        full: set[int] = set()
        for part in (part.strip() for spec in specs for part in spec.split(",")):
            name, equals, value = part.partition("=")
            kind, _, direction = name.rpartition("-")
            if not equals:
                raise ValueError(f"{part or 'nothing'}: it must be NAME=VALUE; {_allowed()}")
            if name in _RATES:
                rates["up"][name] = rates["down"][name] = _rate(part, value)
            elif kind in _RATES and direction in rates:
                rates[direction][kind] = _rate(part, value)
            elif name in ("reorder-cycles", "leaders-repeat", "seed"):
                least = 1 if name == "reorder-cycles" else 0
                single[name.replace("-", "_")] = _number(part, value, KINDS[name][0], least)
            elif name in ("late", "dead"):
                who, count = _pair(part, value, KINDS[name][0], _leader)
                (late if name == "late" else dead)[who] = count
            elif name == "dead-node":
                node, count = _pair(part, value, KINDS[name][0], _number)
                dead_nodes[node] = count
            elif name == "full":
                full.add(_number(part, value, KINDS[name][0]))
            else:
                raise ValueError(f"{part}: {_allowed()}")
        return cls(
            up=Rates(**rates["up"]),
            down=Rates(**rates["down"]),
            late=late,
            dead=dead,
            dead_nodes=dead_nodes,
            full=frozenset(full),
            **single,
        )

    def check(self, nodes: int, leaders: int) -> None:
        """Raises ``ValueError`` for a node or a leader that is not there."""
        for name, found in (("late", self.late), ("dead", self.dead)):
            for node, leader in found:
                _exists(f"{name}={node}.{leader}", "nodes", node, nodes)
                _exists(f"{name}={node}.{leader}", "leaders of a node", leader, leaders)
        for name, those in (("dead-node", self.dead_nodes), ("full", self.full)):
            for node in those:
                _exists(f"{name}={node}", "nodes", node, nodes)

    def __str__(self):
        """In words, with all that was asked for."""
        words = []
        for kind in _RATES:
            up, down = getattr(self.up, kind), getattr(self.down, kind)
            if up or down:
                words.append(f"{kind} {up:g}" if up == down else f"{kind} {up:g} up, {down:g} down")
        if self.up.reorder or self.down.reorder or self.up.duplicate or self.down.duplicate:
            words.append(f"held back up to {self.reorder_cycles} cycles")
        words += [f"node {node} leader {leader} late by {n} cycles" for (node, leader), n in self.late.items()]
        words += [f"node {node} leader {leader} dead after {n} segments" for (node, leader), n in self.dead.items()]
        words += [f"node {node} dead after {n} segments" for node, n in self.dead_nodes.items()]
        words += [f"the NIC of node {node} full" for node in sorted(self.full)]
        if self.leaders_repeat:
            words.append(f"leaders repeat after {self.leaders_repeat} cycles")
        return ", ".join([*words, f"seed {self.seed}"])


def _allowed() -> str:
    return f"known are {', '.join(form for form, _ in KINDS.values())}"


def _rate(part: str, value: str) -> float:
    try:
        rate = float(value)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise ValueError(f"{part}: it must be a part of the frames, from 0 to 1")
    return rate


def _number(part: str, value: str, form: str, least: int = 0) -> int:
    if not (value.isascii() and value.isdecimal()) or not least <= int(value) <= _MOST:
        raise ValueError(f"{part}: it must be {form}, a whole number from {least} to {_MOST}")
    return int(value)


def _leader(part: str, value: str, form: str) -> _Leader:
    node, _, leader = value.partition(".")
    return _number(part, node, form), _number(part, leader, form)


def _pair(part: str, value: str, form: str, who: Callable[[str, str, str], Any]) -> tuple[Any, int]:
    name, _, count = value.partition(":")
    return who(part, name, form), _number(part, count, form)


def _exists(part: str, what: str, number: int, count: int) -> None:
    if number >= count:
        raise ValueError(f"{part}: {what} are 0 to {count - 1}")
