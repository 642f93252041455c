"""Links that do to frames what they are told, as often as they are told, by their seed; and timers that fit a tree."""

import pytest

from fanfold.config import PRESETS
from fanfold_sim.faults import Impairment, Injection, described, exchange_cycles, longest, timing_at, timing_for
from fanfold_sim.host.parameters import NetworkParameters
from fanfold_sim.nic import Timing

FRAME = bytes(range(80))
PERIOD = 5120


def passed(spec, frames=2000, goes_down=False):
    links = Impairment(Injection.parse([spec]), PERIOD)
    return links, [links.pass_on(FRAME, goes_down) for _ in range(frames)]


def test_nothing_happens_unless_it_is_injected():
    links, arrivals = passed("seed=1")
    assert all([(one.delay, one.frame, one.bad) for one in each] == [(0, FRAME, False)] for each in arrivals)
    assert (links.up.frames, links.up.lost, links.down.frames) == (2000, 0, 0)


def test_frames_are_lost_in_the_direction_that_is_told():
    links, arrivals = passed("loss-up=0.25")
    lost = arrivals.count([])
    assert links.up.lost == lost and 400 < lost < 600
    links, arrivals = passed("loss-up=0.25", goes_down=True)
    assert arrivals.count([]) == links.down.lost == 0


def test_frames_come_twice_the_second_later():
    links, arrivals = passed("duplicate=0.5,reorder-cycles=10")
    twice = [each for each in arrivals if len(each) == 2]
    assert links.up.duplicated == len(twice) and 850 < len(twice) < 1150
    assert {one.frame for each in twice for one in each} == {FRAME}
    assert {second.delay // PERIOD for _, second in twice} == set(range(1, 11))


def test_frames_are_held_back():
    links, arrivals = passed("reorder=0.5,reorder-cycles=10")
    delays = [each[0].delay for each in arrivals if each[0].delay]
    assert links.up.held_back == len(delays) and 850 < len(delays) < 1150
    assert set(delays) == {cycles * PERIOD for cycles in range(1, 11)}


def test_a_byte_changes_behind_the_address_and_the_frame_is_marked():
    links, arrivals = passed("corrupt=0.5")
    changed = [each[0] for each in arrivals if each[0].frame != FRAME]
    assert links.up.corrupted == len(changed) and 850 < len(changed) < 1150
    assert all(one.bad for one in changed)
    places = [[at for at in range(len(FRAME)) if one.frame[at] != FRAME[at]] for one in changed]
    assert all(len(each) == 1 for each in places)
    assert {each[0] for each in places} == set(range(6, len(FRAME)))


def test_the_seed_decides():
    everything = "loss=0.1,duplicate=0.1,reorder=0.1,corrupt=0.1"
    first, again, other = (passed(f"{everything},seed={seed}", 200)[1] for seed in (1, 1, 2))
    assert first == again != other


# ---------------------------------------------------------------------------------------------------- timers


def test_timers_of_a_tree():
    timing = timing_for(2, 600, 10)
    assert timing == Timing(abort_ticks=48, retry_ticks=2, retry_limit=96, linger_ticks=194)
    root, middle, leaf = timing_at(timing, 0, 2), timing_at(timing, 1, 1), timing_at(timing, 2, 0)
    assert [each.abort_ticks for each in (root, middle, leaf)] == [144, 96, 48]
    # whoever asks its parent does so for longer than the parent waits, and its parent answers as long
    for parent, child in ((root, middle), (middle, leaf)):
        assert child.retry_ticks * child.retry_limit > parent.abort_ticks
        assert parent.linger_ticks >= child.retry_ticks * child.retry_limit
    # a parent that gives up tells its children before they give it up
    assert leaf.retry_limit > middle.retry_limit + 1
    assert longest(leaf) == leaf.linger_ticks and longest(Timing()) == 0
    assert longest(Timing(retry_ticks=2, retry_limit=5, abort_ticks=11)) == 12
    assert longest(Timing(abort_ticks=7)) == 14, "a parent is given up after twice the abort time"
    assert described(timing) == "abort 48 ticks, retry 2 ticks, at most 96 times, linger 194 (more by level)"
    assert "no retry" in described(Timing(abort_ticks=1))


def test_timers_fit_what_is_given():
    timing = timing_for(2, 600, 10, abort_ticks=1000)
    assert (timing.abort_ticks, timing.retry_ticks, timing.retry_limit) == (1000, 2, 2000)
    assert timing_for(2, 600, 10, abort_ticks=0).retry_limit == 96
    assert timing_for(2, 600, 10, retry_ticks=10) == Timing(240, 10, 96, 970)
    assert timing_for(2, 600, 10, retry_ticks=0, abort_ticks=5) == Timing(abort_ticks=5)


def test_timers_keep_to_their_registers():
    timing = timing_at(timing_for(1000, 10**9, 4), 900, 100)
    assert timing.retry_ticks == timing.retry_limit == timing.linger_ticks == 0xFFFF
    assert timing_at(Timing(abort_ticks=0xFFFFFFFF), 0, 3).abort_ticks == 0xFFFFFFFF


@pytest.mark.parametrize("preset", PRESETS)
def test_an_exchange_takes_longer_on_slower_links(preset):
    config = PRESETS[preset]
    usual = exchange_cycles(NetworkParameters(), config)
    slow = exchange_cycles(NetworkParameters(link_ns=1110), config)
    # two links each way, a microsecond more each
    assert slow - usual == pytest.approx(4 * 195.3125, abs=1)
    assert usual > 2 * config.segment_bytes // config.beat_bytes
