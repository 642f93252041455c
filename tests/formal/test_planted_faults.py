"""The proofs find faults: each of these, planted in a copy of the source, is refuted by what it breaks."""

import pytest
from judgement import CONFIG
from prover import Proof, Refuted
from test_admission_proofs import decision_holds, records_hold
from test_fork_and_arbiter_proofs import BEAT, arbiter_holds, fork_holds
from test_packet_queue_proofs import packet_queue_holds
from test_registry_proofs import TINY, slot_table_holds
from test_stream_proofs import ITEM, queue_holds, skid_keeps, slice_holds

from fanfold.admission.decide import Decide
from fanfold.registry.slots import SlotTable
from fanfold.streams import Fork, PacketArbiter, PacketQueue, Queue, Skid, Slice
from fanfold_sim.planting import planted

#: what is wrong: component, its arguments, properties, what stands in the source, what is planted, what it breaks
FAULTS = {
    "a slice that takes while it is stalled": (
        *(Slice, (ITEM,), slice_holds),
        *("self.i.ready.eq(self.o.ready | ~self.o.valid)", "self.i.ready.eq(1)"),
        "payload changed while stalled|the followed item is next|no more inside than there is room",
    ),
    "a skid that drops its spare register": (
        *(Skid, (ITEM,), skid_keeps),
        *("front.eq(spare)", "front.eq(self.i.payload)"),
        "the followed item is next",
    ),
    "a skid that forgets that the spare is full": (
        *(Skid, (ITEM,), skid_keeps),
        *("m.d.sync += spare_empty.eq(0)", "m.d.sync += spare_empty.eq(1)"),
        "no more inside than there is room|the followed item is next|what is inside is offered",
    ),
    "a queue without back-pressure": (
        *(Queue, (ITEM, 4), queue_holds),
        *("self.i.ready.eq(has_room)", "self.i.ready.eq(1)"),
        "level counts those inside|no more inside than there is room",
    ),
    "a fork that forgets who took the item": (
        *(Fork, (ITEM, 2), fork_holds),
        *("taken.eq(Mux(self.i.ready, 0, now))", "taken.eq(0)"),
        "no item is taken twice",
    ),
    "an arbiter that changes its choice while locked": (
        *(PacketArbiter, (BEAT, 2), arbiter_holds),
        *("m.If(free & wanted[after])", "m.If(wanted[after])"),
        "no packet is broken into|payload changed while stalled|valid fell while stalled",
    ),
    "an arbiter that prefers whom it chose last": (
        *(PacketArbiter, (BEAT, 3), arbiter_holds),
        *("m.If(free & wanted[after])", "m.If(free & wanted[after] & ~wanted[index])"),
        "is let in after at most 2 packets of others|a packet that waits goes out in the next cycle",
    ),
    "an arbiter that prefers its first inputs": (
        *(PacketArbiter, (BEAT, 3), arbiter_holds),
        *("reversed(range(1, self._count))", "sorted(range(1, 3), key=lambda step: -((index + step) % 3))"),
        "is let in after at most 2 packets of others",
    ),
    "an arbiter that lets the last of those that go first go first": (
        *(PacketArbiter, (BEAT, 3), arbiter_holds),
        *("for index in reversed(range(self._count)):", "for index in range(self._count):"),
        "goes first after at most one packet of others",
    ),
    "a packet queue that offers a beat before its packet is whole": (
        *(PacketQueue, (BEAT, 4), packet_queue_holds),
        *("read.en.eq((tail != whole)", "read.en.eq((tail != head)"),
        "nothing is offered that is not of a whole packet",
    ),
    "a packet queue that keeps the beginning of what it drops": (
        *(PacketQueue, (BEAT, 4), packet_queue_holds),
        *("dropping.eq(~last), head.eq(whole)", "dropping.eq(~last)"),
        "the followed beat is next|nothing is offered|packets are dropped only where there is no room",
    ),
    "a slot table without forwarding": (
        *(SlotTable, (TINY,), slot_table_holds),
        *("overtaken.eq(commit.valid &", "overtaken.eq(0 &"),
        "what is found is what was committed last",
    ),
    "a slot table that forwards to any slot": (
        *(SlotTable, (TINY,), slot_table_holds),
        *("commit.valid & (commit.p.slot == self.slots.find)", "commit.valid"),
        "what is found is what was committed last",
    ),
    "a decision that lets a bad packet write": (
        *(Decide, (CONFIG,), decision_holds),
        *("done.eq(valid & now.last & ~now.bad)", "done.eq(valid & now.last)"),
        "a bad packet writes nothing",
    ),
    "a decision that forgets how crowded it was": (
        *(Decide, (CONFIG,), decision_holds),
        *("Mux(now.first, Value.cast(judge.verdict), Value.cast(judged))", "judge.verdict"),
        "packets that change something write, and nothing else|the beats of an accepted packet",
    ),
    "a decision that forgets the first failure": (
        *(Decide, (CONFIG,), records_hold),
        *("Mux(failed, Value.cast(record.status), Value.cast(mine))", "mine"),
        *("the first failure stays", "fanfold.admission.outcome"),
    ),
    "a decision that goes on after a result": (
        *(Decide, (CONFIG,), records_hold),
        *("effect.ends.eq(verdict.down | verdict.given_up", "effect.ends.eq(verdict.given_up"),
        *("a record written is sound|the turn moves", "fanfold.admission.outcome"),
    ),
    "a decision that counts a repeat again": (
        *(Decide, (CONFIG,), decision_holds),
        *("self.in_turn & ~record.waiting & ~here", "self.in_turn & ~record.waiting"),
        *("a contributor that is in|packets that change something write", "fanfold.admission.judge"),
    ),
    "a decision that lets a timer end what has changed": (
        *(Decide, (CONFIG,), decision_holds),
        *("& (record.missing == header.source)", ""),
        *("packets that change something write, and nothing else", "fanfold.admission.judge"),
    ),
    "a decision that gives up while results are under way": (
        *(Decide, (CONFIG,), decision_holds),
        *("alone.eq(turn & ~self.undelivered)", "alone.eq(turn)"),
        *("packets that change something write, and nothing else", "fanfold.admission.judge"),
    ),
    "a decision that forgets how the last segment ended": (
        *(Decide, (CONFIG,), records_hold),
        *("*(after.last[part].eq(said[part]) for part, _ in said.shape()),", ""),
        *("the last ending is the one that is remembered", "fanfold.admission.outcome"),
    ),
    "a decision that reads the record again": (
        *(Decide, (CONFIG,), decision_holds),
        *("m.If(valid & now.first):\n            m.d.sync += held", "m.If(valid):\n            m.d.sync += held"),
        "packets that change something write, and nothing else|the beats of an accepted packet|out of turn",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(tmp_path, fault):
    component, arguments, holds, right, wrong, broken, *module = FAULTS[fault]
    proof = Proof(planted(component, right, wrong, *module)(*arguments), lemmas=False)
    holds(proof)
    with pytest.raises(Refuted, match=broken):
        proof.check(tmp_path, depth=12)
