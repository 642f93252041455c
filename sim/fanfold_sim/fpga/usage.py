"""What the tools find out about a design."""

from dataclasses import dataclass

__all__ = ["Usage", "WorstPath"]


@dataclass(frozen=True)
class WorstPath:
    """The path that limits the clock, between the registers ``start`` and ``end``: nanoseconds in all and on wires
    alone, its logic ``levels``, and the ``rooms`` (submodules of the component) in the order in which it meets them.

    A level is a LUT, a multiplexer behind LUTs, or a carry chain, however long.
    """

    start: str
    end: str
    ns: float
    wires_ns: float
    levels: int
    rooms: tuple[str, ...]

    def __str__(self) -> str:
        share = 100 * self.wires_ns / self.ns
        met = f", rooms {' > '.join(self.rooms)}" if self.rooms else ""
        return f"{self.start} -> {self.end}: {self.ns:.2f} ns ({share:.0f} % wires){met}"


@dataclass(frozen=True)
class Usage:
    """What a design takes: LUTs, flip-flops, block RAMs and multipliers (DSP blocks) of its device. ``fmax_mhz`` and
    ``worst`` are None where it was only synthesised."""

    luts: int
    ffs: int
    brams: int
    dsps: int
    fmax_mhz: float | None = None
    worst: WorstPath | None = None
