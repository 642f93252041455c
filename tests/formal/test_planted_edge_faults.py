"""The proofs of the edge find faults: each of these is refuted by what it breaks."""

import pytest
from amaranth import *
from prover import Proof, Refuted
from test_adapter_proofs import CONFIG, from_axi_holds, to_axi_holds
from test_frame_buffer_proofs import Incoming, frames_are_whole, small

from fanfold.edge import FrameBuffer, FromAxi, ToAxi
from fanfold_sim.planting import planted

OUT_OF_PLACE = "the followed item is next"
#: what is wrong: what stands in the adapter's source, what is planted, what it breaks
TO_AXI = {
    "the mark is there before the last beat": ("frame.bad & frame.last", "frame.bad", OUT_OF_PLACE),
    "a byte too few is kept": ("_thermometer(frame.count)", "_thermometer(frame.count)[1:]", OUT_OF_PLACE),
    "what is offered waits for nobody": (
        "self.i.ready.eq(departures.i.ready)",
        "self.i.ready.eq(1)",
        "no more inside than there is room",
    ),
}
FROM_AXI = {
    "null transfers become beats": ("dropped = departures.o.payload.null", "dropped = Const(0)", "nothing is offered"),
    "a null transfer stops what follows": (
        "departures.o.ready.eq(self.o.ready | dropped)",
        "departures.o.ready.eq(self.o.ready & ~dropped)",
        "what is inside is offered",
    ),
    "a broken beat spoils nothing after it": ("broken | was_broken", "broken", OUT_OF_PLACE),
    "a frame is broken for ever": ("(was_broken | broken) & ~beat.tlast", "was_broken | broken", OUT_OF_PLACE),
    "bytes after a zero are not missed": ("broken.eq(torn | ", "broken.eq(", OUT_OF_PLACE),
    "a last beat without bytes has none": ("frame.count.eq(1)", "frame.count.eq(0)", OUT_OF_PLACE),
    "the queue is each beat's own": (
        "Mux(first, beat[self._queue], queue)",
        "beat[self._queue]",
        OUT_OF_PLACE,
    ),
    "a null transfer begins a frame": (
        "departures.i.valid & departures.i.ready & ~null",
        "departures.i.valid & departures.i.ready",
        OUT_OF_PLACE,
    ),
    "the rest of a cut frame is a frame": ("return rest", "return Const(0)", "nothing is offered"),
    "a source that was reset goes on": ("was_reset & ~in_reset & ~offered", "0", "what is inside is offered"),
    "a source that was reset at all is new": ("(was_reset & offered))),", "0)),", "nothing is offered"),
}


@pytest.mark.parametrize("fault", TO_AXI)
def test_fault_on_the_way_out_is_found(tmp_path, fault):
    right, wrong, broken = TO_AXI[fault]
    to_axi_holds(proof := Proof(planted(ToAxi, right, wrong)(CONFIG, queue="tid"), lemmas=False))
    with pytest.raises(Refuted, match=broken):
        proof.check(tmp_path, depth=6)


@pytest.mark.parametrize("fault", FROM_AXI)
def test_fault_on_the_way_in_is_found(tmp_path, fault):
    right, wrong, broken = FROM_AXI[fault]
    adapter = planted(FromAxi, right, wrong)(CONFIG, queue="tid", always_ready=True)
    from_axi_holds(proof := Proof(adapter, lemmas=False), always_ready=True)
    with pytest.raises(Refuted, match=broken):
        proof.check(tmp_path, depth=8)


#: the same of the buffer, where beats come and go as they like
BUFFERS = {
    "a beat passes by one that was fetched": ("empty & ~fetched & departures", "empty & departures", OUT_OF_PLACE),
    "a fetched beat is forgotten while stalled": (
        "read.en | (fetched & ~departures.i.ready)",
        "read.en",
        OUT_OF_PLACE,
    ),
    "the memory goes on while its output is stalled": (
        "~empty & (~fetched | departures.i.ready)",
        "~empty",
        OUT_OF_PLACE,
    ),
}
#: and where it fills up; at last, whether that is with one frame
NO_ROOM = "a frame is dropped only where there is no room"
FULL_BUFFERS = {
    "the rest of a dropped frame is a frame": (
        "(~enters | ends_early) & ~last)",
        "0)",
        "a frame is dropped or cut once",
        False,
    ),
    "a withdrawn frame stays": ("Mux(withdrawn, start, head + write.en)", "head + write.en", NO_ROOM, False),
    "what was fetched has not left": ("gone | (read.en & (tail == start))", "gone", NO_ROOM, False),
    "a frame that is cut has no mark": ("self.i.payload.bad | ends_early", "self.i.payload.bad", OUT_OF_PLACE, True),
    "a frame that is cut has no end": (
        "write.data.last.eq(last | ends_early)",
        "write.data.last.eq(last)",
        OUT_OF_PLACE,
        True,
    ),
}


@pytest.mark.parametrize("fault", BUFFERS)
def test_fault_of_the_buffer_is_found(tmp_path, fault):
    right, wrong, broken = BUFFERS[fault]
    frames_are_whole(proof := Proof(planted(FrameBuffer, right, wrong)(small(2)), lemmas=False), 2)
    with pytest.raises(Refuted, match=broken):
        proof.check(tmp_path, depth=16)


@pytest.mark.parametrize("fault", FULL_BUFFERS)
def test_fault_of_a_full_buffer_is_found(tmp_path, fault):
    """Looked for where a beat comes in every cycle, and nothing leaves in the first ones."""
    right, wrong, broken, one_frame = FULL_BUFFERS[fault]
    frames_are_whole(proof := Proof(planted(FrameBuffer, right, wrong)(small(2)), lemmas=False), 2)
    cycle = Signal(range(16), name="cycle")
    proof.m.d.sync += cycle.eq(cycle + (cycle != 15))
    proof.assume(~ResetSignal() & proof.dut.i.valid, "a beat comes in every cycle")
    proof.assume(proof.dut.o.ready == (cycle == 15), "nothing leaves in the first cycles")
    if one_frame:
        proof.assume(~proof.dut.i.p.last, "one frame goes on")
    with pytest.raises(Refuted, match=broken):
        proof.check(tmp_path, depth=30)


def test_a_frame_taken_for_a_longer_one_is_found(tmp_path):
    """Where there is room for the longest frame, but not for a pause in it."""
    buffer = planted(FrameBuffer, "depth - self._config.frame_beats - 1", "depth - self._config.frame_beats")
    Incoming(proof := Proof(buffer(small(6)), lemmas=False), 6)
    with pytest.raises(Refuted, match="only if it is too long"):
        proof.check(tmp_path, depth=24)
