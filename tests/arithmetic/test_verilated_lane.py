"""The Verilated lane itself: words in order through the pipeline, from the first on, whatever was in it before."""

import numpy as np
import pytest
from lanes import DEFAULT, verilated

from fanfold.codes import DataType, Operator

SUM, INT32 = Operator.SUM, DataType.INT32


def test_blocks_of_any_length():
    lane = verilated(DEFAULT)
    assert lane.latency == DEFAULT.adder_stages
    for words in (0, 1, 2, lane.latency - 1, lane.latency, lane.latency + 1, 1000):
        a = np.arange(2 * words, dtype=np.uint32)
        assert np.array_equal(lane.fold(SUM, INT32, a, a[::-1].copy()), np.full_like(a, max(2 * words - 1, 0)))


def test_keeps_shape_and_type():
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = verilated(DEFAULT).fold(SUM, DataType.FLOAT32, a, a)
    assert found.dtype == a.dtype and np.array_equal(found, 2 * a)


def test_words_of_their_own():
    a = np.array([5, 5, 5, 5], np.uint64)
    b = np.array([7, 7, 7, 7], np.uint64)
    codes = np.array([SUM.value, Operator.MIN.value, Operator.MAX.value, SUM.value], np.uint8)
    types = np.full(4, INT32.value, np.uint8)
    combines = np.array([1, 1, 1, 0], np.uint8)
    assert verilated(DEFAULT).fold_mixed(codes, types, combines, a, b).tolist() == [12, 5, 7, 5]


def test_refuses():
    lane, words = verilated(DEFAULT), np.zeros(4, np.uint64)
    with pytest.raises(ValueError, match="operands of 32 and 24 bytes"):
        lane.fold(SUM, INT32, words, words[:3])
    with pytest.raises(ValueError, match="operands of 4 and 4 bytes"):
        lane.fold(SUM, INT32, words.view(np.uint32)[:1], words.view(np.uint32)[:1])
    with pytest.raises(ValueError, match="must be C-contiguous"):
        lane.fold(SUM, INT32, words[::2], words[::2])
    codes = np.zeros(3, np.uint8)
    with pytest.raises(ValueError, match="a has 4 words"):
        lane.fold_mixed(codes, codes, codes, words, words)
