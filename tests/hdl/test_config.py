"""The configuration refuses what cannot be, with the value and what may be, and survives a round trip."""

import json
from dataclasses import replace

import pytest

from fanfold.codes import DataType, Operator, Status
from fanfold.config import DEFAULT_OPERATORS, DEFAULT_TYPES, PRESETS, Config


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("beat_bytes", 12, "beat_bytes is 12: it must be one of 8, 16, 32, 64"),
        ("contributors", 1, "contributors is 1: it must be a whole number from 2 to 128"),
        ("contributors", 129, "contributors is 129"),
        ("contributors", 4.0, "contributors is 4.0"),
        ("contexts", 3, "contexts is 3: it must be a power of two from 2 to 256"),
        ("contexts", 1, "contexts is 1"),
        ("window", 6, "window is 6: it must be a power of two from 2 to 64"),
        ("window", 128, "window is 128"),
        ("segment_bytes", 160, "segment_bytes is 160: it must be a multiple of 64"),
        ("segment_bytes", 64, "segment_bytes is 64"),
        ("operators", (), "operators is empty: choose at least one of sum, prod, min, max"),
        ("operators", ("sum",), "operators has 'sum': it must be one of sum, prod, min"),
        ("types", (DataType.INT32, DataType.INT32), "types names one of its members twice"),
        ("adder_stages", 2, "adder_stages is 2: it must be a whole number from 3 to 10"),
        ("queue_bits", 0, "queue_bits is 0"),
        ("udp_port", 65536, "udp_port is 65536"),
        ("frame_bytes", 255, "frame_bytes is 255: it must be a whole number from 256 to 16384"),
        ("frame_bytes", 1135, "frame_bytes is 1135: a segment of 1024 bytes and its headers take up to 1136"),
        ("waiting_segments", 2, "waiting_segments is 2"),
        ("places", 4, "places is 4: it must be a whole number from 8 to 32"),
        ("places", 64, "places is 64: it must be a whole number from 8 to 32"),
        ("places", 24, "places is 24: it must be a power of two from 8 to 32"),
        ("waiting_segments", 48, "waiting_segments is 48: it must be a power of two from 4 to 256"),
    ],
)
def test_what_cannot_be_is_refused(option, value, message):
    with pytest.raises(ValueError, match=message):
        Config(**{option: value})


def test_what_has_no_use_is_refused_when_it_was_asked_for():
    message = r"operators has minloc: it is not defined with any of the types \(int32\); leave it out"
    with pytest.raises(ValueError, match=message):
        Config(operators=(Operator.SUM, Operator.MINLOC), types=(DataType.INT32,))
    message = r"types has float64_int32: it is not defined with any of the operators \(sum\)"
    with pytest.raises(ValueError, match=message):
        Config(operators=(Operator.SUM,), types=(DataType.INT32, DataType.FLOAT64_INT32))


def test_places_are_as_many_as_there_may_be_contributors_unless_it_is_said():
    assert Config().pool_places == 32
    assert Config(places=16).pool_places == 16
    assert replace(Config(), contexts=16, contributors=100).pool_places == 16 * 128


def test_defaults_leave_out_what_has_no_use():
    assert Config(types=(DataType.FLOAT32,)).operators == (Operator.SUM, Operator.MIN, Operator.MAX)
    assert not any(each.pair for each in Config(operators=(Operator.SUM,)).types)
    assert Config(operators=(Operator.BAND,)).types == DEFAULT_TYPES[:8]
    assert (Config().operators, Config().types) == (DEFAULT_OPERATORS, DEFAULT_TYPES)


@pytest.mark.parametrize("preset", PRESETS)
def test_round_trip_through_json(preset):
    config = PRESETS[preset]
    assert Config.from_dict(json.loads(json.dumps(config.as_dict()))) == config


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="unknown configuration option 'beats'"):
        Config.from_dict({"beats": 8})
    with pytest.raises(ValueError, match="operators has 'plus'"):
        Config.from_dict({"operators": ["plus"]})


def test_what_is_left_out_is_the_default():
    assert Config.from_dict({"beat_bytes": 16, "types": ["float32"]}) == Config(
        beat_bytes=16, types=(DataType.FLOAT32,)
    )


@pytest.mark.parametrize("contributors, levels, leaves", [(2, 1, 2), (3, 2, 4), (4, 2, 4), (5, 3, 8), (96, 7, 128)])
def test_tree_sizes(contributors, levels, leaves):
    config = Config(contributors=contributors)
    assert (config.levels, config.leaves) == (levels, leaves)


def test_slots():
    config = Config(contexts=4, window=8, segment_bytes=1024, beat_bytes=64)
    assert (config.fold_slots, config.result_slots, config.segment_beats) == (32, 64, 16)


def test_waiting_room():
    assert Config(segment_bytes=1024, beat_bytes=64).waiting_beats == 32 * 16
    assert Config(segment_bytes=128, beat_bytes=64, waiting_segments=4).waiting_beats == 64, "the least"


def test_element_sizes():
    assert {each.name: each.element_bytes for each in DataType} == {
        "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "UINT8": 1, "UINT16": 2, "UINT32": 4, "UINT64": 8,
        "FLOAT16": 2, "BFLOAT16": 2, "FLOAT32": 4, "FLOAT64": 8,
        "FLOAT32_INT32": 8, "INT32_INT32": 8, "FLOAT64_INT32": 16,
    }  # fmt: skip


def test_codes_are_distinct_and_success_is_zero():
    assert Status.OK.value == 0
    for members in (Operator, DataType, Status):
        values = [each.value for each in members]
        assert values == list(range(len(values)))
