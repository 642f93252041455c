"""Hostile traffic at both ports of the whole NIC in RTL, under stalls, against the reference: packet for packet."""

import ast
import random
import re
import time

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as some
from pressure import WIDE

from fanfold.codes import Port, Status
from fanfold.config import PRESETS, Config
from fanfold.control.events import refused as refusal
from fanfold_sim.reference.core import Core
from fanfold_sim.reference.nic import ReferenceNic
from fanfold_sim.simulators.verilator import VerilatorNic
from fanfold_sim.toolchain import has_compiler
from fanfold_sim.traffic import hostile, play_batches

pytestmark = pytest.mark.skipif(not has_compiler(), reason="Verilated models need a C++ compiler")

CONFIGURATIONS = {"8": PRESETS["tiny"], "64": WIDE}
#: chances that the host, and the network, takes nothing in a cycle
STALLS = ((0, 0), (0.5, 0.5), (0.9, 0), (0, 0.9))
#: acts of one stream of the bulk, which are some more frames, and its streams in the long tier: 10^6 frames in all
ACTS, STREAMS = 1500, 80


def check(config: Config, numbers: list[int], stall: tuple[float, float] = (0, 0), chance: int = 0) -> int:
    """The stream of these acts through both; how many frames came in."""
    batches = hostile(config, numbers)
    reference, hardware = ReferenceNic(config), VerilatorNic(config)
    for port, of_all in zip(Port, stall, strict=True):
        hardware.hesitate(port, of_all, seed=2 * chance + port.value)
    expected, found = play_batches(reference, batches), play_batches(hardware, batches)
    counters = reference.counters(), hardware.counters()
    hardware.close()
    for lane in expected.keys() | found.keys():
        wanted, got = expected.get(lane, []), found.get(lane, [])
        name = f"{lane[1]} at the {lane[0].name.lower()} port"
        for number, (one, other) in enumerate(zip(wanted, got, strict=False)):
            assert other == one, f"frame {number}, {name}"
        assert len(got) == len(wanted), f"frames, {name}"
    differing = {name: (count, counters[1][name]) for name, count in counters[0].items() if counters[1][name] != count}
    assert not differing, f"counters: {differing}"
    return sum(map(len, batches))


def fewest(config: Config, numbers: list[int], stall: tuple[float, float]) -> list[int]:
    """As few of ``numbers`` as still make a difference."""
    size = len(numbers) // 2
    while size:
        for at in range(0, len(numbers), size):
            fewer = numbers[:at] + numbers[at + size :]
            try:
                check(config, fewer, stall)
            except AssertionError:
                numbers = fewer
                break
        else:
            size //= 2
    return numbers


def bulk(config: Config, stall: tuple[float, float], name: str) -> int:
    """A long stream; when it fails, the message has the shortest one that does."""
    choices = random.Random(name)
    numbers = [choices.getrandbits(48) for _ in range(ACTS)]
    try:
        return check(config, numbers, stall)
    except AssertionError as error:
        few = fewest(config, numbers, stall)
        raise AssertionError(f"acts {few} at {config.beat_bytes} bytes a beat, stalls {stall}: {error}") from error


@pytest.mark.parametrize("width", CONFIGURATIONS)
def test_short_streams(width):
    """Hypothesis chooses the acts, so what it finds is as few of them as show it."""

    @seed(int(width))
    @settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(
        some.lists(some.integers(0, 1 << 20), min_size=1, max_size=40), some.sampled_from(STALLS), some.integers(0, 99)
    )
    def streams(numbers, stall, chance):
        check(CONFIGURATIONS[width], numbers, stall, chance)

    streams()


@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("width", CONFIGURATIONS)
def test_long_streams(width, stall):
    assert bulk(CONFIGURATIONS[width], stall, f"{width} {stall}") > ACTS


@pytest.mark.long
@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("width", CONFIGURATIONS)
def test_a_million_frames(width, stall, capsys):
    frames, began = 0, time.monotonic()
    for stream in range(STREAMS):
        frames += bulk(CONFIGURATIONS[width], stall, f"{width} {stall} {stream}")
        if stream % 20 == 19:
            with capsys.disabled():
                print(
                    f" {width}-byte beats, stalls {stall}: {frames} frames, {time.monotonic() - began:.0f} s",
                    flush=True,
                )
    assert frames > STREAMS * ACTS


def test_traffic_is_of_every_kind():
    """Counters of what comes in show which causes are met."""
    config = CONFIGURATIONS["8"]
    choices = random.Random("kinds")
    nic = ReferenceNic(config)
    play_batches(nic, hostile(config, [choices.getrandbits(48) for _ in range(3 * ACTS)]))
    counters = nic.counters()
    met = {name for name, count in counters.items() if count}
    assert {
        f"{port}_{kind}" for port in ("host", "net") for kind in ("regular", "tagged", "damaged", "unmatched")
    } <= met
    assert {"contributions", "folded", "failed_segments", "results", "opened", "closed"} <= met
    causes = ("OUT_OF_RANGE", "WRONG_SOURCE", "DUPLICATE", "OUT_OF_WINDOW", "BAD_LENGTH", "NO_ROOM", "DISAGREE")
    assert {refusal(Status[cause]) for cause in causes} <= met


def test_a_difference_is_found_and_made_short(monkeypatch):
    """With a reference that forgets one thing, only the acts are left that show it."""
    config = CONFIGURATIONS["8"]
    monkeypatch.setattr("fanfold_sim.reference.nic.Core", ForgetfulCore)
    with pytest.raises(AssertionError) as failure:
        bulk(config, (0, 0), "difference")
    acts = ast.literal_eval(re.search(r"acts (\[.*?\])", str(failure.value))[1])
    assert 1 <= len(acts) < ACTS // 10
    with pytest.raises(AssertionError):
        check(config, acts)
    for at in range(len(acts)):  # each of them is needed
        check(config, acts[:at] + acts[at + 1 :])
    monkeypatch.undo()
    check(config, acts)


class ForgetfulCore(Core):
    """Does not count what is damaged at the network port."""

    def accept(self, port, packet):
        return [] if packet.damage and port is Port.NET else super().accept(port, packet)
