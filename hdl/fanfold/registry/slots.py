"""The records of the fold slots: who has contributed to the segment that each of them folds."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In

from ..config import Config
from .ports import commit_layout, slot_layout, slots_signature
from .table import Table

__all__ = ["SlotTable"]


class SlotTable(wiring.Component):
    """Read, decide, write: one packet a cycle, also when all of them are for the same slot.

    The room that decides uses ``slots``. ``prepare`` writes the records of a context that opens; it waits for cycles
    without a commit, which cannot concern the same context.

    Latency: 1. Throughput: 1. Ready path: ``prepare`` combinational from the commit. Order: kept. On error: none.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "slots": In(slots_signature(config)),
                "prepare": In(stream.Signature(commit_layout(config))),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        commit = self.slots.commit
        m.submodules.records = records = Table(slot_layout(self._config), self._config.fold_slots, readers=1)
        written = Mux(commit.valid, Value.cast(commit.payload), Value.cast(self.prepare.payload))
        layout = commit_layout(self._config)
        m.d.comb += [
            self.prepare.ready.eq(~commit.valid),
            records.write.valid.eq(commit.valid | self.prepare.valid),
            records.write.p.address.eq(layout(written).slot),
            records.write.p.data.eq(layout(written).record),
            records.read[0].address.eq(self.slots.find),
        ]
        # the table reads a row that is being written as it was: what was written then comes from here
        overtaken = Signal()
        recent = Signal(slot_layout(self._config), reset_less=True)
        m.d.sync += [
            overtaken.eq(commit.valid & (commit.p.slot == self.slots.find)),
            recent.eq(commit.p.record),
        ]
        m.d.comb += self.slots.found.eq(Mux(overtaken, Value.cast(recent), Value.cast(records.read[0].data)))
        return m
