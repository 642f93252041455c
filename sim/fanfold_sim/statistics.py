"""What a NIC says of its collectives: its statistics and events, read by name and written as text for people."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fanfold.codes import Status

from .registers import NamedRegisters, RegisterBus

__all__ = ["ContextStatistics", "Event", "Spread", "events_of", "lines", "statistics_of"]

#: kinds of events, by their codes
_KINDS = ("refused", "aborted", "failed")
_SPREAD = "spread_"


@dataclass(frozen=True)
class Spread:
    """Cycles from the first to the last contribution, of ``count`` segments: the least, the most, and the sum."""

    count: int
    sum: int
    min: int
    max: int


@dataclass(frozen=True)
class ContextStatistics:
    """One context: ``counts`` by name, packets by ``causes`` (status names), ``spread`` if segments were measured, and
    counts of each contributor, where the NIC has them."""

    context: int
    counts: dict[str, int]
    causes: dict[str, int]
    spread: Spread | None
    contributors: dict[int, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """One event. ``kind`` is refused, aborted or failed, ``cause`` the name of a status."""

    kind: str
    cause: str
    context: int
    contributor: int
    slot: int
    port: str
    down: bool
    ticks: int


def statistics_of(bus: NamedRegisters | RegisterBus) -> list[ContextStatistics]:
    """The statistics of every context in which a packet was counted since it opened last.

    ``bus`` is a NIC, or its registers by name. Words of one context are of one moment each time they are chosen, once
    for every contributor and cause.
    """
    registers = _named(bus)
    found = []
    for context in range(registers.read("contexts")):
        registers.write("statistics_select", context=context)
        words = _words(registers, "context_")
        if not words["packets"]:
            continue
        del words["status_packets"]
        spread = Spread(**{name: words.pop(f"{_SPREAD}{name}") for name in ("count", "sum", "min", "max")})
        causes = {}
        for status in Status:
            registers.write("statistics_select", context=context, status=status.value)
            if number := registers.read("context_status_packets"):
                causes[status.name] = number
        contributors = {}
        if registers.read("telemetry"):
            for contributor in range(registers.read("contributors")):
                registers.write("statistics_select", context=context, contributor=contributor)
                own = _words(registers, "contributor_")
                if any(own.values()):
                    contributors[contributor] = own
        found.append(ContextStatistics(context, words, causes, spread if spread.count else None, contributors))
    return found


def events_of(bus: NamedRegisters | RegisterBus) -> list[Event]:
    """Takes all events out of the queue, the oldest first."""
    registers = _named(bus)
    found: list[Event] = []
    while True:
        registers.write("event_pop", 1)
        cause, place = registers.fields("event_cause"), registers.fields("event_place")
        if not cause["found"]:
            return found
        found.append(
            Event(
                kind=_KINDS[cause["kind"]],
                cause=Status(cause["cause"]).name,
                context=place["context"],
                contributor=place["contributor"],
                slot=place["slot"],
                port="net" if cause["port"] else "host",
                down=bool(cause["down"]),
                ticks=registers.read("event_time"),
            )
        )


def lines(statistics: list[ContextStatistics], events: Sequence[Event] = (), lost: int = 0) -> Iterator[str]:
    """The same as text: a block for each context, and a line for each event; counts that are 0 are left out."""
    for each in statistics:
        yield f"context {each.context}: {_listed(each.counts)}"
        refused = {name: number for name, number in each.causes.items() if name != Status.OK.name}
        if refused:
            yield f"  refused: {_listed(refused)}"
        if each.spread:
            mean = each.spread.sum / each.spread.count
            yield (
                f"  first to last contribution: {each.spread.min:,} to {each.spread.max:,} cycles, "
                f"{mean:,.1f} on average of {each.spread.count:,} segments"
            )
        for contributor, own in each.contributors.items():
            yield f"  contributor {contributor}: {_listed(own)}"
    for event in events:
        yield (
            f"tick {event.ticks:,}: {event.kind}, {event.cause}: context {event.context}, contributor "
            f"{event.contributor}, slot {event.slot}, {event.port} port, {'down' if event.down else 'up'}"
        )
    if lost:
        yield f"{lost:,} earlier events were lost"


def _named(bus: NamedRegisters | RegisterBus) -> NamedRegisters:
    return bus if isinstance(bus, NamedRegisters) else NamedRegisters.of(bus)


def _words(registers: NamedRegisters, prefix: str) -> dict[str, int]:
    """All registers with this prefix, by the rest of their names."""
    return {name.removeprefix(prefix): registers.read(name) for name in registers.names if name.startswith(prefix)}


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items() if number)
