"""Where the time goes: milestones, each with the one that it waited for last.

Following the causes from the last core's result back to the start gives the critical path, whatever the depth of the
tree and however often a window was full; its spans are the parts of the latency, and they add up to it exactly.
"""

from dataclasses import dataclass

__all__ = ["PARTS", "Milestone", "latest", "parts_of"]

#: the parts of a collective's latency, in the order of its way
PARTS = ("member_stage", "injection", "nic", "wire", "delivery", "distribution")


@dataclass(frozen=True, slots=True)
class Milestone:
    """Something happened at ``time`` (ps); the span since ``cause`` counts as ``part``."""

    time: int
    part: str = ""
    cause: "Milestone | None" = None

    def then(self, time: int, part: str) -> "Milestone":
        """What followed from this, at ``time``."""
        return Milestone(time, part, self)


def latest(*milestones: "Milestone | None") -> Milestone:
    """The one that the others waited for."""
    return max((one for one in milestones if one is not None), key=lambda one: one.time)


def parts_of(end: Milestone) -> dict[str, int]:
    """Picoseconds of each part on the way to ``end``."""
    parts = dict.fromkeys(PARTS, 0)
    while end.cause is not None:
        parts[end.part] += end.time - end.cause.time
        end = end.cause
    return parts
