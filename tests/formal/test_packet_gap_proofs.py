"""A packet of copies has no gap: once it has begun to pass the egress's arbiter, its next beat is always there."""

import pytest
from amaranth import *
from prover import Proof, Refuted
from test_egress_proofs import CONFIG, Registers, copies_are_sound

from fanfold.codes import Port
from fanfold.egress import Egress
from fanfold.egress.build import Build
from fanfold.egress.headers import packet_layout
from fanfold.egress.insert import untagged_layout
from fanfold.streams import assume_or_assert
from fanfold.wire import frame_layout
from fanfold_sim.planting import planted

COPIES = 0  # the arbiter's input


def packets_have_no_gap(proof):
    m, dut = proof.m, proof.dut
    for name in ("copies", "refusals", "regular"):
        assume_or_assert(m, getattr(dut, name), name=name, assume=True)
    copies_are_sound(proof)
    built = Registers(proof, "built_skid")
    front, spare = (frame_layout(CONFIG)(Value.cast(each)) for each in (built.front, built.spare))
    passes, begun = Signal(name="passes"), Signal(name="begun")
    chosen, taken = proof.inside("frame_arbiter.chosen"), proof.inside("output_skid.spare_empty")
    m.d.comb += passes.eq(built.offers & (chosen == COPIES) & taken)
    with m.If(passes):
        m.d.sync += begun.eq(~front.last)
    proof.require(~begun | built.offers, "a packet that has begun goes on")
    proof.cover(begun & passes & front.last & (front.count == 3), "a packet of odd length passes")
    proof.cover(begun & ~taken, "a packet is stalled")

    # from the output back: where a packet has begun to leave a rank, the rest of it is in the ranks before
    offered = untagged_layout(CONFIG)(Value.cast(proof.inside("build.offered")))
    step = Build(CONFIG)._step_layout
    ranks = [
        (built.offers, front.last),
        (~built.takes, spare.last),
        (proof.inside("build.offered_valid"), offered.frame.last),
    ]
    ranks += [
        (proof.inside(f"build.step_{rank}_valid"), step(Value.cast(proof.inside(f"build.step_{rank}"))).beat.frame.last)
        for rank in (2, 1)
    ]
    for number, (used, last) in enumerate(ranks):
        if number != 1:  # the spare register is often empty
            proof.lemma(~begun | used, f"rank {number} has the next beat")
        after = Signal(name=f"begun_before_{number}")
        m.d.comb += after.eq(Mux(used, ~last, begun))
        begun = after
    issuing = (proof.inside("build.word") != 0) | proof.inside("build.in_payload") | proof.inside("build.rests")
    proof.lemma(begun == issuing, "what has begun has steps to come")
    packets = Registers(proof, "headers.packets")
    front, spare = (packet_layout(CONFIG)(Value.cast(each)) for each in (packets.front, packets.spare))
    for name, packet in (("front", front), ("spare", spare)):
        alone = ~packet.single & (packet.alone == packet.silent)
        proof.lemma(alone, f"only a silent packet takes a single step: {name}")
    proof.lemma(~issuing | (packets.offers & ~front.silent), "a packet stays until its steps are issued")


def test_packets_of_copies_have_no_gap(tmp_path):
    packets_have_no_gap(proof := Proof(Egress(CONFIG, Port.HOST)))
    proof.check(tmp_path, depth=3, induction=2, cover=22)


def test_a_gap_is_found(tmp_path):
    """The builder waits for its first beat to come out before it goes on."""
    right = "step.valid.eq(self.i.valid & ~packet.silent)"
    wrong = "step.valid.eq(self.i.valid & ~packet.silent & (self.o.valid | (word == 0)))"
    waits = planted(Egress, right, wrong, "fanfold.egress.build")
    packets_have_no_gap(proof := Proof(waits(CONFIG, Port.HOST), lemmas=False))
    with pytest.raises(Refuted, match="a packet that has begun goes on"):
        proof.check(tmp_path, depth=14)
