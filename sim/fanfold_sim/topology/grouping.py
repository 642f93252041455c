"""Core groups: the cores of a socket, of a NUMA domain, or each core alone; the lowest core leads."""

from collections.abc import Callable
from dataclasses import dataclass

from .machine import Core, Machine, TopologyError

__all__ = ["GROUPINGS", "CoreGroup", "group_cores"]

#: what ``--group-by`` takes, and the number that cores of one group share
GROUPINGS: dict[str, Callable[[Core], int]] = {
    "socket": lambda core: core.package,
    "numa": lambda core: core.domain,
    "core": lambda core: core.index,
}


@dataclass(frozen=True)
class CoreGroup:
    """Cores of one group, lowest first. ``index`` is the leader's contributor index at the node's NIC."""

    index: int
    cores: tuple[int, ...]

    @property
    def leader(self) -> int:
        """The core that talks to the NIC."""
        return self.cores[0]

    @property
    def members(self) -> tuple[int, ...]:
        """The other cores."""
        return self.cores[1:]


def group_cores(machine: Machine, by: str) -> tuple[CoreGroup, ...]:
    """The machine's core groups in order of their leaders; raises ``TopologyError`` for an unknown grouping."""
    if by not in GROUPINGS:
        raise TopologyError(f"grouping is {by!r}: it must be one of {', '.join(GROUPINGS)}")
    together: dict[int, list[int]] = {}
    for core in machine.cores:
        together.setdefault(GROUPINGS[by](core), []).append(core.index)
    ordered = sorted(map(tuple, together.values()))
    return tuple(CoreGroup(index, cores) for index, cores in enumerate(ordered))
