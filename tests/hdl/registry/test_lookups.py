"""The registry's answers: every port finds what was written last, and an ingress only what is open at its address."""

import random
from itertools import product

from fanfold.config import PRESETS
from fanfold.registry.lookups import Lookups
from fanfold.registry.ports import DIRECTORY_LATENCY, LOOKUP_LATENCY
from fanfold_sim.bench import cycle, run

TINY = PRESETS["tiny"]
#: where the contexts' blocks of places begin
BASES = (4, 0)
NAMES = ("comm_id", "key", "local_mac", "local_ip")


def some_context(choices: random.Random, context: int) -> dict[str, int]:
    """Names and address of a context, with bits all over."""
    comm_id = choices.getrandbits(16) // TINY.contexts * TINY.contexts + context
    return dict(zip(NAMES, (comm_id, *(choices.getrandbits(bits) for bits in (32, 48, 32))), strict=True))


async def describe(ctx, dut: Lookups, context: int, written: dict[str, int]) -> None:
    names = {"comm_id": written["comm_id"], "key": written["key"]}
    local = {"local_mac": written["local_mac"], "local_ip": written["local_ip"]}
    ctx.set(dut.describe.payload, {"context": context, "names": names, **local})
    ctx.set(dut.describe.valid, 1)
    await cycle(ctx)
    ctx.set(dut.describe.valid, 0)


def test_an_ingress_finds_its_context_by_every_bit_of_names_and_address():
    dut = Lookups(TINY)
    choices = random.Random(1)
    contexts = [some_context(choices, context) for context in range(TINY.contexts)]
    widths = dict(zip(NAMES, (16, 32, 48, 32), strict=True))
    questions = [(contexts[0], True, True), (contexts[1], False, True)]
    for name, width in widths.items():
        for bit in range((TINY.contexts - 1).bit_length() if name == "comm_id" else 0, width):
            named = name in ("comm_id", "key")
            questions += [({**contexts[0], name: contexts[0][name] ^ 1 << bit}, not named, named)]
    questions += questions[:2]

    async def bench(ctx):
        for context, written in enumerate(contexts):
            await describe(ctx, dut, context, some_context(choices, context))  # of a life before
            await describe(ctx, dut, context, written)
        ctx.set(dut.open_contexts, 0b01)
        for port in (dut.host_lookup, dut.net_lookup):
            answers = []
            for asked in [question for question, _, _ in questions] + LOOKUP_LATENCY * [None]:
                ctx.set(port.request.valid, asked is not None)
                if asked:
                    names = {"comm_id": asked["comm_id"], "key": asked["key"]}
                    local = {"local_mac": asked["local_mac"], "local_ip": asked["local_ip"]}
                    ctx.set(port.request.payload, {"names": names, **local})
                answers.append(await cycle(ctx, port.response.valid, port.response.p.open, port.response.p.here))
            assert not any(valid for valid, _, _ in answers[:LOOKUP_LATENCY])
            for answer, (asked, is_open, here) in zip(answers[LOOKUP_LATENCY:], questions, strict=True):
                assert answer == (1, is_open, here), asked

    run(dut, bench, cycles=600)


def test_copies_find_the_place_of_each_contributor_and_of_the_parent():
    dut = Lookups(TINY)
    choices = random.Random(2)
    contexts = [some_context(choices, context) for context in range(TINY.contexts)]
    places = list(product(range(TINY.contexts), range(TINY.contributors)))
    macs = {place: choices.getrandbits(48) for place in places}
    parents = [choices.getrandbits(48) for _ in contexts]
    questions = [*((*place, 0) for place in places), *((context, 0, 1) for context in range(TINY.contexts))]

    async def bench(ctx):
        for context, written in enumerate(contexts):
            ctx.set(dut.describe.p.parent.mac, parents[context])
            ctx.set(dut.describe.p.context, context)
            ctx.set(dut.describe.p.geometry.base, BASES[context])
            ctx.set(dut.describe.p.local_mac, written["local_mac"])
            ctx.set(dut.describe.p.local_ip, written["local_ip"])
            ctx.set(dut.describe.valid, 1)
            await cycle(ctx)
        ctx.set(dut.describe.valid, 0)
        for (context, index), mac in macs.items():
            ctx.set(dut.enrol.payload, {"place": BASES[context] + index, "address": {"mac": mac}})
            ctx.set(dut.enrol.valid, 1)
            await cycle(ctx)
        ctx.set(dut.enrol.valid, 0)
        for port in (dut.host_directory, dut.net_directory):
            answers = []
            for asked in questions + DIRECTORY_LATENCY * [None]:
                ctx.set(port.request.valid, asked is not None)
                if asked:
                    ctx.set(port.request.payload, dict(zip(("context", "index", "parent"), asked, strict=True)))
                answer = port.response.p
                answers.append(
                    await cycle(ctx, port.response.valid, answer.remote.mac, answer.local_mac, answer.local_ip)
                )
            for answer, (context, index, to_parent) in zip(answers[DIRECTORY_LATENCY:], questions, strict=True):
                remote = parents[context] if to_parent else macs[context, index]
                assert answer == (1, remote, contexts[context]["local_mac"], contexts[context]["local_ip"])

    run(dut, bench, cycles=200)
