"""How long a NIC's rooms take: the constants of the reference model's clockwork."""

from dataclasses import dataclass

from fanfold.config import Config
from fanfold.registry.ports import DIRECTORY_LATENCY, LOOKUP_LATENCY
from fanfold.results.ports import READ_LATENCY

__all__ = ["Latencies"]


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """Cycles from one door to the next, when nothing is in the way. Every room moves one beat per cycle besides."""

    #: from the beat that completes the headers to the verdict, tagged or regular
    classify: int
    #: from a tagged packet's beat to the same bytes at admission's door
    payload: int
    #: from a regular frame's beat at one port to the same beat at the other port
    regular: int
    #: from admission's door to the fold, or to the registry for a registration
    admission: int
    #: through one level of the fold's tree
    fold_level: int
    #: through the fold beside its levels
    fold: int
    #: from the fold's last beat to the segment that may be sent
    results: int
    #: from a registration at the registry to its answer
    registration: int
    #: from a segment to its first copy at an egress's door; one more cycle for each further copy at that port
    delivery: int
    #: from a copy at the egress's door to its first beat at the port
    egress: int

    @classmethod
    def of(cls, config: Config) -> "Latencies":
        """The latencies of an instance."""
        return cls(
            classify=3 + LOOKUP_LATENCY,
            payload=4 + LOOKUP_LATENCY,
            regular=5 + LOOKUP_LATENCY,
            admission=4,
            fold_level=config.adder_stages + 4,
            fold=2,
            results=2,
            registration=8,
            delivery=2 + DIRECTORY_LATENCY,
            egress=3 + READ_LATENCY,
        )

    def through_fold(self, config: Config) -> int:
        """From the last contribution's beat at the fold to the result's beat behind it."""
        return self.fold + config.levels * self.fold_level
