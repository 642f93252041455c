"""What the screen says of a contribution's codes and length, for every pair of an operator and a type."""

import random
from dataclasses import replace

import pytest

from fanfold.admission.screen import Screen
from fanfold.codes import Collective, DataType, Operator, Origin, Port, Status
from fanfold.config import PRESETS, Config
from fanfold_sim.bench import receive, run, send

TINY = PRESETS["tiny"]


def instance(operators: str, types: str) -> Config:
    """A tiny instance with these operators and types, by name."""
    return Config.from_dict({**TINY.as_dict(), "operators": operators.split(), "types": types.split()})


#: instances that have everything, one kind of operators or types, and some of each
CONFIGS = {
    "everything": replace(TINY, operators=tuple(Operator), types=tuple(DataType)),
    "numbers": instance("sum prod min max", "int8 int16 int32 int64 uint8 uint16 uint32 uint64"),
    "floats": instance("sum", "float16 bfloat16"),
    "bytes": instance("land bxor", "uint8 int8"),
    "pairs": instance("minloc maxloc", "float64_int32 int32_int32"),
    "some of each": instance("max bor minloc", "float64 uint16 float32_int32"),
}

PLACE = {"mac": 0x020000000001, "ip": 0x0A000001, "port": 5000, "queue": 3}


def failing(config: Config, header: dict) -> Status:
    """What MPI and the configuration say, written out."""
    collective, operator, kind, length = (header[name] for name in ("collective", "opt_code", "data_type", "length"))
    if collective in (Collective.BARRIER.value, Collective.DEREGISTER.value):
        return Status.BAD_LENGTH if length else Status.OK
    names = [
        [member.name for member in members if member.value == code]
        for members, code in ((config.operators, operator), (config.types, kind))
    ]
    if collective != Collective.ALLREDUCE.value or not all(names):
        return Status.UNSUPPORTED
    [name], [kind] = names
    if ("_" in kind) != name.endswith("LOC"):
        return Status.UNSUPPORTED
    if "FLOAT" in kind and name[0] in "LB":
        return Status.UNSUPPORTED
    return Status.BAD_LENGTH if length > config.segment_bytes or length % DataType[kind].element_bytes else Status.OK


def headers(config: Config) -> list[dict]:
    """Every pair, every number as an operator, a type and a collective, and lengths around every element size."""
    operator, kind = config.pairs[0]
    base = {"collective": Collective.ALLREDUCE.value, "opt_code": operator.value, "data_type": kind.value, "length": 16}
    found = [{"opt_code": one.value, "data_type": other.value} for one in Operator for other in DataType]
    found += [{name: code} for name in ("opt_code", "data_type", "collective") for code in range(256)]
    found += [{"collective": code, "length": 0, "opt_code": 250, "data_type": 77} for code in range(12)]
    lengths = [*range(33), *(config.segment_bytes + more for more in (-2, -1, 0, 1, 2, 16)), 0x4000, 0xFFFF]
    for one, other in {other: (one, other) for one, other in config.pairs}.values():
        found += [{"opt_code": one.value, "data_type": other.value, "length": length} for length in lengths]
    return [{**base, **one} for one in found]


def screened(config: Config, heads: list[dict], origin=Origin.RECEIVED, is_open=1) -> list:
    """What leaves the screen for each header, from a leader that is where it registered."""
    names = {"comm_id": 2, "coll_tag_high32": 0xC0FFEE}
    dut = Screen(config)
    items = [
        {
            "first": 1,
            "last": 1,
            "port": Port.HOST,
            "origin": origin,
            "head": {"header": {**names, **one}, "remote": PLACE},
        }
        for one in heads
    ]

    async def registry(ctx):
        answer = {
            "open": is_open,
            "geometry": {"leaders": 1, "children": 0, "root": 1},
            "member": PLACE,
            "parent": PLACE,
        }
        ctx.set(dut.screen.answer, {**answer, "names": {"comm_id": 2, "key": names["coll_tag_high32"]}})

    async def source(ctx):
        await send(ctx, dut.i, items)

    found = []

    async def sink(ctx):
        found.extend(await receive(ctx, dut.o, len(items)))

    monitors = run(dut, registry, source, sink, cycles=len(items) + 50)
    assert monitors["o"].taken[0] - monitors["i"].taken[0] == Screen.latency
    return found


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_what_fails_a_segment(config):
    heads = headers(config)
    random.Random(1).shuffle(heads)
    seen = set()
    for header, beat in zip(heads, screened(config, heads), strict=True):
        wanted = failing(config, header)
        assert (beat.refusal, beat.failing) == (Status.OK, wanted), header
        seen.add(wanted)
    assert seen >= {Status.OK, Status.UNSUPPORTED, Status.BAD_LENGTH}


def test_as_many_pairs_as_mpi_defines():
    config = CONFIGS["everything"]
    pairs = [
        {"collective": Collective.ALLREDUCE.value, "opt_code": one.value, "data_type": kind.value, "length": 0}
        for one in Operator
        for kind in DataType
    ]
    taken = [beat.failing == Status.OK for beat in screened(config, pairs)]
    # four operators of twelve numbers, six of eight integers, two of three pairs
    assert sum(taken) == 4 * 12 + 6 * 8 + 2 * 3 == len(config.pairs)


@pytest.mark.parametrize("collective", [Collective.ALLREDUCE, Collective.BARRIER, Collective.GATHER])
def test_a_reported_status_comes_before_the_codes(collective):
    header = {"collective": collective.value, "opt_code": 99, "data_type": 99, "length": 1}
    status = Status.TOO_LARGE
    [beat] = screened(TINY, [{**header, "status": status.value}])
    assert beat.failing == status != failing(TINY, header)


@pytest.mark.parametrize("origin", [Origin.OVERDUE, Origin.GIVEN_UP, Origin.REPEATED])
def test_a_timers_packet_gets_the_names_of_its_context(origin):
    asked = {"comm_id": 2 % TINY.contexts, "coll_tag_high32": 0, "source": 77}
    [beat] = screened(TINY, [asked], origin)
    assert (beat.refusal, beat.header.comm_id, beat.header.coll_tag_high32) == (Status.OK, 2, 0xC0FFEE)
    [beat] = screened(TINY, [asked], origin, is_open=0)
    assert beat.refusal == Status.NOT_OPEN
