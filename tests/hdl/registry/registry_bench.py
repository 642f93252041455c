"""A registry on its own: registrations in, and what comes of them, with stalls everywhere and a clock that may stop."""

import random
from collections import Counter
from dataclasses import dataclass, field

from fanfold.codes import Collective, Direction, Operator, Port, Status
from fanfold.config import PRESETS, Config
from fanfold.registry.ports import LOOKUP_LATENCY
from fanfold.registry.registry import Registry
from fanfold.wire import FLAGS, RECORD, TOTAL, VERSION
from fanfold_sim.bench import cycle, run

__all__ = ["PARENT", "TINY", "Bench", "address", "flags", "record"]

TINY = PRESETS["tiny"]
PARENT = {"mac": 0x020000_0000FE, "ip": 0x0A0000FE, "port": 49169}


def flags(direction: Direction, *, repeat: bool = False) -> int:
    """The header's flags byte."""
    return FLAGS.const({"direction": direction.value, "repeat": repeat, "version": VERSION}).as_bits()


def address(index: int) -> dict[str, int]:
    """Where contributor ``index`` is."""
    return {"mac": 0x020000_000000 + index, "ip": 0x0A000000 + index, "port": 5000 + index, "queue": index}


def record(leaders: int, children: int, *, root: bool = True, ranks: int = 1, window: int = 1, **others) -> dict:
    """What a contributor says of its node; a child of the node itself, if not said otherwise."""
    parent = {} if root else {f"parent_{name}": value for name, value in PARENT.items()} | {"parent_index": 3}
    return {
        "ranks": ranks, "leaders": leaders, "children": children, "window": window, "flags": root,
        "parent_total": leaders + children, **parent, **others,
    }  # fmt: skip


@dataclass
class Bench:
    """Runs a scenario, a coroutine function of ``ctx`` and this bench, on a registry.

    ``announced`` and ``refused`` collect what came out, ``counts`` the events; ``freed`` counts by context. A tick of
    the clock takes ``tick`` cycles.
    """

    config: Config = TINY
    seed: int = 0
    tick: int = 16
    #: chance that a sink hesitates for a cycle
    hesitates: float = 0.5
    timing: dict = field(default_factory=dict)
    announced: list = field(default_factory=list)
    refused: dict = field(default_factory=lambda: {port: [] for port in Port})
    counts: Counter = field(default_factory=Counter)
    freed: Counter = field(default_factory=Counter)
    cycles: int = 0
    now: int = 0
    blocked: set = field(default_factory=set)

    def run(self, scenario, cycles: int = 20_000) -> None:
        self.dut = dut = Registry(self.config)
        self._over = False

        async def story(ctx):
            ctx.set(dut.timing, self.timing)
            await scenario(ctx, self)
            await self.settle(ctx)
            self._over = True

        run(dut, story, self._clock, self._take_announcements, *map(self._take_refusals, Port), cycles=cycles)

    async def _clock(self, ctx):
        dut, cycles = self.dut, 0
        while not self._over:
            timed, freed, events = await cycle(ctx, dut.timed, dut.freed, dut.events)
            self.cycles += 1
            self.counts.update({name: 1 for name, _ in dut.events.shape() if events[name]})
            self.freed.update(context for context in range(self.config.contexts) if freed >> context & 1)
            if timed:
                cycles += 1
                if cycles % self.tick == 0:
                    self.now += 1
                    ctx.set(dut.now, self.now)

    async def _take_announcements(self, ctx):
        choices, dut, beats = random.Random(self.seed), self.dut, []
        while not self._over:
            ready = choices.random() >= self.hesitates and "announcements" not in self.blocked
            ctx.set(dut.announcements.ready, ready)
            valid, beat = await cycle(ctx, dut.announcements.valid, dut.announcements.payload)
            if valid and ready:
                assert beat.first == (not beats)
                beats.append(beat.data)
                if beat.last:
                    self.announced.append(_announcement(beat, beats, self.config.beat_bytes))
                    beats = []

    def _take_refusals(self, port):
        async def take(ctx):
            choices = random.Random(self.seed + 1 + port.value)
            stream = self.dut.host_refusals if port is Port.HOST else self.dut.net_refusals
            while not self._over:
                ready = choices.random() >= self.hesitates and port not in self.blocked
                ctx.set(stream.ready, ready)
                valid, copy = await cycle(ctx, stream.valid, stream.payload)
                if valid and ready:
                    header = copy.segment.header
                    assert (header.length, header.collective) == (0, Collective.REGISTER.value)
                    assert copy.local_mac == 0xAA and copy.local_ip == 0xBB
                    self.refused[port].append((header.source, Status(header.status), copy.remote.mac))

        take.__name__ = f"refusals at {port.name}"
        return take

    async def up(self, ctx, index: int, said: dict, *, comm_id=0, key=7, tag=40, at=None, sender=None, bad=0, **head):
        """Contributor ``index`` registers: a leader at the host port, a child NIC at the network port."""
        port = Port.HOST if index < said["leaders"] else Port.NET
        await self._send(ctx, Direction.UP, at or port, RECORD.pack(**said), sender or address(index), bad,
            comm_id=comm_id, coll_tag_high32=key, coll_tag=tag, source=index, length=RECORD.bytes, **head)  # fmt: skip

    async def down(self, ctx, ranks: int = 0, status=Status.OK, *, comm_id=0, key=7, tag=40, sender=None):
        """The parent answers."""
        length = 0 if status.value else TOTAL.bytes
        await self._send(ctx, Direction.DOWN, Port.NET, TOTAL.pack(ranks=ranks), sender or PARENT, 0,
            comm_id=comm_id, coll_tag_high32=key, coll_tag=tag, status=status.value, length=length)  # fmt: skip

    async def _send(self, ctx, direction, port, payload, sender, bad, **header):
        stream, width = self.dut.registrations, self.config.beat_bytes
        header |= {"collective": Collective.REGISTER.value, "opt_code": Operator.SUM.value, "flags": flags(direction)}
        head = {"header": header, "remote": sender, "local_mac": 0xAA, "local_ip": 0xBB}
        for at in range(0, len(payload), width):
            last = at + width >= len(payload)
            data = int.from_bytes(payload[at : at + width], "little")
            beat = {"data": data, "first": at == 0, "last": last, "bad": bad and last, "head": head, "port": port}
            ctx.set(stream.payload, beat)
            ctx.set(stream.valid, 1)
            while not (await cycle(ctx, stream.ready))[0]:
                pass
            ctx.set(stream.valid, 0)

    async def settle(self, ctx, cycles: int = 120):
        """Long enough for all that is under way here."""
        for _ in range(cycles):
            await cycle(ctx)

    async def until(self, ctx, condition, limit: int = 10_000):
        for _ in range(limit):
            if condition():
                return
            await cycle(ctx)
        raise AssertionError("it did not happen")

    async def ticks(self, ctx, ticks: int):
        """As many ticks of a clock that runs."""
        await self.settle(ctx, self.tick * ticks)

    async def close(self, ctx, context: int):
        """Both egresses report the closing copies."""
        for stream in (self.dut.host_closed, self.dut.net_closed):
            ctx.set(stream.payload, context)
            ctx.set(stream.valid, 1)
            await cycle(ctx)
            ctx.set(stream.valid, 0)

    async def release(self, ctx, context: int):
        """The host frees a context."""
        ctx.set(self.dut.release.payload, context)
        ctx.set(self.dut.release.valid, 1)
        while not (await cycle(ctx, self.dut.release.ready))[0]:
            pass
        ctx.set(self.dut.release.valid, 0)

    def is_open(self, ctx, context: int) -> bool:
        """Whether a context is open, as the other rooms see it."""
        return bool(ctx.get(self.dut.open_contexts) >> context & 1)

    async def timed(self, ctx) -> bool:
        """Whether the clock must run."""
        return bool((await cycle(ctx, self.dut.timed))[0])

    async def answers(self, ctx, context: int) -> tuple[int, int]:
        """Whether a context is open, and whether it lingers, as admission hears it."""
        ctx.set(self.dut.screen.question, {"context": context, "index": 0})
        await cycle(ctx)
        return await cycle(ctx, self.dut.screen.answer.open, self.dut.screen.answer.lingering)

    async def found(self, ctx, comm_id: int = 0, key: int = 7) -> bool:
        """Whether an ingress takes packets of a communicator as tagged."""
        lookup = self.dut.net_lookup
        names = {"comm_id": comm_id, "key": key}
        ctx.set(lookup.request.payload, {"names": names, "local_mac": 0xAA, "local_ip": 0xBB})
        ctx.set(lookup.request.valid, 1)
        await cycle(ctx)
        ctx.set(lookup.request.valid, 0)
        for _ in range(LOOKUP_LATENCY - 1):
            await cycle(ctx)
        valid, is_open, here = await cycle(ctx, lookup.response.valid, lookup.response.p.open, lookup.response.p.here)
        assert valid
        return bool(is_open and here)


def _announcement(beat, beats, width):
    header = beat.head.header
    payload = b"".join(data.to_bytes(width, "little") for data in beats)[: header.length]
    said = FLAGS.from_bits(header.flags)
    assert header.collective == Collective.REGISTER.value
    return {
        "up": not said.direction,
        "repeat": bool(said.repeat),
        "source": header.source if (not said.direction or beat.sole) else None,
        "sole": bool(beat.sole),
        "status": Status(header.status),
        "names": (header.comm_id, header.coll_tag_high32, header.coll_tag),
        "payload": (TOTAL if said.direction else RECORD).unpack(payload) if header.length else None,
    }
