"""Operators and types that change from word to word, in consecutive cycles of one pipeline; some words only pass."""

import numpy as np
import pytest
from judges import check_mixed
from lanes import COMPLETE, DEFAULT, verilated
from operands import mixed


@pytest.mark.parametrize("config", [COMPLETE, DEFAULT], ids=["complete", "default"])
@pytest.mark.parametrize("seed", range(3))
def test_word_by_word(config, seed):
    rng = np.random.default_rng(seed)
    check_mixed(verilated(config), *mixed(config, 60_000, rng))
