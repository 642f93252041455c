"""Faults get planted in a copy, wherever they are in its room, and nowhere else."""

import sys

import pytest

from fanfold.config import PRESETS
from fanfold.fold import spine
from fanfold.fold.float.adder import Adder
from fanfold.fold.spine import Spine
from fanfold_sim.planting import planted

TINY = PRESETS["tiny"]


def test_in_its_own_module():
    wrong = planted(Spine, "return config.levels * stage_latency(config)", "return 17")
    assert wrong(TINY).latency == 17
    assert Spine(TINY).latency == spine.spine_latency(TINY) != 17


def test_in_a_module_far_down():
    head = "def stage_latency(config: Config) -> int:\n"
    wrong = planted(Spine, head, f"{head}    return 5\n", "fanfold.fold.stage")
    assert wrong(TINY).stage_latency == 5
    assert Spine(TINY).stage_latency == spine.stage_latency(TINY) != 5


def test_leaves_nothing_behind():
    modules, finders = set(sys.modules), list(sys.meta_path)
    copy = planted(Adder, "IEEE 754", "Any", "fanfold.fold.float")
    assert copy is not Adder and copy.__qualname__ == "Adder"
    assert set(sys.modules) == modules and sys.meta_path == finders


def test_refuses():
    with pytest.raises(ValueError, match=r"fanfold\.fold\.spine says 'nowhere' 0 times"):
        planted(Spine, "nowhere", "")
    with pytest.raises(ValueError, match=r"fanfold\.fold\.spine says 'self' \d\d times"):
        planted(Spine, "self", "")
    with pytest.raises(ValueError, match=r"Adder does not import fanfold\.fold\.elsewhere"):
        planted(Adder, "a", "b", "fanfold.fold.elsewhere")
    with pytest.raises(ValueError, match=r"fanfold\.config is not in the room fanfold\.fold of Spine"):
        planted(Spine, "a", "b", "fanfold.config")
