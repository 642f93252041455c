"""The slot table: what is found is what was committed last, also one cycle before."""

from amaranth import *
from prover import Proof

from fanfold.config import PRESETS
from fanfold.registry.ports import slot_layout
from fanfold.registry.slots import SlotTable
from fanfold.streams import assume_or_assert

TINY = PRESETS["tiny"]


def slot_table_holds(proof):
    """Follows one slot, any of them: ``latest`` is the record that was written to it last, once one was."""
    m, table = proof.m, proof.dut
    commit, prepare = table.slots.commit, table.prepare
    assume_or_assert(m, prepare, name="prepare", assume=True)
    slot = proof.constant(range(TINY.fold_slots), "slot")
    width = slot_layout(TINY).size
    latest, expected = Signal(width), Signal(width)
    written, asked, forwarded = Signal(), Signal(), Signal()
    commits, prepares = Signal(), Signal()
    m.d.comb += [
        commits.eq(commit.valid & (commit.p.slot == slot)),
        prepares.eq(prepare.valid & prepare.ready & (prepare.p.slot == slot)),
    ]
    with m.If(commits):
        m.d.sync += [latest.eq(commit.p.record), written.eq(1)]
    with m.Elif(prepares):
        m.d.sync += [latest.eq(prepare.p.record), written.eq(1)]
    # a record that is prepared in this very cycle is not seen yet: nobody asks before the context is open
    m.d.sync += [
        asked.eq((table.slots.find == slot) & (written | commits)),
        expected.eq(Mux(commits, Value.cast(commit.p.record), latest)),
        forwarded.eq(commits & (table.slots.find == slot)),
    ]
    found = Value.cast(table.slots.found)
    proof.require(~asked | (found == expected), "what is found is what was committed last")
    proof.require(~(commit.valid & prepare.ready), "a commit goes before a preparation")
    row = proof.row("records.rows", slot, "row")
    proof.lemma(~written | (row == latest), "the table keeps what was written last")
    proof.cover(asked & forwarded & (found != 0), "a record is found that was committed with the question")
    proof.cover(asked & ~forwarded & (found != 0), "a record is found that was committed before")


def test_slot_table(tmp_path):
    proof = Proof(SlotTable(TINY))
    slot_table_holds(proof)
    proof.check(tmp_path, depth=8, induction=3)
