"""How a collective went."""

from dataclasses import dataclass, field

from .verdict import Verdict
from .workload import Mismatch

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """One collective: whether every core got what it must, and how long it took (ps)."""

    mismatch: Mismatch | None
    #: what else is wrong: a status that nothing injected explains, a barrier that let go too early
    trouble: str
    latency: int
    parts: dict[str, int]
    segments: int
    #: what became of each leader's segments where something was injected
    verdict: Verdict = field(default_factory=Verdict)

    @property
    def correct(self) -> bool:
        """Every core has the reference's bits, or a status instead where something was injected."""
        return self.mismatch is None and not self.trouble
