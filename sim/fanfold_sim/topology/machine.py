"""A machine as collectives see it: numbered cores, each in a NUMA domain of a package."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Core", "Distance", "Machine", "TopologyError"]


class TopologyError(ValueError):
    """A topology cannot be used; the message names what was given and what is allowed."""


class Distance(Enum):
    """How far apart two cores are: what a cache line between them has to cross."""

    SAME_DOMAIN = "same NUMA domain"
    SAME_PACKAGE = "other NUMA domain, same socket"
    OTHER_PACKAGE = "other socket"


@dataclass(frozen=True, slots=True)
class Core:
    """One core. ``index`` counts the machine's cores in the order of the hardware (hwloc's logical order)."""

    index: int
    package: int
    domain: int


@dataclass(frozen=True)
class Machine:
    """Cores by index. Domain numbers count through the whole machine; a domain never spans packages.

    ``domain_kind`` says what a domain is: ``NUMA``, or what stands for it where there is at most one NUMA domain
    (``Die``, ``Package``).
    """

    name: str
    cores: tuple[Core, ...]
    domain_kind: str = "NUMA"

    def __post_init__(self):
        if not self.cores:
            raise TopologyError(f"{self.name}: it has no cores")
        homes: dict[int, int] = {}
        for at, core in enumerate(self.cores):
            if core.index != at:
                raise TopologyError(f"{self.name}: core {core.index} stands at place {at}")
            if homes.setdefault(core.domain, core.package) != core.package:
                raise TopologyError(f"{self.name}: domain {core.domain} spans packages")

    @property
    def packages(self) -> int:
        """Number of packages (sockets)."""
        return len({core.package for core in self.cores})

    @property
    def domains(self) -> int:
        """Number of NUMA domains, or of what stands for them."""
        return len({core.domain for core in self.cores})

    def distance(self, first: int, second: int) -> Distance:
        """How far apart two cores are, by index."""
        one, other = self.cores[first], self.cores[second]
        if one.package != other.package:
            return Distance.OTHER_PACKAGE
        return Distance.SAME_DOMAIN if one.domain == other.domain else Distance.SAME_PACKAGE

    @property
    def summary(self) -> str:
        """One line: name, and how many of what."""
        parts = [
            f"{number} {name}{'s' if number > 1 else ''}"
            for number, name in (
                (self.packages, "socket"),
                (self.domains, f"{self.domain_kind} domain"),
                (len(self.cores), "core"),
            )
        ]
        return f"{self.name} ({', '.join(parts)})"

    @classmethod
    def regular(cls, name: str, packages: int, domains: int, cores: int) -> "Machine":
        """A machine of ``packages``, each with ``domains`` NUMA domains of ``cores`` cores."""
        return cls(
            name,
            tuple(
                Core(index=index, package=index // (domains * cores), domain=index // cores)
                for index in range(packages * domains * cores)
            ),
        )
