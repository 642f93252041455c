"""Time ends for a cluster that never comes to an end: whatever its NICs still do."""

from fanfold_sim.host.events import Agenda
from fanfold_sim.host.runner import Runner

PERIOD = 5000


class Busy:
    """A node whose NIC always has something to say; it counts the time that it was run."""

    busy, number, until = True, 0, 0

    def __init__(self):
        self.nic = self

    def run(self, until):
        self.until = until
        return [], [self] if self.talks else []

    last, talks = 0, True

    def came_out(self, left):
        pass


def run(node, waits, timed=0):
    runner = Runner(Agenda(), [node], PERIOD, 100_000, timed)
    ends = []
    runner.run(lambda: bool(ends), lambda: ends.append(runner.now), lambda: None, waits)
    return ends[0] / PERIOD


def test_endless_talk_ends_after_so_many_times_all_timers():
    short, long = (run(Busy(), waits, timed=1000) for waits in (1, 3))
    assert 21_000 <= short < 21_100 and 63_000 <= long < 63_100


def test_silence_ends_after_all_timers():
    silent = Busy()
    silent.talks = False
    assert 20_000 <= run(silent, None) < 20_100
    assert 90_000 <= run(silent, None, timed=70_000) < 90_100
