"""Any choice of operators and types, and every length of pipeline: what is left out must not be missed."""

import random

import numpy as np
import pytest
from judges import check, check_mixed
from lanes import COMPLETE, configured
from operands import biased, mixed, special_pairs

from fanfold.codes import DataType, Operator, defined
from fanfold_sim.simulators.lane import VerilatedLane


def tried(config):
    lane, rng = VerilatedLane(config), np.random.default_rng(len(config.pairs))
    for operator, data_type in config.pairs:
        check(lane, operator, data_type, *special_pairs(data_type), sample=500, rng=rng)
        check(lane, operator, data_type, *biased(data_type, 1 << 15, rng), sample=500, rng=rng)
    check_mixed(lane, *mixed(config, 1 << 14, rng))
    return lane


def some(seed):
    """Operators and types, any of which goes with one of the others."""
    rng = random.Random(seed)
    pairs = rng.sample(COMPLETE.pairs, rng.choice([1, 2, 2, 3, 4]))
    operators, types = ([each for each in kind if any(each in pair for pair in pairs)] for kind in (Operator, DataType))
    return configured(operators, types, adder_stages=rng.randint(3, 10))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(32))
def test_any_choice(seed):
    tried(some(seed))


@pytest.mark.long
@pytest.mark.parametrize("data_type", DataType, ids=lambda each: each.name)
def test_one_type(data_type):
    tried(configured([each for each in Operator if defined(each, data_type)], [data_type]))


@pytest.mark.long
@pytest.mark.parametrize("stages", range(3, 11))
def test_length(stages):
    lane = tried(configured(Operator, [*DataType][stages % 2 :], adder_stages=stages))
    assert lane.latency >= stages
