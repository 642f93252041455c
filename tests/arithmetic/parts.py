"""The long tier's parts: an operator on a type, and the pairs that it is tried with, in chunks of some seconds."""

import zlib
from dataclasses import dataclass

import numpy as np
from operands import Pairs, biased, every_pair, random

from fanfold.codes import DataType, Operator
from fanfold.config import Config

__all__ = ["Part", "parts_of"]

#: SoftFloat judges so many pairs of a chunk
SAMPLE = 2048
#: the operators that the bounds are meant for; sums and the order of numbers are all there is to most instances
_OPERATORS = (Operator.SUM, Operator.MIN, Operator.MAX)


@dataclass(frozen=True)
class Part:
    """``every`` part takes all pairs there are, others random and corner-biased ones, half and half."""

    operator: Operator
    data_type: DataType
    every: bool
    chunks: int
    #: pairs of a chunk
    size: int

    @property
    def name(self) -> str:
        return f"{self.data_type.name.lower()}-{self.operator.name.lower()}"

    @property
    def pairs(self) -> int:
        """Pairs in all."""
        return self.chunks * self.size

    def operands(self, chunk: int) -> tuple[Pairs, np.random.Generator]:
        """The pairs of a chunk, always the same, and what chooses the sample of the second judge."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), chunk])
        if self.every:
            return every_pair(self.data_type, chunk, self.chunks), rng
        half = self.size // 2
        found = random(self.data_type, half, rng), biased(self.data_type, self.size - half, rng)
        left, right = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
        return (left, right), rng


def parts_of(config: Config) -> list[Part]:
    """For what ``config`` folds: sum, minimum and maximum of all pairs of 16-bit floating-point numbers; a little more
    than 10^8 pairs for every other operator on floating-point numbers; 10^7 pairs for each operator on pairs with an
    index, and on integers of 16 bits and more."""
    parts = []
    for operator, data_type in config.pairs:
        if data_type.element_bytes == 1:
            continue  # the quick tier tries all of these
        if data_type in (DataType.FLOAT16, DataType.BFLOAT16) and operator in _OPERATORS:
            parts.append(Part(operator, data_type, every=True, chunks=1 << 10, size=1 << 22))
        else:
            chunks = 96 if data_type.floating else 10
            parts.append(Part(operator, data_type, every=False, chunks=chunks, size=1 << 20))
    return parts
