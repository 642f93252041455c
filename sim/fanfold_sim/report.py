"""What a simulation found: as JSON for programs, as text for people. Times are nanoseconds."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fanfold.config import Config

from .fault_report import FaultReport
from .host.parameters import HostParameters, NetworkParameters
from .network import Channel

__all__ = ["Regular", "Report"]

#: links that the text shows one by one; the JSON has all
_MOST_LINKS = 16


@dataclass(frozen=True)
class Regular:
    """Regular frames: how many went in, how many came out unchanged and in order, how many were left out.

    ``difference`` says what was wrong first, in words.
    """

    sent: int = 0
    identical: int = 0
    left_out: int = 0
    difference: str = ""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One run of ``fanfold simulate``."""

    collective: str
    operator: str | None
    data_type: str | None
    bytes: int
    segments: int
    machine: str
    nodes: int
    group_by: str
    leaders: int
    ranks: int
    simulator: str
    config: Config
    host: HostParameters
    network: NetworkParameters
    clock_ps: int
    #: nothing, or what is wrong with the result
    wrong: str
    latency_ps: int
    parts_ps: dict[str, int]
    regular: Regular
    links: list[Channel]
    counters: list[dict[str, int]]
    seed: int
    versions: dict[str, str]
    #: what was written, by kind
    files: dict[str, list[str]] = field(default_factory=dict)
    #: what was injected, and what came of it
    faults: FaultReport | None = None
    #: why the collective was done in software, or nothing
    fallback: str = ""
    #: collectives, one after another; latency and parts are those of the first
    times: int = 1

    @property
    def correct(self) -> bool:
        """Every core's result is bit-exact with the reference order; of injected runs, every one that succeeded."""
        return not self.wrong

    @property
    def passed(self) -> bool:
        """Correct, and all regular traffic came out as it went in."""
        return self.correct and self.regular.identical == self.regular.sent and not self.regular.difference

    @property
    def nic_cycles(self) -> int:
        """Clock cycles that the critical path spends in NICs, all that it passes together."""
        return round(self.parts_ps["nic"] / self.clock_ps)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready. Other programs rely on correct, latency_ns, parts_ns, nic_cycles, regular, seed, versions."""
        return {
            "correct": self.correct,
            "wrong": self.wrong or None,
            "latency_ns": self.latency_ps / 1000,
            "parts_ns": {name: time / 1000 for name, time in self.parts_ps.items()},
            "nic_cycles": self.nic_cycles,
            "regular": {
                "sent": self.regular.sent,
                "identical": self.regular.identical,
                "left_out": self.regular.left_out,
                "difference": self.regular.difference or None,
            },
            "seed": self.seed,
            "versions": self.versions,
            "collective": self.collective,
            "operator": self.operator,
            "type": self.data_type,
            "bytes": self.bytes,
            "segments": self.segments,
            "topology": self.machine,
            "nodes": self.nodes,
            "group_by": self.group_by,
            "leaders_per_node": self.leaders,
            "ranks": self.ranks,
            "simulator": self.simulator,
            "config": self.config.as_dict(),
            "host": dict(vars(self.host)),
            "network": dict(vars(self.network)),
            "links": {link.name: {"packets": link.traffic.packets, "bytes": link.traffic.bytes} for link in self.links},
            "counters": self.counters,
            "collectives": self.times,
            "fallback": self.fallback or None,
            "faults": None if self.faults is None else self.faults.as_dict(),
            "files": self.files,
        }

    def lines(self) -> Iterator[str]:
        """The report as text, a line at a time."""
        yield from self._what_ran()
        if self.fallback:
            yield _row("fallback", f"done in software, by regular frames: {self.fallback}")
        yield _row("result", self._result())
        if self.wrong:
            yield _row("", self.wrong)
        if self.faults is not None:
            for label, text in self.faults.rows():
                yield _row(label, text)
        if self.latency_ps:
            which = "of the first, " if self.times > 1 else ""
            yield _row("latency", f"{_ns(self.latency_ps)} ns {which}on the critical path, of which")
            for name, time in self.parts_ps.items():
                extra = f"  ({self.nic_cycles} cycles)" if name == "nic" else ""
                yield _row("", f"{name.replace('_', ' '):14}{_ns(time):>12} ns  {time / self.latency_ps:6.1%}{extra}")
        yield from self._traffic()
        for kind, paths in self.files.items():
            for at, path in enumerate(paths):
                yield _row("" if at else kind, path)

    def _result(self) -> str:
        if not self.correct:
            return "WRONG"
        if self.faults is not None and self.faults.verdict.failed:
            return self.faults.summary
        each = f" in each of {self.times} collectives" if self.times > 1 else ""
        return f"correct: all {self.ranks} cores have the reference's bits{each}"

    def _what_ran(self) -> Iterator[str]:
        what = self.collective
        if self.operator:
            what += f", {self.operator} of {self.data_type}, {_count(self.bytes, 'byte')} a core"
        often = f", {self.times} times" if self.times > 1 else ""
        yield _row("ran", f"{what}, {_count(self.segments, 'segment')}, seed {self.seed}{often}")
        yield _row("cluster", f"{_count(self.nodes, 'node')} of {self.machine}")
        yield _row("groups", f"by {self.group_by}: {_count(self.leaders, 'leader')} a node, {self.ranks} cores in all")
        config = self.config
        yield _row(
            "NICs",
            f"{self.simulator}, {config.beat_bytes}-byte beats at {1e6 / self.clock_ps:.1f} MHz, "
            f"{config.contributors} contributors, window {config.window}, {config.segment_bytes}-byte segments",
        )
        yield _row(
            "model",
            f"host profile {self.host.profile}, links of {self.network.link_gbps:g} Gb/s, "
            f"switch {self.network.switch_ns:g} ns",
        )

    def _traffic(self) -> Iterator[str]:
        regular = self.regular
        if regular.sent or regular.left_out:
            text = f"{regular.identical} of {_count(regular.sent, 'frame')} came out as they went in"
            if regular.left_out:
                text += f"; {regular.left_out} of the capture are collectives and were left out"
            yield _row("regular", text)
            if regular.difference:
                yield _row("", regular.difference)
        yield _row("links", "what collectives sent, from registration to deregistration")
        used = [link for link in self.links if link.traffic.packets]
        shown, rest = used[:_MOST_LINKS], used[_MOST_LINKS:]
        rows = [(link.name, link.traffic.packets, link.traffic.bytes) for link in shown]
        if rest:
            packets, bytes_ = (sum(getattr(link.traffic, what) for link in rest) for what in ("packets", "bytes"))
            rows.append((f"{_count(len(rest), 'other link')}", packets, bytes_))
        for name, packets, bytes_ in rows:
            yield _row("", f"{name:24}{packets:>10} packets{bytes_:>14} bytes")


def _row(label: str, text: str) -> str:
    return f"{label:10}{text}"


def _ns(picoseconds: int) -> str:
    return f"{picoseconds / 1000:.1f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
