"""A table of counters in a memory: each item changes one row, one item a cycle, whatever row comes next."""

from collections.abc import Callable

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["LIFE_BITS", "Rows", "item_layout", "summed"]

#: width of the number that says which life of its context a row is of
LIFE_BITS = 8

#: what becomes of a row: from the old one and the change, the new value of each of its members
Update = Callable[[data.View, data.View], dict[str, Value]]


def summed(old: data.View, change: data.View) -> dict[str, Value]:
    """Each member of the change is added to the row's member of that name, modulo its width."""
    return {name: old[name] + change[name] for name in change.shape().members}


def item_layout(depth: int, change: data.StructLayout) -> data.StructLayout:
    """``change`` is for the row with number ``row``; a row that is not of this ``life`` counts as all 0, with ``clear``
    any does. ``show`` asks to see the new row."""
    return data.StructLayout({"row": range(depth), "life": LIFE_BITS, "clear": 1, "show": 1, "change": change})


class Rows(wiring.Component):
    """``depth`` rows of shape ``row``, changed by ``update``.

    Latency: ``latency`` from an item to its row in ``o``. Throughput: 1. Ready path: always ready. Order: kept. On
    error: none; the rows are rubbish until each was cleared.
    """

    #: cycles from an item to its new row
    latency = 3

    def __init__(self, depth: int, row: data.StructLayout, change: data.StructLayout, update: Update):
        super().__init__(
            {
                "i": In(stream.Signature(item_layout(depth, change), always_ready=True)),
                "o": Out(stream.Signature(row, always_ready=True)),
            }
        )
        self._depth = depth
        self._row = row
        self._update = update

    def elaborate(self, platform):
        m = Module()
        stored = data.StructLayout({"values": self._row, "life": LIFE_BITS})
        m.submodules.memory = memory = Memory(shape=stored, depth=self._depth, init=[])
        read, write = memory.read_port(), memory.write_port()
        item = self.i.payload.shape()

        # an item on its way: its row is asked for, has come and is written, and is in the memory
        asked, come, changed = (Signal(item, name=name) for name in ("asked", "come", "changed"))
        stages = [self.i.valid]
        for name, stage, before in (
            ("asked", asked, self.i.payload),
            ("come", come, asked),
            ("changed", changed, come),
        ):
            valid = Signal(name=f"{name}_valid")
            m.d.sync += valid.eq(stages[-1])
            with m.If(stages[-1]):
                m.d.sync += stage.eq(before)
            stages.append(valid)
        _, asked_valid, come_valid, changed_valid = stages

        written = Signal(stored)  # the row of the item in ``come``
        new = Signal(stored)  # and of that in ``changed``
        m.d.comb += [
            read.addr.eq(self.i.payload.row),
            read.en.eq(self.i.valid),
            write.addr.eq(come.row),
            write.data.eq(written),
            write.en.eq(come_valid),
        ]

        # what the memory says is too old when one of the two items before was for the same row
        one_before = Signal()  # the row that has come is the one that ``new`` is
        found = Signal(self._row)
        current = Signal()  # the row that was found is of this life
        with m.If(asked_valid):
            m.d.sync += one_before.eq(come_valid & (come.row == asked.row))
            with m.If(changed_valid & (changed.row == asked.row)):
                m.d.sync += [found.eq(new.values), current.eq((new.life == asked.life) & ~asked.clear)]
            with m.Else():
                m.d.sync += [found.eq(read.data.values), current.eq((read.data.life == asked.life) & ~asked.clear)]
        follows = Signal()  # the same row and the same life
        with m.If(asked_valid):
            m.d.sync += follows.eq((come.life == asked.life) & ~asked.clear)

        old = Signal(self._row)
        with m.If(one_before):
            m.d.comb += old.eq(Mux(follows, new.values, 0))
        with m.Elif(current):
            m.d.comb += old.eq(found)
        m.d.comb += written.life.eq(come.life)
        for name, value in self._update(old, come.change).items():
            m.d.comb += written.values[name].eq(value)
        with m.If(come_valid):
            m.d.sync += new.eq(written)

        m.d.comb += [self.o.valid.eq(changed_valid & changed.show), self.o.payload.eq(new.values)]
        return m
