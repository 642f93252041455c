"""Delivery: the right copies at the right port, one a cycle, and no port waits for the other."""

import random
from functools import cache

import pytest

from fanfold.codes import Collective, Direction
from fanfold.config import Config
from fanfold.delivery import Delivery
from fanfold.registry.ports import DIRECTORY_LATENCY
from fanfold_sim.bench import STALLS, Stall, cycle, receive, run, send

CONFIG = Config(beat_bytes=8, contributors=5, contexts=8, window=2, segment_bytes=128)
UP, DOWN = Direction.UP, Direction.DOWN
FAILED = 6


def segment(seed, leaders, children, direction=DOWN, collective=Collective.ALLREDUCE, status=0, sole=None):
    bits = random.Random(f"segment {seed}").getrandbits
    return {
        "context": bits(1),
        "slot": bits(2),
        "direction": direction,
        "leaders": leaders,
        "children": children,
        "header": {
            "coll_tag_high32": bits(32),
            "coll_tag": bits(32),
            "comm_id": bits(16),
            "opt_code": bits(8),
            "data_type": bits(8),
            "collective": collective.value,
            "flags": bits(8),
            "source": bits(16) if sole is None else sole,
            "root": bits(16),
            "status": status,
            "length": bits(16),
        },
        "writes": 1,
        "completes": 1,
        "sole": int(sole is not None),
    }


@cache
def address(context, index, parent):
    """What the directory knows: other addresses for every question."""
    bits = random.Random(f"address {context}/{index}/{parent}").getrandbits
    remote = {"mac": bits(48), "ip": bits(32), "port": bits(16), "tags": bits(1)}
    remote |= {"outer": bits(32), "inner": bits(32), "queue": bits(8)}
    return {"remote": remote, "local_mac": bits(48), "local_ip": bits(32)}


def copies_of(each, side):
    """The copies that a segment must have at a side; a silent one has no address."""
    if each["direction"] is UP:
        if side == "host":
            return []
        return [{"segment": each, **address(each["context"], None, 1), "silent": 0, "closing": 0}]
    if each["sole"]:
        index = each["header"]["source"]
        here = (index < each["leaders"]) == (side == "host")
        return [{"segment": each, **address(each["context"], index, 0), "silent": 0, "closing": 0}] if here else []
    first, count = (0, each["leaders"]) if side == "host" else (each["leaders"], each["children"])
    header = each["header"]
    ending = Collective.REGISTER if header["status"] else Collective.DEREGISTER
    closing = int(header["collective"] == ending.value)
    if count == 0:
        return [{"segment": each, "silent": 1, "closing": 1}] if closing else []
    return [
        {
            "segment": each | {"header": header | {"source": index}},
            **address(each["context"], index, 0),
            "silent": 0,
            "closing": closing if index == first + count - 1 else 0,
        }
        for index in range(first, first + count)
    ]


def plain(value):
    """A structure's constant as plain dictionaries."""
    if hasattr(value, "shape") and hasattr(value.shape(), "members"):
        return {name: plain(value[name]) for name in value.shape().members}
    return value


def check(received, expected):
    for item, copy in zip(received, expected, strict=True):
        item = plain(item)
        if copy["silent"]:
            assert (item["silent"], item["closing"]) == (1, 1)
            assert item["segment"]["context"] == copy["segment"]["context"]
        else:
            assert item == copy


class Bench:
    """A delivery with its two directories, a source of segments and a sink at each side."""

    def __init__(self, segments, *, host=Stall.NONE, net=Stall.NONE, source=Stall.NONE, host_sleeps=0):
        self.segments = segments
        self.stalls = {"host": host, "net": net}
        self.source = source
        self.host_sleeps = host_sleeps
        self.dut = Delivery(CONFIG)
        self.expected = {side: [c for each in segments for c in copies_of(each, side)] for side in ("host", "net")}
        self.done = set()
        self.results_done = {"host": [0] * CONFIG.contexts, "net": [0] * CONFIG.contexts}
        self.singles_done = {"host": [0] * CONFIG.contexts, "net": [0] * CONFIG.contexts}

    def run(self, cycles=5000):
        dut = self.dut

        async def source(ctx):
            # as the windows have it: no more segments inside than slots
            for at, each in enumerate(self.segments):
                while at - self.finished() >= CONFIG.result_slots:
                    await cycle(ctx)
                await send(ctx, dut.i, [each], self.source, seed=at)

        def sink_of(side, port):
            async def sink(ctx):
                for _ in range(self.host_sleeps if side == "host" else 0):
                    await cycle(ctx)
                self.counts[side] = 0
                received = []
                for copy in range(len(self.expected[side])):
                    received += await receive(ctx, port, 1, self.stalls[side], seed=copy)
                    self.counts[side] += 1
                check(received, self.expected[side])
                for _ in range(20):
                    assert not (await cycle(ctx, port.valid))[0], "more copies than expected"
                self.done.add(side)

            sink.__name__ = f"{side}_sink"
            return sink

        def directory_of(side, port):
            async def directory(ctx):
                later = [None] * (DIRECTORY_LATENCY - 1)
                while len(self.done) < 2:
                    valid, asked = await cycle(ctx, port.request.valid, port.request.payload)
                    parent = valid and asked.parent
                    later.append((asked.context, None if parent else asked.index, asked.parent) if valid else None)
                    answer = later.pop(0)
                    ctx.set(port.response.valid, answer is not None)
                    if answer is not None:
                        ctx.set(port.response.payload, address(*answer))

            directory.__name__ = f"{side}_directory"
            return directory

        async def watch(ctx):
            while len(self.done) < 2:
                signals = (dut.host_done, dut.net_done, dut.host_single_done, dut.net_single_done)
                done = await cycle(ctx, *signals)
                counts = [*self.results_done.values(), *self.singles_done.values()]
                for count, bits in zip(counts, done, strict=True):
                    for context in range(CONFIG.contexts):
                        count[context] += bits >> context & 1

        self.counts = {"host": 0, "net": 0}
        return run(
            dut,
            source,
            watch,
            sink_of("host", dut.host_copies),
            sink_of("net", dut.net_copies),
            directory_of("host", dut.host_directory),
            directory_of("net", dut.net_directory),
            cycles=cycles,
        )

    def finished(self):
        """Segments whose copies have left at both sides."""
        sides = []
        for side, count in self.counts.items():
            whole = 0
            for each in self.segments:
                count -= len(copies_of(each, side))
                if count < 0:
                    break
                whole += 1
            sides.append(whole)
        return min(sides)


def mixture():
    """Every kind of segment, with one, many and no contributors at each side."""
    chosen = []
    for at, (leaders, children) in enumerate([(1, 0), (0, 1), (5, 0), (0, 5), (2, 3), (3, 1), (1, 4), (0, 2)]):
        kinds = [
            segment(f"up {at}", leaders, children, UP),
            segment(f"down {at}", leaders, children),
            segment(f"failed {at}", leaders, children, status=FAILED),
            segment(f"opened {at}", leaders, children, collective=Collective.REGISTER),
            segment(f"refused {at}", leaders, children, collective=Collective.REGISTER, status=FAILED),
            segment(f"enrolled {at}", leaders, children, UP, collective=Collective.REGISTER),
            segment(f"leaving {at}", leaders, children, UP, collective=Collective.DEREGISTER),
            segment(f"left {at}", leaders, children, collective=Collective.DEREGISTER),
            *(segment(f"asked {at} {index}", leaders, children, sole=index) for index in range(leaders + children)),
            segment(f"asks to leave {at}", leaders, children, collective=Collective.DEREGISTER, sole=0),
            segment(f"stays {at}", leaders, children, collective=Collective.DEREGISTER, status=FAILED),
        ]
        # the contributors of a context are always the same
        chosen += [each | {"context": at} for each in kinds]
    random.Random("order").shuffle(chosen)
    return chosen


@pytest.mark.parametrize("stall", STALLS)
def test_every_copy_once_and_in_order(stall):
    Bench(mixture(), host=stall, net=stall, source=stall).run()


@pytest.mark.parametrize(("slow", "fast"), [("host", "net"), ("net", "host")])
def test_different_stalls_at_the_two_sides(slow, fast):
    Bench(mixture(), **{slow: Stall.SLOW_SINK, fast: Stall.AFTER_VALID}).run()


def test_a_copy_every_cycle_between_segments_of_one_contributor():
    segments = [segment(at, 1, 1) for at in range(8)]
    seen = Bench(segments).run()
    for name in ("host_copies", "net_copies"):
        taken = seen[name].taken
        assert taken == list(range(taken[0], taken[0] + 8))


def test_what_has_no_copy_at_a_side_costs_nothing_there():
    # the directions alternate: the host side has every second segment, and two copies of each
    segments = [segment(at, 2, 0, (DOWN, UP)[at % 2]) for at in range(8)]
    seen = Bench(segments).run()
    taken = seen["host_copies"].taken
    assert taken == list(range(taken[0], taken[0] + 8))


def test_each_result_is_done_with_once_at_each_side():
    # a context has contributors at a side, or it has none there
    segments = [
        segment(at, *[(2, 0), (0, 3)][at % 2], (DOWN, DOWN, UP)[at % 3]) | {"context": at % 2} for at in range(30)
    ]
    segments += [segment(at, 2, 0, sole=1) | {"context": 0} for at in range(4)]
    segments += [segment(at, 0, 3, sole=2) | {"context": 1} for at in range(3)]
    bench = Bench(segments, host=Stall.RANDOM)
    bench.run()
    to_all = [each for each in segments if each["direction"] is DOWN and not each["sole"]]
    for done in bench.results_done.values():
        assert done == [sum(each["context"] == at for each in to_all) for at in range(CONFIG.contexts)]
    upward = [sum(each["direction"] is UP and each["context"] == at for each in segments) for at in (0, 1)]
    assert bench.singles_done["host"][:2] == [4, 0]
    assert bench.singles_done["net"][:2] == [upward[0], upward[1] + 3]


def test_latency():
    bench = Bench([segment("one", 1, 1)])
    seen = bench.run()
    for name in ("host_copies", "net_copies"):
        assert seen[name].offered[0] - seen["i"].taken[0] == bench.dut.latency


def test_a_host_side_that_stands_does_not_stop_the_network_side():
    segments = [segment(at, 2, 2) for at in range(8)]
    seen = Bench(segments, host_sleeps=200).run()
    assert seen["i"].taken[-1] < 20
    assert seen["net_copies"].taken[-1] < 40
    assert seen["host_copies"].taken[0] >= 200


def test_as_many_segments_as_the_windows_allow_wait_at_both_sides():
    # so many that what lies behind the queues does not hide a missing place
    config = Config(beat_bytes=8, contributors=5, contexts=4, window=8, segment_bytes=128)
    waiting = config.result_slots + config.fold_slots + 2 * config.contexts
    dut = Delivery(config)

    async def source(ctx):
        await send(ctx, dut.i, [segment(at, 1, 1) for at in range(waiting)])

    async def directories(ctx):
        later = [(0, 0)] * (DIRECTORY_LATENCY - 1)
        for _ in range(waiting + 20):
            later.append(await cycle(ctx, dut.host_directory.request.valid, dut.net_directory.request.valid))
            host, net = later.pop(0)
            ctx.set(dut.host_directory.response.valid, host)
            ctx.set(dut.net_directory.response.valid, net)

    seen = run(dut, source, directories, cycles=400)
    assert seen["i"].taken == list(range(waiting))
