"""The AXI4-Stream adapters: every beat once, in order, as it came; and what no well-behaved source sends, or a reset
cuts, spoils its own frame only.

The sources keep no law: whatever is offered, and taken back again, only what is taken counts.
"""

import pytest
from amaranth import *
from amaranth.lib import data
from passage import Passage
from places import skid_holds
from prover import Proof

from fanfold.config import Config
from fanfold.edge import FromAxi, ToAxi, axi_layout
from fanfold.streams import assume_or_assert
from fanfold.wire import frame_layout

CONFIG = Config(beat_bytes=8, contributors=2, contexts=2, window=2, segment_bytes=128, queue_bits=2)
BYTES = CONFIG.beat_bytes
AXI, FRAME = axi_layout(CONFIG, "tid"), frame_layout(CONFIG)
#: a frame that is coming in, as far as its later beats need to know
SO_FAR = data.StructLayout({"begun": 1, "broken": 1, "queue": CONFIG.queue_bits})


def to_axi_holds(proof):
    m, dut = proof.m, proof.dut
    assume_or_assert(m, dut.o, name="o")
    beat, owed = dut.i.p, Signal(AXI, name="owed")
    m.d.comb += [
        owed.tdata.eq(beat.data),
        owed.tkeep.eq(Cat(beat.count > number for number in range(BYTES))),
        owed.tlast.eq(beat.last),
        owed.tuser.eq(beat.bad & beat.last),
        owed.tid.eq(beat.queue),
    ]
    entered = dut.i.valid & dut.i.ready
    passage = Passage(proof, entered, owed, dut.o.payload, capacity=2, patience=0)
    accepts_again(proof, dut, 1)
    skid_holds(proof, passage, "departures.")
    whole = (dut.o.p.tkeep == (1 << BYTES) - 1) | dut.o.p.tlast
    proof.cover(passage.left & ~whole, "a beat that nobody should send")
    proof.cover(passage.left & dut.o.p.tuser & (dut.o.p.tkeep == 1), "a bad frame's last byte leaves")


def accepts_again(proof, dut, patience):
    """The input is ready again after so many cycles, those not counted in which the output is stalled."""
    shut = Signal(range(patience + 2), name="shut")
    with proof.m.If(dut.i.ready):
        proof.m.d.sync += shut.eq(0)
    with proof.m.Elif(~dut.o.valid | dut.o.ready):
        proof.m.d.sync += shut.eq(shut + (shut <= patience))
    proof.require(dut.i.ready | (shut < patience), "the input accepts again")


def test_to_axi(tmp_path):
    to_axi_holds(proof := Proof(ToAxi(CONFIG, queue="tid")))
    proof.check(tmp_path, depth=12, induction=2)


def is_null(beat):
    """Whether a transfer carries nothing, and means nothing."""
    return (beat.tkeep == 0) & ~beat.tlast


def is_sound(beat):
    """Whether a transfer has the bytes that it should: all, or in the last one some from the first on."""
    ends = Cat(beat.tkeep == (1 << number) - 1 for number in range(1, BYTES + 1)).any()
    return Mux(beat.tlast, ends, beat.tkeep == (1 << BYTES) - 1)


class Read:
    """What a transfer is to become, in a frame of which it is known what came ``before``: a beat that is ``owed``
    if it is ``real``, and what is known ``after`` it."""

    def __init__(self, m, name, beat, before):
        self.real, self.owed = Signal(name=f"{name}_real"), Signal(FRAME, name=f"{name}_owed")
        self.after, spoilt = Signal(SO_FAR, name=f"{name}_after"), Signal(name=f"{name}_spoilt")
        count = Const(BYTES)  # up to the first zero, and in the last beat alone: others are full, or spoil their frame
        for number in reversed(range(BYTES)):
            count = Mux(beat.tkeep[number], count, max(number, 1))
        m.d.comb += [
            self.real.eq(~is_null(beat)),
            spoilt.eq(before.broken | ~is_sound(beat)),
            self.owed.data.eq(beat.tdata),
            self.owed.count.eq(Mux(beat.tlast, count, BYTES)),
            self.owed.last.eq(beat.tlast),
            self.owed.bad.eq(beat.tlast & (beat.tuser | spoilt)),
            self.owed.queue.eq(Mux(before.begun, before.queue, beat.tid)),
        ]
        with m.If(~self.real):
            m.d.comb += self.after.eq(before)
        with m.Elif(~beat.tlast):
            m.d.comb += [self.after.begun.eq(1), self.after.broken.eq(spoilt), self.after.queue.eq(self.owed.queue)]


class Source:
    """Which transfers are of frames that no reset has cut: ``sound`` says so of the one that is taken now.

    A frame begins with the first transfer that means something after a last one, or after a reset in which nothing was
    offered: then the source was reset as well. What knows this is not reset.
    """

    def __init__(self, proof):
        m, source = proof.m, proof.dut.i
        reset = ResetSignal()
        self.was_reset = was_reset = Signal(reset_less=True, name="was_reset_before")
        self.silent = silent = Signal(reset_less=True, name="silent")  # nothing was offered since this reset began
        self.within = within = Signal(reset_less=True, name="within")
        self.cut = cut = Signal(reset_less=True, name="cut")  # a reset came while this frame was coming in
        anew, now_within, now_cut = (Signal(name=name) for name in ("anew", "now_within", "now_cut"))
        means = source.valid & source.ready & ~is_null(source.p)
        m.d.comb += [
            anew.eq(was_reset & ~reset & silent),
            now_within.eq(within & ~anew),
            now_cut.eq(now_within & cut),
        ]
        m.d.sync += [was_reset.eq(reset), silent.eq(reset & ~source.valid & (silent | ~was_reset))]
        with m.If(means):
            m.d.sync += [within.eq(~source.p.tlast), cut.eq(~source.p.tlast & (reset | now_cut))]
        with m.Else():
            m.d.sync += [within.eq(now_within), cut.eq(now_within & (reset | now_cut))]
        self.sound = Signal(name="sound")
        m.d.comb += self.sound.eq(~now_cut)
        self.lost = Signal(name="lost")
        m.d.comb += self.lost.eq(means & ~reset & now_cut)

        proof.lemma(proof.inside("was_reset") == was_reset, "it knows of resets")
        proof.lemma(~was_reset | (proof.inside("offered") == ~silent), "it knows who offers in a reset")
        proof.lemma(proof.inside("under_way") == within, "it knows whether a frame is coming in")
        proof.lemma(proof.inside("rest") == (within & cut & ~(was_reset & silent)), "it knows what a reset has cut")
        proof.lemma(~was_reset | ~within | cut, "a reset cuts the frame that is coming in")


def from_axi_holds(proof, *, always_ready):
    m, dut = proof.m, proof.dut
    assume_or_assert(m, dut.o, name="o")
    source = Source(proof)
    so_far = Signal(SO_FAR, name="so_far")
    read = Read(m, "incoming", dut.i.p, so_far)
    entered, offered = Signal(name="entered"), Signal(FRAME, name="offered")
    m.d.comb += [
        entered.eq(dut.i.valid & dut.i.ready & source.sound & read.real),
        offered.eq(dut.o.payload),
        offered.bad.eq(dut.o.p.bad & dut.o.p.last),
    ]
    with m.If(entered):
        m.d.sync += so_far.eq(read.after)
    capacity, patience = (1, 0) if always_ready else (3, 2)
    passage = Passage(proof, entered, read.owed, offered, capacity=capacity, patience=patience)
    if not always_ready:
        accepts_again(proof, dut, 1)
    beats_are_somewhere(proof, passage, so_far, always_ready)

    ended_cut = Signal(name="ended_cut")  # the rest of a frame was lost, to its end
    with m.If(source.lost & dut.i.p.tlast):
        m.d.sync += ended_cut.eq(1)
    proof.cover(ended_cut & passage.left & dut.o.p.last, "a frame leaves after the rest of one that a reset cut")
    proof.cover(passage.next & passage.left & dut.o.p.bad & (dut.o.p.count == 3), "a spoilt frame's last beat leaves")
    late = passage.left & dut.o.p.last & (dut.o.p.count == 5)
    proof.cover(late & dut.o.p.bad & (dut.o.p.queue == 3), "a marked frame's last beat leaves")
    return passage


def beats_are_somewhere(proof, passage, so_far, always_ready):
    """In the last register as they will leave, or in the two before it as they came."""
    m = proof.m
    held = data.StructLayout({"frame": FRAME, "null": 1})(proof.inside("departures.payload"))
    registers = [(proof.inside("departures.valid") & ~held.null, Signal(FRAME, name="last_register"))]
    m.d.comb += [registers[0][1].eq(held.frame), registers[0][1].bad.eq(held.frame.bad & held.frame.last)]
    now = Signal(SO_FAR, name="now")
    begun = ~proof.inside("first")
    # the component says nothing of a frame that has not begun
    m.d.comb += [
        now.begun.eq(begun),
        now.broken.eq(proof.inside("was_broken")),
        now.queue.eq(Mux(begun, proof.inside("queue"), 0)),
    ]
    proof.lemma(begun | ~now.broken, "a frame is broken by its own beats")
    if not always_ready:
        full, second = proof.inside("arrivals.front_valid"), ~proof.inside("arrivals.spare_empty")
        proof.lemma(full | ~second, "the spare register is the second to fill")
        for name, used in (("front", full), ("spare", second)):
            read = Read(m, name, AXI(Value.cast(proof.inside(f"arrivals.{name}"))), now)
            registers.append((used & read.real, read.owed))
            after = Signal(SO_FAR, name=f"after_{name}")
            m.d.comb += after.eq(Mux(used, read.after, now))
            now = after
    proof.lemma(so_far == now, "what is known of a frame is what its beats say")
    ahead = Const(0)
    for number, (used, beat) in enumerate(registers):
        here = passage.waiting & used & (passage.ahead == ahead)
        proof.lemma(~here | (Value.cast(beat) == passage.value), f"register {number} has the followed beat")
        ahead = ahead + used
    proof.lemma(passage.inside == ahead, "the registers hold those inside")


@pytest.mark.parametrize("always_ready", [False, True], ids=["host", "network"])
def test_from_axi(tmp_path, always_ready):
    from_axi_holds(proof := Proof(FromAxi(CONFIG, queue="tid", always_ready=always_ready)), always_ready=always_ready)
    impossible = ("o: an item moves after a stall",) if always_ready else ()
    proof.check(tmp_path, depth=7, induction=2, cover=9, impossible=impossible)
