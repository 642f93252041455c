"""What is timed: since when each fold slot waits, and what a timer's packet must say about it.

Admission's commits come in and are never held up. Whether a slot is timed is known in flip-flops by context only: the
rest is in memories, where a row of ``kinds`` says it of all slots of a context. A row means nothing while its context
is not ``active``, so a context that ends takes all its slots along in one cycle, whatever their number is.
"""

from amaranth import *
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..registry.ports import commit_layout

__all__ = ["Kind", "TimedSlots", "patience_layout", "times_layout"]


class Kind(enum.Enum, shape=2):  # type: ignore[call-arg]
    """What a slot waits for, if there is a time for it."""

    #: nothing, or for ever
    IDLE = 0
    #: contributors
    FOLDING = 1
    #: its parent
    WAITING = 2


def patience_layout(config: Config) -> data.StructLayout:
    """A context that opens, as the timers see it: its node, how many contribute, and how long it waits for them.

    With ``abort_ticks`` 0 that is what the register says.
    """
    return data.StructLayout(
        {
            "context": range(config.contexts),
            "node": 32,
            "total": range(config.contributors + 1),
            "abort_ticks": 32,
        }
    )


def times_layout() -> data.StructLayout:
    """Since when a slot waits (in ticks), and how often the parent was asked again since."""
    return data.StructLayout({"start": 32, "attempts": 16})


def _record_layout(config: Config) -> data.StructLayout:
    return data.StructLayout({"turn": 32, "missing": range(config.contributors + 1), "present": config.contributors})


def _context_layout(config: Config) -> data.StructLayout:
    return data.StructLayout({"node": 32, "total": range(config.contributors + 1), "patience": 32})


class TimedSlots(wiring.Component):
    """Keeps the kind, the times and the record of every slot that is timed.

    A slot's time starts ``latency`` cycles after the commit that makes it fold, or wait; commits that leave it at that
    change its record, not its time. With ``look``, the row of ``slot`` is there in the next cycle and stands until the
    next ``look``: ``kind``, ``times``, ``record`` and its ``context``. It has in it what was committed three cycles
    before or earlier, perhaps parts of what came since; ``touched`` says that a commit of ``slot`` came in the last
    cycle. ``note`` writes the times of ``slot``; it waits for a cycle in which no slot's time starts.

    ``describe`` opens a context and ``forget`` (a bit a context) ends it; both end what was timed of it. Commits of a
    context that is not open are none, and from three cycles before to four after its ``describe`` no commit may come.
    ``active`` has a bit for each context of which a slot is timed.

    Latency: 2 to a row, 4 to ``active``. Throughput: 1. Ready path: ``note`` from memory. On error: none.
    """

    latency = 2

    def __init__(self, config: Config):
        super().__init__(
            {
                "abort_ticks": In(32),
                #: there are repeats: what waits for its parent is timed in any case
                "repeating": In(1),
                "now": In(32),
                "commit": In(stream.Signature(commit_layout(config), always_ready=True)),
                "describe": In(stream.Signature(patience_layout(config), always_ready=True)),
                "forget": In(config.contexts),
                "look": In(1),
                "slot": In(range(config.fold_slots)),
                "kind": Out(Kind),
                "times": Out(times_layout()),
                "record": Out(_record_layout(config)),
                "context": Out(_context_layout(config)),
                "touched": Out(1),
                "note": In(stream.Signature(times_layout())),
                "active": Out(config.contexts),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        window_bits = (config.window - 1).bit_length()
        m.submodules.kinds = kinds = Memory(shape=2 * config.window, depth=config.contexts, init=[])
        m.submodules.times = times = Memory(shape=times_layout(), depth=config.fold_slots, init=[])
        m.submodules.records = records = Memory(shape=_record_layout(config), depth=config.fold_slots, init=[])
        m.submodules.contexts = contexts = Memory(shape=_context_layout(config), depth=config.contexts, init=[])

        # contexts that are open, and those of them that have a time for their contributors
        told = Signal(patience_layout(config), reset_less=True)
        telling = Signal()
        patience = Signal(32)
        described = Signal(config.contexts)
        opened = Signal(config.contexts)
        patient = Signal(config.contexts)
        write_context = contexts.write_port()
        m.d.sync += telling.eq(self.describe.valid)
        with m.If(self.describe.valid):
            m.d.sync += told.eq(self.describe.payload)
        m.d.comb += [
            patience.eq(Mux(told.abort_ticks != 0, told.abort_ticks, self.abort_ticks)),
            described.eq(telling << told.context),
            write_context.en.eq(telling),
            write_context.addr.eq(told.context),
            write_context.data.node.eq(told.node),
            write_context.data.total.eq(told.total),
            write_context.data.patience.eq(patience),
        ]
        m.d.sync += [
            opened.eq((opened & ~self.forget) | described),
            patient.eq((patient & ~described) | Mux(patience != 0, described, 0)),
        ]

        # rank 1: a commit has come, and its record is written; what is known of its context is asked for
        commit = Signal(commit_layout(config), reset_less=True)
        committed = Signal()
        m.d.sync += committed.eq(self.commit.valid)
        with m.If(self.commit.valid):
            m.d.sync += commit.eq(self.commit.payload)
        record = commit.record
        write_record = records.write_port()
        known = kinds.read_port()
        m.d.comb += [
            self.touched.eq(committed & (commit.slot == self.slot)),
            write_record.en.eq(committed),
            write_record.addr.eq(commit.slot),
            write_record.data.turn.eq(record.turn),
            write_record.data.missing.eq(record.missing),
            write_record.data.present.eq(record.present),
            known.en.eq(committed),
            known.addr.eq(commit.slot[window_bits:]),
        ]
        recent_valid = Signal()  # rank 3, see below
        recent_context = Signal(range(config.contexts))
        recent = Signal(2 * config.window, reset_less=True)
        moved = Signal()
        place = Signal(range(config.fold_slots))
        becomes = Signal(Kind)
        live = Signal()  # the row means something
        context = commit.slot[window_bits:]
        hopes = patient.bit_select(context, 1)
        m.d.sync += moved.eq(committed)
        with m.If(committed):
            m.d.sync += [place.eq(commit.slot), becomes.eq(Kind.IDLE)]
            with m.If(record.waiting & (self.repeating | hopes)):
                m.d.sync += becomes.eq(Kind.WAITING)
            with m.Elif(record.begun & hopes):
                m.d.sync += becomes.eq(Kind.FOLDING)
            with m.If(recent_valid & (recent_context == context)):
                m.d.sync += live.eq(recent.any())
            with m.Else():
                m.d.sync += live.eq(self.active.bit_select(context, 1))

        # rank 2: the slot's kind changes, and if it is another one its time starts
        before = Signal(2 * config.window)
        after = Signal(2 * config.window)
        index = place[:window_bits]
        starts = Signal()
        with m.If(recent_valid & (recent_context == place[window_bits:])):
            m.d.comb += before.eq(recent)  # it was written when this row was read
        with m.Elif(live):
            m.d.comb += before.eq(known.data)
        for slot in range(config.window):
            bits = slice(2 * slot, 2 * slot + 2)
            m.d.comb += after[bits].eq(Mux(index == slot, Value.cast(becomes), before[bits]))
        write_kinds, write_times = kinds.write_port(), times.write_port()
        m.d.comb += [
            starts.eq(moved & (becomes != Kind.IDLE) & (before.word_select(index, 2) != Value.cast(becomes))),
            write_kinds.en.eq(moved),
            write_kinds.addr.eq(place[window_bits:]),
            write_kinds.data.eq(after),
            self.note.ready.eq(~starts),
            write_times.en.eq(starts | self.note.valid),
            write_times.addr.eq(Mux(starts, place, self.slot)),
            write_times.data.start.eq(Mux(starts, self.now, self.note.p.start)),
            write_times.data.attempts.eq(Mux(starts, 0, self.note.p.attempts)),
        ]

        # rank 3: is any slot of the context timed?
        m.d.sync += recent_valid.eq(moved)
        with m.If(moved):
            m.d.sync += [recent_context.eq(place[window_bits:]), recent.eq(after)]
        updated = Signal(config.contexts)
        m.d.comb += updated.eq(recent_valid << recent_context)
        still = (self.active & ~updated) | Mux(recent.any(), updated, 0)
        m.d.sync += self.active.eq(still & opened & ~self.forget & ~described)

        # the looks
        looked = Signal(range(config.window))
        by_context, by_slot = self.slot[window_bits:], self.slot
        found = []
        for memory, address in ((kinds, by_context), (times, by_slot), (records, by_slot), (contexts, by_context)):
            read = memory.read_port()
            m.d.comb += [read.en.eq(self.look), read.addr.eq(address)]
            found.append(read.data)
        with m.If(self.look):
            m.d.sync += looked.eq(self.slot)
        m.d.comb += [
            self.kind.eq(found[0].word_select(looked, 2)),
            self.times.eq(found[1]),
            self.record.eq(found[2]),
            self.context.eq(found[3]),
        ]
        return m
