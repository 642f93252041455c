"""Every outcome of a segment after every other, in the same slot of the reference."""

import itertools

import pytest
from outcomes import CONFIG, OUTCOMES, play

from fanfold_sim.reference.nic import ReferenceNic

PAIRS = [(parent, *pair) for parent in (False, True) for pair in itertools.product(OUTCOMES[parent], repeat=2)]


@pytest.mark.parametrize("parent, first, second", PAIRS)
def test_one_outcome_after_another(parent, first, second):
    play(ReferenceNic(CONFIG), first, second, parent=parent)


@pytest.mark.parametrize("parent", [False, True])
def test_all_outcomes_one_after_another_there_and_back(parent):
    names = list(OUTCOMES[parent])
    play(ReferenceNic(CONFIG), *names, *reversed(names), parent=parent)
