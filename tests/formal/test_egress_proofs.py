"""An egress: regular beats leave as they came, whatever copies there are, and after one packet of theirs at most."""

from amaranth import *
from prover import Proof

from fanfold.codes import Direction, Port
from fanfold.config import Config
from fanfold.egress import Egress
from fanfold.streams import assume_or_assert
from fanfold.wire import copy_layout

CONFIG = Config(beat_bytes=8, contributors=2, contexts=2, window=2, segment_bytes=128, queue_bits=1)


REGULAR = 1  # the arbiter's input


class Registers:
    """A skid of the egress: two registers, of which ``held`` are in use."""

    def __init__(self, proof, path: str):
        self.front, self.spare = proof.inside(f"{path}.front"), proof.inside(f"{path}.spare")
        self.offers, self.takes = proof.inside(f"{path}.front_valid"), proof.inside(f"{path}.spare_empty")
        self.held = Signal(range(3), name=f"{path}_held")
        proof.m.d.comb += self.held.eq(self.offers + ~self.takes)
        proof.lemma(self.takes | self.offers, f"{path}: the spare register is the second to fill")

    def has(self, place, value) -> Value:
        """Whether ``value`` is in use, with so many before it."""
        item = Mux(place == 0, Value.cast(self.front), Value.cast(self.spare))
        return (place < self.held) & (item == Value.cast(value))


def regular_leaves(proof):
    """Any beat that comes in is followed through the register before the arbiter and the one behind it."""
    m, dut = proof.m, proof.dut
    before, behind = Registers(proof, "regular_skid"), Registers(proof, "output_skid")
    source, offered = proof.inside("frame_arbiter.chosen"), proof.inside("frame_arbiter.o__valid")
    begun, copies = proof.inside("frame_arbiter.begun"), proof.inside("built_skid.front_valid")
    assume_or_assert(m, dut.regular, name="regular", assume=True)
    assume_or_assert(m, dut.o, name="o")
    copies_are_sound(proof)

    entered, passes, left = (Signal(name=name) for name in ("entered", "passes", "left"))
    passed = Signal(name="passed")  # a beat moves through the arbiter, from either side
    m.d.comb += [
        entered.eq(dut.regular.valid & dut.regular.ready),
        passed.eq(offered & behind.takes),
        passes.eq(passed & (source == REGULAR)),
        left.eq(dut.o.valid & dut.o.ready),
    ]
    chosen_now = proof.free(1, "chosen_now")
    value = Signal.like(Value.cast(dut.regular.payload), name="value")
    waits, leaving = Signal(name="waits"), Signal(name="leaving")
    ahead, moves = Signal(range(4), name="ahead"), Signal(name="moves")
    m.d.comb += moves.eq(waits & passes & (ahead == 0))
    with m.If(entered & chosen_now & ~waits & ~leaving):
        m.d.sync += [waits.eq(1), value.eq(dut.regular.payload), ahead.eq(before.held - passes)]
    with m.Elif(moves):
        m.d.sync += [waits.eq(0), leaving.eq(1), ahead.eq(behind.held - left)]
    with m.Elif(waits):
        m.d.sync += ahead.eq(ahead - passes)
    with m.Elif(leaving & left):
        m.d.sync += [leaving.eq(ahead != 0), ahead.eq(ahead - 1)]
    turn = leaving & (ahead == 0)
    same = Value.cast(dut.o.payload) == value
    proof.require(~turn | (dut.o.valid & same), "a regular beat leaves as it came, in its turn")
    proof.require(~waits | before.has(ahead, value), "a regular beat waits as it came")
    proof.lemma(~leaving | behind.has(ahead, value), "a regular beat is in the last register")
    proof.lemma(~(waits & leaving), "the followed beat is in one place")
    proof.cover(turn & left, "the followed beat leaves")

    # a regular frame begins after one packet of copies at most
    others = Signal(range(4), name="others")
    inside = Signal(name="inside")  # a regular frame has begun to pass
    with m.If(passes):
        m.d.sync += inside.eq(~proof.inside("frame_arbiter.o__payload").bit_select(*_last(dut)))
    ends = passed & (source != REGULAR) & proof.inside("frame_arbiter.o__payload").bit_select(*_last(dut))
    m.d.sync += others.eq(Mux(before.offers & ~inside & ~passes, others + ends, 0))
    proof.require(others <= 1, "a regular frame begins after at most one packet of copies")
    proof.require(offered | begun | ~(before.offers | copies), "a packet that waits is offered at once")
    proof.lemma((others == 0) | (source == REGULAR), "its turn is next")
    proof.lemma(inside == (begun & (source == REGULAR)), "a frame that has begun keeps its turn")
    proof.cover(passed & ~passes & before.offers, "a regular frame waits for a packet of copies")


def copies_are_sound(proof):
    """What the egress believes of its copies and refusals: they fit a segment, and at the host they go down."""
    dut = proof.dut

    def fits(copy):
        header = copy.segment.header
        return copy.silent | (header.length <= CONFIG.segment_bytes)

    down = dut.copies.p.segment.direction == Direction.DOWN
    proof.assume(~dut.copies.valid | (down & fits(dut.copies.p)), "copies are sound")
    proof.assume(~dut.refusals.valid | fits(dut.refusals.p), "refusals are sound")
    waiting = Registers(proof, "copy_skid")
    for place, item in enumerate((waiting.front, waiting.spare)):
        proof.lemma((waiting.held <= place) | fits(copy_layout(CONFIG)(Value.cast(item))), "those that wait are sound")


def _last(dut):
    """Where a frame beat has its ``last``: place and width."""
    field = dut.o.payload.shape()["last"]
    return field.offset, field.width


def test_egress(tmp_path):
    regular_leaves(proof := Proof(Egress(CONFIG, Port.HOST)))
    proof.check(tmp_path, depth=4, induction=2, cover=16)
