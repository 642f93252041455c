"""Streams of mutated frames through the ingress as Verilog, compared packet for packet with the reference."""

import random

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as some
from mutations import mutated
from verilated_bench import check

from fanfold_sim import toolchain
from fanfold_sim.bench import STALLS, Stall

pytestmark = pytest.mark.skipif(not toolchain.has_compiler(), reason="Verilated models need a C++ compiler")
#: frames of one stream of the bulk, and streams for each width and stall in the long tier: a million frames in all
STREAM, STREAMS = 2500, 20
_NUMBERS = some.lists(some.integers(0, 1 << 20), min_size=1, max_size=40)


@pytest.mark.parametrize(
    "width", [8, pytest.param(16, marks=pytest.mark.long), pytest.param(32, marks=pytest.mark.long), 64]
)
def test_short_streams(width):
    """Hypothesis chooses the frames, so what it finds is as few of them as show it."""

    @seed(width)
    @settings(max_examples=500, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(
        some.lists(some.integers(0, 1 << 20), min_size=1, max_size=40), some.sampled_from(STALLS), some.integers(0, 99)
    )
    def streams(numbers, stall, chance):
        check(width, [mutated(number, width) for number in numbers], stall, chance)

    streams()


def smallest(width, numbers, stall):
    """As few of ``numbers`` as still make a difference."""
    size = len(numbers) // 2
    while size:
        for at in range(0, len(numbers), size):
            fewer = numbers[:at] + numbers[at + size :]
            try:
                check(width, [mutated(number, width) for number in fewer], stall)
            except AssertionError:
                numbers = fewer
                break
        else:
            size //= 2
    return numbers


def bulk(width, stall, name):
    choices = random.Random(name)
    numbers = [choices.getrandbits(48) for _ in range(STREAM)]
    try:
        check(width, [mutated(number, width) for number in numbers], stall)
    except AssertionError as error:
        few = smallest(width, numbers, stall)
        raise AssertionError(f"frames {few} at {width} bytes a beat, {stall}: {error}") from error


@pytest.mark.parametrize("width, stall", [(8, Stall.NONE), (8, Stall.RANDOM), (64, Stall.NONE), (64, Stall.RANDOM)])
def test_long_streams(width, stall):
    bulk(width, stall, f"{width} {stall}")


@pytest.mark.long
@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("width", (8, 16, 32, 64))
def test_a_million_frames(width, stall):
    for stream in range(STREAMS):
        bulk(width, stall, f"{width} {stall} {stream}")
