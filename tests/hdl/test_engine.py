"""The whole hardware against the reference model: the same packets, in the same order, and the same counters."""

import random
import struct

import pytest

from fanfold.codes import DataType, Operator, Port
from fanfold.config import PRESETS, Config
from fanfold_sim.frames import Address
from fanfold_sim.leader import Leader
from fanfold_sim.nic import make_nic
from fanfold_sim.reference.arithmetic import fold_bytes, fold_tree
from fanfold_sim.toolchain import has_compiler
from fanfold_sim.traffic import play, script

TINY = PRESETS["tiny"]

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="Verilated models need a C++ compiler")


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


@needs_compiler
@pytest.mark.parametrize("preset", ["tiny", "numa"])
def test_engine_follows_the_protocol_verilated(preset):
    for seed in range(100):
        compare("verilator", PRESETS[preset], seed, rounds=3)


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize(
    "config",
    [
        PRESETS["small"],
        Config(beat_bytes=32, contributors=5, contexts=2, window=2, segment_bytes=192),
        Config(beat_bytes=8, contributors=3, contexts=4, window=4, adder_stages=3, segment_bytes=320),
        Config(beat_bytes=64, contributors=2, contexts=2, window=2, segment_bytes=128, adder_stages=5),
        Config(beat_bytes=16, contributors=13, contexts=2, window=2, operators=(Operator.SUM,), queue_bits=1),
    ],
    ids=lambda config: f"{config.beat_bytes}-byte-{config.contributors}",
)
def test_engine_follows_the_protocol_in_other_configurations(config):
    for seed in range(300):
        compare("verilator", config, seed, rounds=3)


@needs_compiler
def test_bits_do_not_depend_on_the_order_of_96_arrivals():
    """Every core a leader: values of which a running sum would depend on the order, in many orders, through the RTL."""
    config = Config(beat_bytes=8, contributors=96, contexts=2, window=2, segment_bytes=128)
    choices = random.Random(96)
    values = [struct.pack("<2f", choices.choice((1e8, -1e8, 1.0)), choices.uniform(-1, 1)) for _ in range(96)]
    results, running = set(), set()
    nic = make_nic("verilator", config)
    address = Address(mac=0x0200000000FE, ip=0x0A0000FE, port=config.udp_port)
    leaders = [Leader(Address(0x020000000000 + i, 0x0A000000 + i, 5000), address, 1, 7, i) for i in range(96)]

    def exchange(frames):
        for frame in frames:
            nic.offer(Port.HOST, frame, cycle=nic.cycle)
        departures = nic.run(nic.cycle + 6000)
        answers = [[leader.hear(one.frame) for one in departures] for leader in leaders]
        return [next(answer for answer in each if answer) for each in answers]

    assert {one.ranks for one in exchange(one.register(ranks=1, leaders=96, window=2) for one in leaders)} == {96}
    for _ in range(20):
        order = choices.sample(range(96), 96)
        answers = exchange(leaders[index].allreduce(values[index], Operator.SUM, DataType.FLOAT32) for index in order)
        results |= {answer.payload for answer in answers}
        total = values[order[0]]
        for index in order[1:]:
            total = fold_bytes(Operator.SUM, DataType.FLOAT32, total, values[index])
        running.add(total)
    nic.close()
    assert results == {fold_tree(Operator.SUM, DataType.FLOAT32, [*values, *[None] * 32], 128)}
    assert len(running) > 1, "these values would not tell the orders apart"
