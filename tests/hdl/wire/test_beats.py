"""Shapes between the rooms, for every preset."""

import pytest

from fanfold.config import PRESETS
from fanfold.wire import (
    COLLECTIVE,
    address_layout,
    copy_layout,
    fold_layout,
    frame_layout,
    head_layout,
    payload_layout,
    result_layout,
    segment_layout,
)

LAYOUTS = (frame_layout, payload_layout, head_layout, address_layout, fold_layout, result_layout, segment_layout)


@pytest.mark.parametrize("preset", PRESETS)
def test_sizes_follow_the_configuration(preset):
    config = PRESETS[preset]
    bits = 8 * config.beat_bytes
    assert frame_layout(config)["data"].width == bits
    assert payload_layout(config).size == bits + 2
    assert head_layout(config)["header"].width == 8 * COLLECTIVE.bytes
    fold = fold_layout(config)
    assert fold["leaf"].width == config.levels == fold["combine"].width == fold["keep"].width
    assert 2 ** fold["slot"].width >= config.fold_slots
    assert 2 ** fold["beat"].width >= config.segment_beats
    assert 2 ** segment_layout(config)["slot"].width >= 2 * config.window
    assert copy_layout(config)["segment"].width == segment_layout(config).size


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda each: each.__name__)
def test_no_member_is_without_bits(layout):
    for config in PRESETS.values():
        assert all(field.width for _, field in layout(config)), f"{layout.__name__} of {config}"


@pytest.mark.parametrize("preset", PRESETS)
def test_a_full_beat_can_be_counted(preset):
    config = PRESETS[preset]
    assert 2 ** frame_layout(config)["count"].width > config.beat_bytes
