"""A share of all pairs of 16-bit floating-point numbers, and random and corner-biased pairs of all other types."""

import zlib

import numpy as np
import pytest
from judges import check
from lanes import COMPLETE, HALVES, verilated
from operands import biased, random

#: every 100th of the 2^32 pairs, in blocks
BLOCK, BLOCKS = 1 << 20, 41
assert BLOCK * BLOCKS > (1 << 32) / 100


def named(pairs):
    return [pytest.param(*pair, id=f"{pair[0].name}-{pair[1].name}") for pair in pairs]


def generator(operator, data_type):
    return np.random.default_rng(zlib.crc32(f"{operator.name} {data_type.name}".encode()))


@pytest.mark.parametrize("operator, data_type", named(HALVES.pairs))
def test_one_in_a_hundred(operator, data_type):
    lane, rng = verilated(HALVES), generator(operator, data_type)
    for _ in range(BLOCKS):
        a, b = random(data_type, BLOCK, rng)
        check(lane, operator, data_type, a, b, sample=500, rng=rng)


@pytest.mark.parametrize("operator, data_type", named(COMPLETE.pairs))
def test_random_and_biased(operator, data_type):
    """10^6 pairs of floating-point numbers, a tenth of it of other types."""
    lane, rng = verilated(COMPLETE), generator(operator, data_type)
    count = 500_000 if data_type.floating else 50_000
    for make in (random, biased):
        a, b = make(data_type, count, rng)
        check(lane, operator, data_type, a, b, sample=5000, rng=rng)
