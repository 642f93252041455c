"""What a simulation in which something was injected found: as JSON for programs, as text for people."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .faults import Impaired, Injection, described
from .host.verdict import Verdict
from .nic import Timing

__all__ = ["FaultReport"]

#: reasons that the text shows one by one; the JSON has all
_MOST_REASONS = 12
#: counters that tell of faults, summed over the NICs, where a NIC has them
_TOLD = ("repeats", "given_up", "aborted", "answered", "unanswered")


@dataclass(frozen=True, kw_only=True)
class FaultReport:
    """What was injected, what it did to frames, and how the collectives ended.

    Results are counted by leader and segment, those of leaders that died not.
    """

    injection: Injection
    timing: Timing | None
    tick_ns: float
    collectives: int
    verdict: Verdict
    up: Impaired
    down: Impaired
    #: summed over the NICs
    counters: Mapping[str, int]
    #: repeats by leaders, and packets that came to a host that waited for none
    leader_repeats: int
    strays: int
    #: "node 0 leader 1" of those that died
    dead: tuple[str, ...] = ()
    #: why the deregistration failed, or nothing
    left_open: str = ""

    @classmethod
    def of(cls, cluster, tick_ns: float, verdicts: Iterable[Verdict], left_open: str) -> "FaultReport":
        """From what ran on a ``Cluster`` with an injection."""
        verdicts = list(verdicts)
        leaders = [(node, leader) for node in cluster.nodes for leader in node.leaders]
        counters: Counter[str] = Counter()
        for node in cluster.nodes:
            counters.update(node.nic.nic.counters())
        return cls(
            injection=cluster.injection,
            timing=cluster.timing,
            tick_ns=tick_ns,
            collectives=len(verdicts),
            verdict=sum(verdicts, Verdict()),
            up=cluster.impairment.up,
            down=cluster.impairment.down,
            counters={name: counters[name] for name in _TOLD if name in counters},
            leader_repeats=sum(leader.repeats for _, leader in leaders),
            strays=sum(node.strays for node in cluster.nodes),
            dead=tuple(f"node {node.number} leader {leader.group.index}" for node, leader in leaders if leader.dead),
            left_open=left_open,
        )

    @property
    def summary(self) -> str:
        """The outcome in one line, when no result is wrong."""
        failed = self.verdict.failed.total()
        return f"no result is wrong: {self.verdict.right} right, {failed} failed"

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "injected": str(self.injection),
            "timing": None if self.timing is None else dict(vars(self.timing)),
            "tick_ns": self.tick_ns,
            "collectives": self.collectives,
            "right": self.verdict.right,
            "failed": dict(self.verdict.failed),
            "impaired": {"up": dict(vars(self.up)), "down": dict(vars(self.down))},
            "counters": dict(self.counters),
            "leader_repeats": self.leader_repeats,
            "strays": self.strays,
            "dead": list(self.dead),
            "left_open": self.left_open or None,
        }

    def rows(self) -> Iterator[tuple[str, str]]:
        """The text: labels (or nothing, where the one before goes on) and lines."""
        yield "injected", str(self.injection)
        waits = "NICs wait for ever" if self.timing is None else described(self.timing)
        yield "timers", f"{waits}; a tick is {self.tick_ns:g} ns"
        reasons = self.verdict.failed.most_common()
        for at, (reason, count) in enumerate(reasons[:_MOST_REASONS]):
            yield "" if at else "failed", f"{count:>7}  {reason}"
        if rest := reasons[_MOST_REASONS:]:
            yield "", f"{sum(count for _, count in rest):>7}  for {len(rest)} other reasons"
        if self.dead:
            yield "dead", ", ".join(self.dead)
        for direction, found in (("up", self.up), ("down", self.down)):
            yield (
                "frames" if direction == "up" else "",
                f"{found.frames} {direction}: {found.lost} lost, {found.duplicated} twice, "
                f"{found.held_back} held back, {found.corrupted} changed",
            )
        counted = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in self.counters.items())
        yield "NICs", f"{counted}; packets for nobody {self.strays}"
        if self.leader_repeats:
            yield "leaders", f"repeats {self.leader_repeats}"
        if self.left_open:
            yield "left", f"the deregistration failed: {self.left_open}; hosts free the context by register"
