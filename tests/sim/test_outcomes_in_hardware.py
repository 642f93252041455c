"""Every outcome of a segment after every other, in the same slot of the hardware."""

import itertools

import pytest
from outcomes import CONFIG, OUTCOMES, play

from fanfold_sim.nic import make_nic
from fanfold_sim.toolchain import has_compiler

PAIRS = [(parent, *pair) for parent in (False, True) for pair in itertools.product(OUTCOMES[parent], repeat=2)]

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="Verilated models need a C++ compiler")


@needs_compiler
@pytest.mark.parametrize("parent, first, second", PAIRS)
def test_one_outcome_after_another(parent, first, second):
    play(make_nic("verilator", CONFIG), first, second, parent=parent)


@needs_compiler
@pytest.mark.parametrize("parent", [False, True])
def test_all_outcomes_one_after_another_there_and_back(parent):
    names = list(OUTCOMES[parent])
    play(make_nic("verilator", CONFIG), *names, *reversed(names), parent=parent)


def test_some_outcomes_in_amaranths_simulator():
    play(make_nic("amaranth", CONFIG), "completed", "aborted", "mismatched", parent=False)
