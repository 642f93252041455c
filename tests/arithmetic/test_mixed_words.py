"""Operators and types that change from word to word, in consecutive cycles of one pipeline; some words only pass."""

import numpy as np
import pytest
from judges import check_mixed
from lanes import COMPLETE, DEFAULT, verilated
from operands import biased


@pytest.mark.parametrize("config", [COMPLETE, DEFAULT], ids=["complete", "default"])
@pytest.mark.parametrize("seed", range(3))
def test_word_by_word(config, seed):
    rng = np.random.default_rng(seed)
    choices = sorted(config.pairs, key=lambda pair: pair[1].element_bytes > 8)
    small = sum(data_type.element_bytes <= 8 for _, data_type in choices)
    words = 60_000
    chosen = rng.integers(0, small, words)
    combines = (rng.random(words) < 0.9).astype(np.uint8)
    if small < len(choices):  # here and there two words for an element of two words
        here = np.flatnonzero(rng.random(words // 2) < 0.1)
        chosen[2 * here] = chosen[2 * here + 1] = rng.integers(small, len(choices), len(here))
        combines[2 * here + 1] = combines[2 * here]
    a, b = np.zeros(words, "<u8"), np.zeros(words, "<u8")
    for index, (_, data_type) in enumerate(choices):
        mine = np.flatnonzero(chosen == index)
        left, right = biased(data_type, len(mine) * 8 // data_type.element_bytes, rng)
        a[mine], b[mine] = left.reshape(-1).view("<u8"), right.reshape(-1).view("<u8")
    check_mixed(verilated(config), choices, chosen, combines, a, b)
