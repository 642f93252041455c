"""How long a NIC's rooms take: the constants of the reference model's clockwork; and its clock of ticks."""

from dataclasses import dataclass

from fanfold.codes import Operator
from fanfold.config import Config

__all__ = ["Latencies", "Ticks"]


@dataclass(frozen=True, kw_only=True)
class Latencies:
    """Cycles from one door to the next, when nothing is in the way. Every room moves one beat per cycle besides."""

    #: from a beat at an input port to ingress, and from egress to the output port
    edge_in: int
    edge_out: int
    #: from the beat that completes a frame's headers to the question whether the context is open
    verdict: int
    #: from the same beat to the verdict; a regular frame's first beat then leaves ingress, or a packet's head
    ingress: int
    #: from the last payload beat to ingress's door; more if its UDP checksum is to be verified
    payload: int
    checksum: int
    #: in the room where a packet waits until it is whole: from its last beat to its first beat out
    waiting: int
    #: from there to the decision, and from the decision to the fold
    decide: int
    plan: int
    #: through one level of the fold's tree
    fold_level: int
    #: from the fold's last beat to the segment that may be sent
    results: int
    #: from a registration's last beat to its decision, and to what the NIC says about it
    enrol: int
    announce: int
    #: more, for a registration that opens a context: each slot is prepared
    prepare: int
    #: from a segment to its first copy at an egress's door; one more cycle for each further copy at that port
    delivery: int
    #: through egress: a copy, a regular frame
    egress: int
    egress_regular: int

    @classmethod
    def of(cls, config: Config) -> "Latencies":
        """The latencies of an instance."""
        return cls(
            edge_in=2,
            edge_out=1,
            verdict=7,
            ingress=10,
            payload=10,
            checksum=3,
            waiting=2,
            decide=5,
            plan=3,
            fold_level=3 + _lane(config),
            results=1,
            enrol=10,
            announce=1,
            prepare=config.window,
            delivery=5,
            egress=9,
            egress_regular=2,
        )

    def through_fold(self, config: Config) -> int:
        """From the decision about a contribution's last beat to its segment."""
        return self.plan + config.levels * self.fold_level + self.results


class Ticks:
    """Counts ticks of 2^``bits`` cycles while it runs; when it stands still, so does the tick that has begun."""

    def __init__(self, bits: int):
        self._bits = bits
        self._counted = 0
        self._since: int | None = None

    @property
    def running(self) -> bool:
        """Whether time counts."""
        return self._since is not None

    def run(self, running: bool, cycle: int) -> None:
        """Runs, or stands still, from ``cycle`` on."""
        if running != self.running:
            self._counted = self._cycles(cycle)
            self._since = cycle if running else None

    def now(self, cycle: int) -> int:
        """The ticks up to ``cycle``, which is not before the last ``run``."""
        return self._cycles(cycle) >> self._bits

    def cycle_of(self, tick: int) -> int:
        """The cycle in which ``tick`` begins if time counts until then; raises ``ValueError`` while it stands still."""
        if self._since is None:
            raise ValueError(f"tick {tick} never begins: time stands still")
        return self._since + (tick << self._bits) - self._counted

    def _cycles(self, cycle: int) -> int:
        return self._counted + (0 if self._since is None else cycle - self._since)


def _lane(config: Config) -> int:
    """Through a lane: floating-point adders, or two registers; and multipliers in front of them."""
    multiplies = Operator.PROD in config.operators
    numbers = [each for each in config.types if not each.pair]
    floats = any(each.floating for each in numbers) and (multiplies or Operator.SUM in config.operators)
    cycles = config.adder_stages if floats else 2
    if multiplies:
        widths = {max(each.element_bytes, 2) for each in numbers if not each.floating}
        cycles += 4 if any(each.element_bytes == 8 for each in numbers) else 3
        cycles += 2 if floats else len(widths) > 1
    return cycles
