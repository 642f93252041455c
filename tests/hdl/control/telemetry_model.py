"""What statistics and events must be: plain Python, and reports as a test makes them up."""

import random
from collections import defaultdict
from dataclasses import dataclass, field

from fanfold.codes import Origin, Port, Status

#: an opening counts for reports so many cycles later, and after
OPENING = 2
M32 = (1 << 32) - 1


def a_report(config, choices: random.Random, **chosen):
    """A report of anything, as a dictionary, with some members chosen."""
    slot = choices.randrange(config.fold_slots)
    made = {
        "context": slot // config.window,
        "contributor": choices.randrange(config.contributors),
        "slot": slot,
        "port": choices.choice(list(Port)),
        "down": choices.random() < 0.2,
        "status": choices.choice([Status.OK, Status.OK, *Status]),
        "bytes": choices.choice([0, 8, 128, 0xFFFF]),
        "repeat": choices.random() < 0.3,
        "answered": choices.random() < 0.1,
        "opens": 0,
        "closes": 0,
        "ends": choices.random() < 0.4,
        "outcome": choices.choice([Status.OK, Status.MISMATCH, Status.TIMED_OUT]),
        "origin": choices.choice([Origin.RECEIVED] * 4 + [Origin.OVERDUE, Origin.GIVEN_UP, Origin.REPEATED]),
    }
    return made | chosen


@dataclass
class Counts:
    """Counters by name; the greatest and the least of no spread are 0 and all ones."""

    words: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    spreads: list[int] = field(default_factory=list)
    causes: dict[int, int] = field(default_factory=lambda: defaultdict(int))


class StatisticsModel:
    """Takes what happens in each cycle, in order."""

    def __init__(self, config):
        self.config = config
        self.contexts = defaultdict(Counts)
        self.contributors = defaultdict(lambda: defaultdict(int))
        self.openings: list[tuple[int, int]] = []
        self.first: dict[int, int] = {}
        self.cycle = 0

    def step(self, report=None, opened=None):
        """One cycle with what is offered in it. The measuring clock runs while the model says that a segment is open,
        so a difference of cycles is one of its times."""
        due = [context for at, context in self.openings if at + OPENING == self.cycle]
        for context in due:
            self.contexts.pop(context, None)
            for key in [key for key in self.contributors if key[0] == context]:
                del self.contributors[key]
        if opened is not None:
            self.openings.append((self.cycle, opened))
        if report is not None:
            self._count(report)
        self.cycle += 1

    def _count(self, r):
        context = self.contexts[r["context"]]
        status, received = r["status"], r["origin"] == Origin.RECEIVED
        gives = received and not r["down"] and status == Status.OK and not r["answered"]
        taken = status == Status.OK and not r["answered"]
        counted = {
            "packets": received,
            "bytes": r["bytes"] * received,
            "contributions": gives,
            "completions": r["ends"] and r["outcome"] == Status.OK,
            "failures": r["ends"] and r["outcome"] != Status.OK,
            "duplicates": received and status == Status.DUPLICATE,
            "repeats": received and r["repeat"],
            "resent": taken and r["origin"] == Origin.REPEATED,
            "aborts": taken and r["origin"] in (Origin.OVERDUE, Origin.GIVEN_UP),
        }
        for name, number in counted.items():
            context.words[name] += number
        if received:
            context.causes[status.value] += 1
        if not r["down"] and status not in (Status.NOT_OPEN, Status.OUT_OF_RANGE, Status.WRONG_SOURCE):
            own = self.contributors[r["context"], r["contributor"]]
            for name in ("packets", "bytes", "contributions", "duplicates"):
                own[name] += counted[name]
            own["last"] += gives and r["closes"]
        if r["opens"]:
            self.first[r["slot"]] = self.cycle
        if r["closes"]:
            began = self.first.pop(r["slot"], None)
            if gives and began is not None:
                context.spreads.append(self.cycle - began)

    def words(self, context: int, contributor: int, status: int) -> dict[str, int]:
        """All words as a host sees them."""
        counts, own = self.contexts[context], self.contributors[context, contributor]
        names = [
            "packets",
            "bytes",
            "contributions",
            "completions",
            "failures",
            "duplicates",
            "repeats",
            "resent",
            "aborts",
        ]
        found = {f"context_{name}": counts.words[name] for name in names}
        found["context_status_packets"] = counts.causes[status]
        found["context_spread_count"] = len(counts.spreads)
        found["context_spread_sum"] = sum(counts.spreads)
        found["context_spread_min"] = min(counts.spreads, default=M32)
        found["context_spread_max"] = max(counts.spreads, default=0)
        if self.config.telemetry:
            names = ["packets", "bytes", "contributions", "duplicates", "last"]
            found |= {f"contributor_{name}": own[name] for name in names}
        return {name: word & M32 for name, word in found.items()}


def event_of(report, ticks: int):
    """The event that a report is, or None."""
    taken = report["status"] == Status.OK
    if report["origin"] == Origin.RECEIVED and not taken:
        kind, cause = 0, report["status"]
    elif taken and report["origin"] in (Origin.OVERDUE, Origin.GIVEN_UP):
        kind, cause = 1, report["outcome"]
    elif taken and report["ends"] and report["outcome"] != Status.OK:
        kind, cause = 2, report["outcome"]
    else:
        return None
    same = {name: int(report[name]) for name in ("context", "contributor", "slot", "down")}
    return {"kind": kind, "cause": cause.value, "port": report["port"].value, "ticks": ticks, **same}
