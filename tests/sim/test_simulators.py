"""Both simulators of the hardware behave as one: same frames in the same cycles, same registers, same failures."""

import random

import pytest
from pass_through import FORBIDDEN, pass_through

from fanfold.codes import DataType, Operator, Port
from fanfold.config import PRESETS, Config
from fanfold_sim import toolchain
from fanfold_sim.frames import Address
from fanfold_sim.leader import Leader
from fanfold_sim.simulators.amaranth import AmaranthNic, settle_cycles
from fanfold_sim.simulators.verilator import VerilatorNic

TINY = PRESETS["tiny"]
MAKERS = [AmaranthNic, VerilatorNic]


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def nic(request):
    nic = request.param(TINY, top=pass_through)
    yield nic
    nic.close()


def traffic(config: Config, seed: int) -> list[tuple[Port, bytes, int, int, bool]]:
    """Frames of telling lengths at both ports, some back to back, some long after."""
    rng = random.Random(seed)
    width, cycle = config.beat_bytes, 0
    frames = []
    for length in [1, width - 1, width, width + 1, 2 * width, 3 * width + 5, 1, 1, 1, 10 * width]:
        for port in Port:
            frame = bytes([0, *rng.randbytes(length - 1)])
            frames.append((port, frame, cycle, rng.randrange(FORBIDDEN), rng.random() < 0.3))
        cycle += rng.choice([0, 0, 1, 7, 20_000])
    return frames


def play(nic, frames, steps) -> tuple[list, list]:
    """Offers everything at once, runs in ``steps``; the departures and the accepted cycles."""
    for port, frame, cycle, queue, bad in frames:
        nic.offer(port, frame, cycle=cycle, queue=queue, bad=bad)
    departures = [each for until in steps for each in nic.run(until)]
    return departures, nic.accepted_cycles()


@pytest.mark.parametrize("width", [8, 64])
def test_same_frames_in_the_same_cycles(width):
    config = Config(beat_bytes=width, contributors=4, contexts=2, window=2, segment_bytes=128, queue_bits=12)
    frames = traffic(config, seed=width)
    results = {}
    for maker in MAKERS:
        nic = maker(config, top=pass_through)
        results[maker] = play(nic, frames, [10, 11, 5000, 300_000])
        assert nic.quiet and nic.cycle == 300_000
        assert nic.counters()["host_regular"] == nic.counters()["net_regular"] == len(frames) // 2
        nic.close()
    assert results[AmaranthNic] == results[VerilatorNic]
    departures, accepted = results[VerilatorNic]
    for port in Port:
        sent = [(frame, queue, bad) for side, frame, _, queue, bad in frames if side is port]
        assert [(each.frame, each.queue, each.bad) for each in departures if each.port is not port] == sent
    assert len(accepted) == len(frames)


def test_a_beat_a_cycle_from_the_cycle_asked_for(nic):
    nic.offer(Port.HOST, bytes(24), cycle=5)
    nic.offer(Port.HOST, bytes(8), cycle=0)
    nic.offer(Port.NET, bytes(8), cycle=9)
    departures = nic.run(100)
    assert nic.accepted_cycles() == [(Port.HOST, 5, 7), (Port.HOST, 8, 8), (Port.NET, 9, 9)]
    assert nic.accepted_cycles() == []
    latency = departures[0].first_cycle - 5
    assert [(each.first_cycle - latency, each.last_cycle - latency) for each in departures] == [(5, 7), (8, 8), (9, 9)]


def test_departures_of_one_cycle_come_host_first(nic):
    nic.offer(Port.HOST, bytes(8), cycle=3)
    nic.offer(Port.NET, bytes(8), cycle=3)
    assert [each.port for each in nic.run(50)] == [Port.HOST, Port.NET]


def test_a_frame_that_is_not_out_yet_comes_with_a_later_run(nic):
    nic.offer(Port.NET, bytes(800), cycle=0)
    assert nic.run(60) == []
    assert not nic.quiet
    assert [len(each.frame) for each in nic.run(1000)] == [800]


def test_quiet_time_is_skipped_and_ends_with_a_frame(nic):
    nic.run(2000)
    assert nic.quiet
    nic.run(10**9)
    assert nic.cycle == 10**9
    nic.offer(Port.HOST, bytes(8), cycle=10**9)
    assert not nic.quiet
    assert len(nic.run(10**9 + 100)) == 1
    assert nic.accepted_cycles() == [(Port.HOST, 10**9, 10**9)]


def test_a_frame_may_come_in_the_next_cycle_to_run(nic):
    nic.run(10)
    nic.offer(Port.HOST, bytes(8), cycle=10)
    nic.run(11)
    nic.offer(Port.HOST, bytes(8), cycle=11)
    nic.run(100)
    assert nic.accepted_cycles() == [(Port.HOST, 10, 10), (Port.HOST, 11, 11)]


def test_what_cannot_be_offered(nic):
    nic.run(10)
    with pytest.raises(ValueError, match="cycle is 9: the next cycle to run is 10"):
        nic.offer(Port.HOST, bytes(8), cycle=9)
    with pytest.raises(ValueError, match="empty"):
        nic.offer(Port.HOST, b"", cycle=10)
    with pytest.raises(ValueError, match="queue is 256: it must be from 0 to 255"):
        nic.offer(Port.HOST, bytes(8), cycle=10, queue=256)


def test_registers_by_address(nic):
    assert nic.read_register(0) == int.from_bytes(b"FOLD", "big")
    with pytest.raises(RuntimeError, match="no register at this address"):
        nic.read_register(0xFFC)
    with pytest.raises(RuntimeError, match="no writable register at this address"):
        nic.write_register(0, 1)


def test_reading_registers_of_a_quiet_nic_takes_no_time(nic):
    nic.offer(Port.HOST, bytes(8), cycle=0)
    nic.run(2000)
    assert nic.counters()["host_regular"] == 1
    assert nic.cycle == 2000 and nic.quiet


def test_frames_go_on_while_registers_are_read(nic):
    nic.offer(Port.HOST, bytes(4000), cycle=0)
    nic.run(10)
    nic.read_register(0)
    assert nic.cycle > 10
    (departure,) = nic.run(2000)
    assert departure.last_cycle - departure.first_cycle == 4000 // 8 - 1


def test_a_failed_assertion_of_the_hardware_is_seen(nic):
    nic.offer(Port.HOST, bytes(8), cycle=0, queue=FORBIDDEN)
    with pytest.raises(AssertionError):
        nic.run(100)


@pytest.mark.parametrize("maker", MAKERS)
def test_waveforms(maker, tmp_path):
    waves = tmp_path / "deeper" / "waves.vcd"
    nic = maker(TINY, waves=waves, top=pass_through)
    nic.offer(Port.HOST, bytes(range(32)), cycle=4)
    nic.run(40)
    nic.close()
    nic.close()
    text = waves.read_text()
    assert "s_axis_host_tdata" in text and "engine" in text


def test_a_model_is_built_once_and_never_half(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("FANFOLD_BUILD", str(tmp_path))
    monkeypatch.setattr(toolchain, "verilator", lambda: "/bin/false")
    with pytest.raises(RuntimeError, match="cannot build"):
        VerilatorNic(TINY, top=pass_through)
    assert list((tmp_path / "verilated").iterdir()) == []
    capfd.readouterr()
    monkeypatch.undo()
    VerilatorNic(TINY, top=pass_through).close()
    capfd.readouterr()
    VerilatorNic(TINY, top=pass_through).close()
    assert capfd.readouterr().err == ""


def test_without_a_compiler_the_message_names_it(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(toolchain.ToolMissing, match=r"C\+\+ compiler.*no-such-compiler"):
        VerilatorNic(TINY, top=pass_through)
    assert not toolchain.has_compiler()


def collective(nic, steps: int) -> tuple[list, list]:
    """A whole life of a communicator of three leaders, each frame ``steps`` cycles after the one before."""
    here = Address(0x02000000FF00, 0x0A0000FE, TINY.udp_port)
    leaders = [
        Leader(Address(0x020000000100 + index, 0x0A000001 + index, 5000 + index, queue=index), here, 4, 0xC0FFEE, index)
        for index in range(3)
    ]
    rounds = [
        lambda leader: leader.register(ranks=1, leaders=3, window=2),
        lambda leader: leader.allreduce(bytes([leader.index, 2, 3, 4] * 30), Operator.SUM, DataType.FLOAT32),
        lambda leader: leader.allreduce(bytes([1, 2, 3, leader.index]), Operator.MIN, DataType.INT32),
        lambda leader: leader.barrier(),
        lambda leader: leader.deregister(),
    ]
    departures = []
    for send in rounds:
        for leader in leaders:
            nic.offer(Port.HOST, send(leader), cycle=nic.cycle, queue=leader.address.queue)
            departures += nic.run(nic.cycle + steps)
        departures += nic.run(nic.cycle + 250)
    answers = [said for gone in departures for leader in leaders if (said := leader.hear(gone.frame))]
    assert len(answers) == 15 and all(answer.ok for answer in answers)
    return departures, nic.accepted_cycles()


@pytest.mark.parametrize("steps", [0, 37])
def test_the_whole_nic_in_the_same_cycles(steps):
    results = []
    for maker in MAKERS:
        nic = maker(TINY)
        results.append((*collective(nic, steps), nic.counters()))
        nic.close()
    assert results[0] == results[1]


def test_nothing_moves_after_the_cycles_that_are_waited_for():
    """The bound that Amaranth's simulator waits for, against the state of the Verilated model."""
    nic = VerilatorNic(TINY)
    collective(nic, 0)
    nic.run(nic.cycle + 2000)
    for length in (60, 1500):
        nic.offer(Port.HOST, bytes(length), cycle=nic.cycle)
        moved = nic.cycle
        while not nic.quiet:
            departures, accepted = nic.run(nic.cycle + 1), nic.accepted_cycles()
            if departures or accepted:
                moved = nic.cycle
        assert nic.cycle - moved < settle_cycles(TINY) / 2
    nic.close()
