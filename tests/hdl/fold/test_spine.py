"""The spine against the tree of the model: orders of arrival, gaps in the tree, mixed packets, and its pace."""

import random
import struct
from dataclasses import dataclass
from itertools import permutations

import pytest

from fanfold.codes import DataType, Operator
from fanfold.config import Config
from fanfold.fold.spine import Spine, spine_latency
from fanfold.fold.stage import stage_latency
from fanfold.wire import result_layout
from fanfold_sim.bench import Stall, run, send
from fanfold_sim.reference.arithmetic import fold_bytes, fold_tree


@dataclass(frozen=True)
class Plan:
    """What a packet does at each level."""

    combine: int
    keep: int


def plan(levels: int, present: set[int], arrived: set[int], leaf: int) -> Plan:
    """The plan of ``leaf``'s packet when those of ``arrived`` are in and those of ``present`` will be."""
    combine = 0
    for level in range(levels):
        sibling = {other for other in present if other >> level == leaf >> level ^ 1}
        if sibling and sibling <= arrived:
            combine |= 1 << level
        elif sibling:
            return Plan(combine, 1 << level)
    return Plan(combine, 0)


@dataclass(frozen=True)
class Packet:
    leaf: int
    slot: int
    operator: Operator
    data_type: DataType
    payload: bytes
    plan: Plan
    bad: bool = False


class Segment:
    """A segment whose contributions come in some order; knows what each packet has to do."""

    def __init__(self, config, slot, operator, data_type, parts: dict[int, bytes]):
        self.config, self.slot, self.operator, self.data_type, self.parts = config, slot, operator, data_type, parts
        self.arrived: set[int] = set()

    def packet(self, leaf: int, bad: bool = False) -> Packet:
        planned = plan(self.config.levels, set(self.parts), self.arrived, leaf)
        if not bad:
            self.arrived.add(leaf)
        payload = random.Random(leaf).randbytes(len(self.parts[leaf])) if bad else self.parts[leaf]
        return Packet(leaf, self.slot, self.operator, self.data_type, payload, planned, bad)

    @property
    def complete(self) -> bool:
        return self.arrived == set(self.parts)

    def result(self) -> bytes:
        parts = [self.parts.get(index) for index in range(self.config.leaves)]
        return fold_tree(self.operator, self.data_type, parts, self.config.leaves)


def beats(config: Config, packet: Packet) -> list[dict]:
    size = config.beat_bytes
    chunks = [packet.payload[at : at + size].ljust(size, b"\0") for at in range(0, len(packet.payload), size)]
    return [
        {
            "data": int.from_bytes(chunk, "little"),
            "first": index == 0,
            "last": index == len(chunks) - 1,
            "bad": packet.bad and index == len(chunks) - 1,
            "beat": index,
            "slot": packet.slot,
            "leaf": packet.leaf,
            "operator": packet.operator,
            "type": packet.data_type,
            "combine": packet.plan.combine,
            "keep": packet.plan.keep,
        }
        for index, chunk in enumerate(chunks)
    ]


def flow(config: Config, packets: list[Packet], stall: Stall = Stall.NONE) -> list[tuple[bytes, bool]]:
    """Sends the packets; what leaves as payload and ``bad``. Every beat must leave exactly ``latency`` cycles after it
    went in, unless it is kept."""
    dut = Spine(config)
    sent = [beat for packet in packets for beat in beats(config, packet)]

    async def source(ctx):
        await send(ctx, dut.i, sent, stall, seed=3)
        await ctx.tick().repeat(dut.latency + 2)

    monitors = run(dut, source, cycles=20 * len(sent) + 2 * dut.latency + 10)
    went_in, went_out = monitors["i"].taken, monitors["o"].taken
    passing = [now for now, beat in zip(went_in, sent, strict=True) if not beat["keep"]]
    assert went_out == [now + dut.latency for now in passing]
    if stall is Stall.NONE:
        assert went_in == list(range(went_in[0], went_in[0] + len(sent)))

    left = []
    payload, index = b"", 0
    for bits in monitors["o"].items:
        beat = result_layout(config).from_bits(bits)
        assert (beat.first, beat.beat) == (index == 0, index)
        payload += beat.data.to_bytes(config.beat_bytes, "little")
        index += 1
        if beat.last:
            left.append((payload, bool(beat.bad)))
            payload, index = b"", 0
    assert index == 0
    return left


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def small(contributors: int = 4, beat_bytes: int = 8, **options) -> Config:
    """A few slots, and few types unless others are asked for: all of them have the tests of the lane."""
    few = {"operators": (Operator.SUM, Operator.MAX), "types": (DataType.INT32, DataType.FLOAT32, DataType.FLOAT16)}
    sizes = {"contexts": 2, "window": 2, "segment_bytes": 192}
    return Config(beat_bytes=beat_bytes, contributors=contributors, **sizes, **(few | options))


#: four contributions whose naive sums depend on the order
TELLING = (
    floats(2.0**24, 1.0, -1e30, 3.0e38),
    floats(1.0, 2.0**24, 1.0, 3.0e38),
    floats(1.0, 1.0, 1e30, -3.0e38),
    floats(1.0, -(2.0**24), 1.0, 1.0),
)


def test_every_order_gives_the_same_bits():
    naive = set()
    config = small(adder_stages=3)
    packets, expected = [], []
    for number, order in enumerate(permutations(range(4))):
        segment = Segment(config, number % 4, Operator.SUM, DataType.FLOAT32, dict(enumerate(TELLING)))
        packets += [segment.packet(leaf) for leaf in order]
        expected.append((segment.result(), False))
        total = TELLING[order[0]]
        for leaf in order[1:]:
            total = fold_bytes(Operator.SUM, DataType.FLOAT32, total, TELLING[leaf])
        naive.add(total)
    assert len(set(expected)) == 1 and len(naive) > 1
    assert flow(config, packets) == expected


@pytest.mark.parametrize(
    "contributors, stages, stall",
    [
        (2, 8, Stall.NONE),
        (3, 8, Stall.NONE),
        (4, 8, Stall.NONE),
        (4, 8, Stall.SLOW_SOURCE),
        (5, 5, Stall.NONE),
        (8, 3, Stall.SLOW_SOURCE),
    ],
)
def test_random_orders_types_and_lengths(contributors, stages, stall):
    """Segments of all slots at once, mixed packet by packet, with gaps in the tree and bad packets between."""
    config = small(contributors, adder_stages=stages)
    rng = random.Random(contributors * 10 + stages)
    packets, expected = [], []
    segments: dict[int, Segment] = {}
    while len(packets) < 80:
        slot = rng.randrange(config.fold_slots)
        if slot not in segments:
            present = rng.sample(range(contributors), rng.randint(1, contributors))
            size = 4 * rng.choice((1, 2, 3, 6, 48)) if rng.random() < 0.3 else 8
            size = -(-size // config.beat_bytes) * config.beat_bytes
            parts = {leaf: rng.randbytes(size) for leaf in present}
            segments[slot] = Segment(config, slot, *rng.choice(config.pairs), parts)
        segment = segments[slot]
        leaf = rng.choice(sorted(set(segment.parts) - segment.arrived))
        if rng.random() < 0.1:
            packets.append(segment.packet(leaf, bad=True))
            if not packets[-1].plan.keep:
                expected.append((None, True))
            continue
        packets.append(segment.packet(leaf))
        if segment.complete:
            expected.append((segment.result(), False))
            del segments[slot]
    found = flow(config, packets, stall)
    assert [bad for _, bad in found] == [bad for _, bad in expected]
    for (payload, bad), (whole, _) in zip(found, expected, strict=True):
        assert bad or payload == whole


def test_single_beats_back_to_back_in_one_slot():
    """A place is read in the cycle after it was written, and written again right after that."""
    config = small(adder_stages=8)
    rng = random.Random(1)
    packets, expected = [], []
    for _ in range(40):
        segment = Segment(
            config, 1, Operator.SUM, DataType.INT32, {leaf: rng.randbytes(8) for leaf in rng.choice(((0, 1), range(4)))}
        )
        order = list(segment.parts)
        rng.shuffle(order)
        packets += [segment.packet(leaf) for leaf in order]
        expected.append((segment.result(), False))
    assert flow(config, packets) == expected


def test_wide_beats():
    config = small(contributors=3, beat_bytes=32, adder_stages=8)
    parts = {leaf: random.Random(leaf).randbytes(192) for leaf in range(3)}
    packets, expected = [], []
    for order in permutations(parts):
        segment = Segment(config, 3, Operator.SUM, DataType.FLOAT32, parts)
        packets += [segment.packet(leaf) for leaf in order]
        expected.append((segment.result(), False))
    assert flow(config, packets) == expected


@pytest.mark.parametrize(
    "beat_bytes, stages, stall",
    [(8, 8, Stall.NONE), (8, 10, Stall.SLOW_SOURCE), (8, 3, Stall.NONE), (16, 5, Stall.NONE)],
)
def test_pairs_that_take_two_lanes_or_two_beats(beat_bytes, stages, stall):
    """The index follows how the value compared, whatever comes between the halves; ties go to the lowest index."""
    operators, types = (Operator.MINLOC, Operator.MAXLOC, Operator.SUM), (DataType.FLOAT64_INT32, DataType.FLOAT64)
    config = small(4, beat_bytes, operators=operators, types=types, adder_stages=stages)
    rng = random.Random(beat_bytes + stages)
    values = (-1.0, -0.0, 0.0, 5e-324, 1.0, float("inf"), float("nan"))
    packets, expected = [], []
    for number in range(12):
        operator, data_type = rng.choice(config.pairs[:2] if number % 4 else config.pairs)
        parts = {}
        for leaf in rng.sample(range(4), rng.randint(1, 4)):
            elements = [(rng.choice(values), rng.choice((-(2**31), -1, 0, 7, 2**31 - 1))) for _ in range(4)]
            parts[leaf] = b"".join(struct.pack("<di", *element) + rng.randbytes(4) for element in elements)
        segment = Segment(config, number % config.fold_slots, operator, data_type, parts)
        packets += [segment.packet(leaf) for leaf in rng.sample(sorted(parts), len(parts))]
        expected.append((segment.result(), False))
    assert flow(config, packets, stall) == expected


def test_lone_contribution_passes_bit_for_bit():
    config = small()
    odd = floats(1.0) + bytes.fromhex("0100807f")  # a signalling NaN
    segment = Segment(config, 0, Operator.MAX, DataType.FLOAT32, {2: odd})
    assert flow(config, [segment.packet(2)]) == [(odd, False)]


def test_latencies():
    assert spine_latency(small(4, adder_stages=8)) == 2 * (3 + 8)
    assert stage_latency(small(5, adder_stages=5)) == 3 + 5
    assert spine_latency(small(2, types=(DataType.UINT32,))) == 3 + 2
