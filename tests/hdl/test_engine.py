"""The whole hardware against the reference model: the same packets, in the same order, and the same counters."""

import pytest

from fanfold.codes import Port
from fanfold.config import PRESETS, Config
from fanfold_sim.nic import make_nic
from fanfold_sim.traffic import play, script

TINY = PRESETS["tiny"]


def compare(maker: str, config: Config, seed: int, rounds: int) -> None:
    """Plays the traffic of ``seed`` to the reference and to ``maker``."""
    arrivals = script(config, seed, rounds)
    expected, found = (play(make_nic(one, config), arrivals) for one in ("reference", maker))
    for port in Port:
        for kind in ("regular", "copies"):
            wanted, got = getattr(expected, kind)[port], getattr(found, kind)[port]
            for number, (one, other) in enumerate(zip(wanted, got, strict=False)):
                assert other == one, f"{kind} frame {number} at the {port.name.lower()} port, seed {seed}"
            assert len(got) == len(wanted), f"{kind} frames at the {port.name.lower()} port, seed {seed}"
    assert found.counters == expected.counters, f"counters, seed {seed}"


@pytest.mark.parametrize("seed", range(2))
def test_engine_follows_the_protocol_in_amaranths_simulator(seed):
    compare("amaranth", TINY, seed, rounds=1)
