"""The figures of regular traffic are what the rooms say of themselves."""

import gc
import warnings

import pytest
from amaranth.hdl import UnusedElaboratable

from fanfold.edge.top import Fanfold
from fanfold.egress import Egress
from fanfold.engine import Engine
from fanfold_sim.figures.passing import beats_per_cycle, regular_latency, small


def rooms_say(config) -> int:
    """Cycles of the first beat of a regular frame in edge, ingress and egress."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedElaboratable)  # made for what it says of itself
        engine = Engine(config)
        cycles = Fanfold(config, engine).latency + engine.latencies["regular"] + Egress.regular_latency
        del engine
        gc.collect()
    return cycles


@pytest.mark.parametrize("beat_bytes", [8, 64])
def test_latency_of_a_regular_frame_from_port_to_port(beat_bytes):
    assert regular_latency(small(beat_bytes)) == rooms_say(small(beat_bytes))


def test_a_beat_in_every_cycle_in_both_directions():
    assert beats_per_cycle(small(16), mixed=True) == 1
