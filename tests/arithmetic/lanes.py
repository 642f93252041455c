"""The lanes that are tested, each built once."""

from functools import cache

from fanfold.codes import DataType, Operator
from fanfold.config import DEFAULT_OPERATORS, DEFAULT_TYPES, Config
from fanfold_sim.simulators.lane import VerilatedLane

__all__ = ["COMPLETE", "DEFAULT", "HALVES", "configured", "verilated"]


def configured(operators, types, **options) -> Config:
    """Of what does not concern a lane, the least."""
    return Config(beat_bytes=8, contributors=2, operators=tuple(operators), types=tuple(types), **options)


#: what an instance has unless it is told
DEFAULT = configured(DEFAULT_OPERATORS, DEFAULT_TYPES)
#: every operator on every type
COMPLETE = configured(Operator, DataType)
#: the floating-point numbers of 16 bits alone: a small lane, which is soon simulated
HALVES = configured([Operator.SUM, Operator.MIN, Operator.MAX], [DataType.FLOAT16, DataType.BFLOAT16])


@cache
def verilated(config: Config) -> VerilatedLane:
    return VerilatedLane(config)
