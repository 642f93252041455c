"""The proofs of pass-through find faults: each of these is refuted by what it breaks."""

import pytest
from layered import LayeredProof
from prover import Proof, Refuted
from test_egress_proofs import CONFIG as EGRESS
from test_egress_proofs import regular_leaves
from test_outlet_proofs import CONFIG, frames_hold
from test_verdict_proofs import CONFIG as RANKS
from test_verdict_proofs import Ranks, verdicts_hold

from fanfold.codes import Port
from fanfold.egress import Egress
from fanfold.ingress.align import Align
from fanfold.ingress.outlet import ROOM, Outlet
from fanfold_sim.planting import planted

#: what is wrong: what stands in the outlet's source, what is planted, what it breaks
OUTLETS = {
    "the rest of the next frame is not kept either": (
        "m.d.sync += no_more.eq(0)",
        "m.d.sync += no_more.eq(no_more)",
        "only what is tagged is not kept",
    ),
    "an earlier frame's verdict is taken for this one's": (
        "within & (undecided == 1)",
        "within & (undecided != 0)",
        "only what is tagged is not kept",
    ),
    "a verdict goes with a beat instead of a frame": (
        "frame_verdicts.o.ready.eq(frame_moves & frames.o.payload.last)",
        "frame_verdicts.o.ready.eq(frame_moves)",
        "a beat meets the verdict of its frame",
    ),
    "a beat goes on without waiting for its verdict": (
        "frames.o.valid & ruled & ~is_tagged",
        "frames.o.valid & ~is_tagged",
        "beats of regular frames leave, no others",
    ),
    "tagged frames leave as well": (
        "frames.o.valid & ruled & ~is_tagged",
        "frames.o.valid & ruled",
        "beats of regular frames leave, no others",
    ),
}


@pytest.mark.parametrize("fault", OUTLETS)
def test_fault_of_an_outlet_is_found(tmp_path, fault):
    right, wrong, broken = OUTLETS[fault]
    proof = LayeredProof(planted(Outlet, right, wrong)(CONFIG), lemmas=False)
    frames_hold(proof, ROOM)
    with pytest.raises(Refuted, match=broken):
        proof.check(tmp_path, depth=12)


def test_a_second_verdict_is_found(tmp_path):
    twice = planted(Align, "half.header | (half.before & half.beat.last)", "half.header | half.beat.last")
    verdicts_hold(proof := Proof(Ranks(RANKS, twice), lemmas=False))
    with pytest.raises(Refuted, match="a verdict is about a frame that has begun"):
        proof.check(tmp_path, depth=18)


def test_a_lost_mark_is_found(tmp_path):
    connected = "wiring.connect(m, regular_skid.o, frame_arbiter.i[1])\n"
    unmarked = f"{connected}        m.d.comb += frame_arbiter.i[1].payload.bad.eq(0)\n"
    regular_leaves(proof := Proof(planted(Egress, connected, unmarked)(EGRESS, Port.HOST), lemmas=False))
    with pytest.raises(Refuted, match="a regular beat"):
        proof.check(tmp_path, depth=8)
