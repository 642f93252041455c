"""Statistics and events from the hardware's telemetry over the bus to text; the engine is a stand-in that reports."""

from amaranth.lib.data import Const
from reporting import reporting

from fanfold.codes import Origin, Port, Status
from fanfold.config import PRESETS
from fanfold.control import report_layout
from fanfold_sim.registers import NamedRegisters
from fanfold_sim.simulators.amaranth import AmaranthNic
from fanfold_sim.statistics import ContextStatistics, Event, Spread, events_of, lines, statistics_of

TINY = PRESETS["tiny"]
NOTHING = {name: 0 for name in report_layout(TINY).members} | {
    "status": Status.OK,
    "outcome": Status.OK,
    "origin": Origin.RECEIVED,
    "port": Port.HOST,
}


def report(**chosen) -> bytes:
    made = report_layout(TINY).const(NOTHING | {"context": 1, "slot": 2, "bytes": 128} | chosen)
    assert isinstance(made, Const)
    return made.as_bits().to_bytes(TINY.beat_bytes, "little")


def test_what_happened_is_read_and_written():
    nic = AmaranthNic(TINY, top=reporting)
    registers = NamedRegisters.of(nic)
    registers.write("measure", 1)

    def happens(*frames):
        for at, frame in enumerate(frames):
            nic.offer(Port.HOST, frame, cycle=nic.cycle + 20 * at)
        nic.run(nic.cycle + 20 * len(frames) + 50)

    nic.run(100)  # the tables are clear
    happens(report(context=0), bytes([1, *bytes(15)]))
    happens(
        report(opens=1, contributor=3),
        report(contributor=3, status=Status.DUPLICATE, repeat=1),
        report(closes=1, contributor=2, ends=1),
        report(opens=1, closes=1, ends=1, origin=Origin.OVERDUE, outcome=Status.TIMED_OUT),
    )
    (nothing, found) = statistics_of(nic)
    assert nothing.counts["packets"] == 1 and nothing.context == 0
    zeros = dict.fromkeys(["packets", "bytes", "contributions", "duplicates", "last"], 0)
    assert found == ContextStatistics(
        context=1,
        counts={
            "packets": 3,
            "bytes": 384,
            "contributions": 2,
            "completions": 1,
            "failures": 1,
            "duplicates": 1,
            "repeats": 1,
            "resent": 0,
            "aborts": 1,
        },
        causes={"OK": 2, "DUPLICATE": 1},
        spread=Spread(count=1, sum=40, min=40, max=40),
        contributors={
            2: zeros | {"packets": 1, "bytes": 128, "contributions": 1, "last": 1},
            3: zeros | {"packets": 2, "bytes": 256, "contributions": 1, "duplicates": 1},
        },
    )
    events = events_of(registers)
    shared = dict(context=1, slot=0, port="host", down=False, ticks=77)
    assert events == [
        Event(kind="refused", cause="DUPLICATE", contributor=3, **shared),
        Event(kind="aborted", cause="TIMED_OUT", contributor=0, **shared),
    ]
    assert events_of(registers) == []
    assert list(lines([found], events, lost=2)) == [
        "context 1: 3 packets, 384 bytes, 2 contributions, 1 completions, 1 failures, 1 duplicates, 1 repeats, "
        "1 aborts",
        "  refused: 1 DUPLICATE",
        "  first to last contribution: 40 to 40 cycles, 40.0 on average of 1 segments",
        "  contributor 2: 1 packets, 128 bytes, 1 contributions, 1 last",
        "  contributor 3: 2 packets, 256 bytes, 1 contributions, 1 duplicates",
        "tick 77: refused, DUPLICATE: context 1, contributor 3, slot 0, host port, up",
        "tick 77: aborted, TIMED_OUT: context 1, contributor 0, slot 0, host port, up",
        "2 earlier events were lost",
    ]
    nic.close()
