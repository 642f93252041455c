"""Checks find faults: each of these, planted in a copy of the fold's sources, is caught. The lane itself passes."""

import pytest
from faults import FAULTS, caught, lane_with, sound

from fanfold.fold.lane import Lane

#: enough for every day; the long tier plants all
_QUICK = ("a sticky bit that forgets what the coarse shift loses", "an index that does not decide a tie of 8 bytes")
assert all(name in FAULTS for name in _QUICK)


@pytest.mark.parametrize(
    "name", [name if name in _QUICK else pytest.param(name, marks=pytest.mark.long) for name in FAULTS]
)
def test_fault_is_caught(name):
    assert sound(FAULTS[name].config) == ""
    assert "wrong" in caught(FAULTS[name])


@pytest.mark.parametrize("name", FAULTS)
def test_fault_has_its_place(name):
    """Also where only the long tier builds it: what it replaces must be there as the sources change."""
    assert lane_with(FAULTS[name]) is not Lane
