"""Every special value of a type with every one, for every operator that goes with it; both judges see every pair."""

import numpy as np
import pytest
from judges import check
from lanes import COMPLETE, DEFAULT, verilated
from operands import every_pair, special_pairs


def named(pairs):
    return [pytest.param(*pair, id=f"{pair[0].name}-{pair[1].name}") for pair in pairs]


def all_of(config, operator, data_type):
    a, b = special_pairs(data_type)
    check(verilated(config), operator, data_type, a, b, sample=len(a), rng=np.random.default_rng(0))


@pytest.mark.parametrize("operator, data_type", named(COMPLETE.pairs))
def test_complete_lane(operator, data_type):
    all_of(COMPLETE, operator, data_type)


@pytest.mark.parametrize("operator, data_type", named(DEFAULT.pairs))
def test_default_lane(operator, data_type):
    all_of(DEFAULT, operator, data_type)


BYTES = [pair for pair in COMPLETE.pairs if pair[1].element_bytes == 1]


@pytest.mark.parametrize("operator, data_type", named(BYTES))
def test_all_pairs_of_bytes(operator, data_type):
    a, b = every_pair(data_type)
    assert len(a) == 1 << 16
    rng = np.random.default_rng(operator.value)
    # each pair in each place of a word: the carry of one must not reach the next
    for _ in range(2):
        order = rng.permutation(len(a))
        check(verilated(COMPLETE), operator, data_type, a[order], b[order], sample=2000, rng=rng)
