"""A NIC around the timers: what commits, opens and ends at random; their packets are compared with the model."""

import random
from dataclasses import dataclass, replace

from timer_model import Event, Packet, Record, TimerModel

from fanfold.admission.timers import Timers
from fanfold.codes import Origin, Port
from fanfold.config import Config
from fanfold.wire import FAULT, tagged_layout
from fanfold_sim.bench import cycle, run

__all__ = ["OFF", "QUIET", "World", "drive", "simulate"]

OFF = {"abort_ticks": 0, "retry_ticks": 0, "retry_limit": 0, "linger_ticks": 0, "measure": 0}
#: cycles that a context is left alone before and after it opens
QUIET = 6


@dataclass
class World:
    """What admission and the registry do at random, within what they may do."""

    config: Config
    choices: random.Random
    #: chance of a commit in a cycle, of a context that ends, and that what a packet asks for is done
    busy: float = 0.1
    ends: float = 0.002
    obeys: float = 0.7
    #: chance that a commit that is due to the first slot of a window is another's
    slow: float = 0.0
    totals: tuple[int, ...] = (1, 2, 3, 4)
    patiences: tuple[int, ...] = (0, 1, 3, 7)

    def __post_init__(self):
        config = self.config
        self.records = {}
        self.totals_of = {}
        self.rests = dict.fromkeys(range(config.contexts), 0)  # cycles until something of the context may come
        self.asked = []  # slots whose packets are on their way through admission, and when they are there

    def event(self, now: int) -> Event:
        choices, config = self.choices, self.config
        event = Event()
        for context in self.rests:
            self.rests[context] = max(0, self.rests[context] - 1)
        free = [each for each, rest in self.rests.items() if not rest and each not in self.totals_of]
        if free and choices.random() < 0.05:
            context = choices.choice(free)
            total = choices.choice([each for each in self.totals if each <= config.contributors])
            self.totals_of[context] = total
            self.rests[context] = QUIET
            base = choices.choice((0, choices.getrandbits(32), 2**32 - config.window)) & -config.window
            for offset in range(config.window):
                turn = (base + offset) % 2**32
                self.records[context * config.window + offset] = Record(turn, 0, 0, total, 0)
            event.describe = (context, choices.getrandbits(32), total, choices.choice(self.patiences))
            return event
        for context in list(self.totals_of):
            if not self.rests[context] and choices.random() < self.ends:
                event.forget |= 1 << context
                del self.totals_of[context]
                self.rests[context] = QUIET
        due = [slot for slot, when in self.asked if when <= now]
        self.asked = [(slot, when) for slot, when in self.asked if when > now]
        known = [slot for slot in self.records if slot // config.window in self.totals_of]
        known = [slot for slot in known if not self.rests[slot // config.window]]
        if due and due[0] in known:
            event.commit = (due[0], self._ended(due[0]))
        elif known and choices.random() < self.busy:
            slot = choices.choice(known)
            if slot % config.window == 0 and choices.random() < self.slow:
                slot = next((each for each in known if each % config.window), slot)
            event.commit = (slot, self._next(slot))
        elif choices.random() < 0.01:  # of a context that is closed already, or not open yet
            ended = [each for each, rest in self.rests.items() if each not in self.totals_of and rest in (0, 5)]
            if ended:
                slot = choices.choice(ended) * config.window + choices.randrange(config.window)
                event.commit = (slot, Record(slot % config.window, 1, choices.getrandbits(1), 1, 1))
                self.rests[slot // config.window] = QUIET
        if event.commit is not None:
            self.records[event.commit[0]] = event.commit[1]
        return event

    def _next(self, slot: int) -> Record:
        record, total = self.records[slot], self.totals_of[slot // self.config.window]
        if record.waiting:
            return self._ended(slot)
        absent = [index for index in range(total) if not record.present >> index & 1]
        present = record.present | 1 << self.choices.choice(absent)
        if record.missing > 1:
            return Record(record.turn, 1, 0, record.missing - 1, present)
        if self.choices.random() < 0.5:
            return self._ended(slot)
        return Record(record.turn, 1, 1, 0, present)

    def _ended(self, slot: int) -> Record:
        record, total = self.records[slot], self.totals_of[slot // self.config.window]
        if record.begun and not record.waiting and record.missing and self.choices.random() < 0.5:
            return replace(record, waiting=1)  # aborted here, and on its way to the parent
        return Record((record.turn + self.config.window) % 2**32, 0, 0, total, 0)

    def answer(self, slot: int, when: int) -> None:
        """A packet of the timers has arrived: what it asks for is done, later, or put off."""
        if self.choices.random() < self.obeys:
            self.asked.append((slot, when + self.choices.randrange(3, 12)))


def drive(ctx, timers, event: Event) -> None:
    ctx.set(timers.commit.valid, event.commit is not None)
    if event.commit is not None:
        slot, record = event.commit
        ctx.set(timers.commit.payload, {"slot": slot, "record": vars(record)})
    ctx.set(timers.describe.valid, event.describe is not None)
    if event.describe is not None:
        context, node, total, abort = event.describe
        ctx.set(timers.describe.payload, {"context": context, "node": node, "total": total, "abort_ticks": abort})
    ctx.set(timers.forget, event.forget)


class Reader:
    """Packets by their beats; what must be the same in all of them is checked here."""

    def __init__(self, config: Config):
        self._layout = tagged_layout(config)
        self._bytes = config.beat_bytes
        self._before = b""
        self._inside = False

    def read(self, bits: int, moves: bool) -> tuple[Packet, Packet | None]:
        """The packet with the payload of this beat, and the whole of it if its last beat ``moves``."""
        beat = self._layout.from_bits(bits)
        header = beat.head.header
        assert beat.first == (not self._inside)
        assert beat.port is Port.HOST and not beat.bad
        rest = header.coll_tag_high32 | header.collective | header.flags | header.root | header.status
        assert rest | header.opt_code | header.data_type == 0
        assert header.length == (0 if beat.origin is Origin.REPEATED else FAULT.bytes)
        raw = int(beat.data).to_bytes(self._bytes, "little")
        whole = (self._before + raw)[: header.length]
        assert beat.last == (len(self._before + raw) >= header.length)
        offered = Packet(beat.origin, header.comm_id, header.coll_tag, header.source, raw[: header.length])
        if not moves:
            return offered, None
        self._inside = not beat.last
        self._before = b"" if beat.last else whole
        return offered, replace(offered, fault=whole) if beat.last else None


def simulate(config, timing, world, cycles, *, now=0, tick=20, stall=0.0, drain=True) -> TimerModel:
    """So many cycles of a ``world``, against the model; then, unless told otherwise, all contexts end."""
    timing = OFF | timing
    timers = Timers(config)
    model = TimerModel(config, timing, latency=timers.latency, packet_cycles=timers.packet_cycles)
    choices = random.Random(cycles)
    reader = Reader(config)
    bits = [timers.timed, timers.busy, timers.o.valid, tagged_layout(config)(timers.o.payload).as_value()]

    async def play(ctx):
        nonlocal now
        ctx.set(timers.timing, timing)
        await cycle(ctx)
        until_tick, idle = tick, 0
        length = cycles + 200 if drain else cycles
        for number in range(length):
            event = world.event(number)
            if number >= cycles:
                event = Event(forget=(1 << config.contexts) - 1 if number == cycles else 0)
            drive(ctx, timers, event)
            ready = choices.random() >= stall
            ctx.set(timers.now, now)
            ctx.set(timers.o.ready, ready)
            timed, busy, valid, payload = await cycle(ctx, *bits)
            offered = taken = None
            if valid:
                offered, taken = reader.read(payload, ready)
                assert busy == 1 << offered.context
                if taken is not None:
                    world.answer(taken.context * config.window + taken.turn % config.window, number)
            model.cycle(now, event, offered, taken)
            assert busy & (busy - 1) == 0
            # the clock must run while a slot waits, and stands still when nothing does and no packet is made
            idle = 0 if busy or model.timed_for() else idle + 1
            assert timed or model.timed_for() < 4, f"not timed in cycle {number}: {model.slots}"
            assert not timed or idle < 12, f"timed in cycle {number}"
            until_tick -= timed
            if not until_tick:
                now, until_tick = (now + 1) % 2**32, choices.randrange(max(1, tick // 2), 2 * tick)
        assert not drain or not timed

    run(timers, play, cycles=cycles + 1000)
    return model
