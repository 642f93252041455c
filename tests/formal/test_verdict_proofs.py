"""The ranks before the outlet: every frame gets one verdict, in order and in time, whatever its bytes are."""

import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from prover import Proof

from fanfold.codes import Port
from fanfold.config import Config
from fanfold.ingress.align import Align, aligned_layout
from fanfold.ingress.parse import Parse, parsed_layout
from fanfold.ingress.verdict import Verdict, verdict_layout
from fanfold.registry.ports import lookup_signature
from fanfold.wire import frame_layout

CONFIG = Config(beat_bytes=8, contributors=2, contexts=2, window=2, segment_bytes=128, queue_bits=1)
#: number of the beat with which it is known where the headers end, and the numbers of those in which they can
DECIDED, ENDS = 2, (2, *range(7, 14))
#: the beat counter stands still here
STOP = 31
#: cycles from a beat to the verdict that it allows
LATENCY = 7
#: frames that can be without a verdict at once
UNDECIDED = 7


class Ranks(wiring.Component):
    """Parser, aligner and verdict, connected as in the ingress; what else the verdict is told may be anything."""

    def __init__(self, config: Config, align: type = Align):
        self._parse, self._align, self._verdict = Parse(config), align(config), Verdict(config, Port.HOST)
        told = self._verdict.signature.members.items()
        self._told = {name: member for name, member in told if member.flow is In and name != "i"}
        super().__init__(
            {
                "i": In(stream.Signature(frame_layout(config), always_ready=True)),
                "o": Out(stream.Signature(verdict_layout(config), always_ready=True)),
                "lookup": Out(lookup_signature()),
                **self._told,
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.parse = parse = self._parse
        m.submodules.align = align = self._align
        m.submodules.verdict = verdict = self._verdict
        wiring.connect(m, wiring.flipped(self.i), parse.i)
        wiring.connect(m, parse.o, align.i)
        wiring.connect(m, align.o, verdict.i)
        wiring.connect(m, verdict.o, wiring.flipped(self.o))
        wiring.connect(m, verdict.lookup, wiring.flipped(self.lookup))
        for name in self._told:
            m.d.comb += getattr(verdict, name).eq(getattr(self, name))
        return m


def verdicts_hold(proof):
    m, dut = proof.m, proof.dut
    within, undecided = Signal(name="within"), Signal(range(2 * UNDECIDED), name="undecided")
    ended = Signal(LATENCY, name="ended")  # frames that have ended in the last cycles
    ends = dut.i.valid & dut.i.p.last
    m.d.sync += [
        undecided.eq(undecided + (dut.i.valid & ~within) - dut.o.valid),
        ended.eq(Cat(ends, ended)),
    ]
    with m.If(dut.i.valid):
        m.d.sync += within.eq(~dut.i.p.last)
    verdict = dut.o.p
    proof.require(~dut.o.valid | (undecided != 0), "a verdict is about a frame that has begun")
    proof.require(undecided <= UNDECIDED, f"at most {UNDECIDED} frames are without a verdict")
    whole = undecided - within
    proof.require(whole <= sum(ended), f"a frame has its verdict {LATENCY} cycles after its end")
    proof.require(
        dut.o.valid | ~(verdict.tagged | verdict.candidate | verdict.unmatched), "what is tagged has a verdict"
    )
    proof.require(~verdict.tagged | verdict.candidate, "what is tagged has sent payload")
    proof.cover(dut.o.valid & verdict.tagged & within & (undecided == 1), "a frame is tagged before it ends")
    proof.cover(dut.o.valid & verdict.tagged & (undecided == 3), "a frame is tagged that others follow")
    proof.cover(dut.o.valid & ~verdict.tagged & (undecided == UNDECIDED), "a verdict comes for one of many frames")
    undecided_are_somewhere(proof, undecided, within)


def undecided_are_somewhere(proof, undecided, within):
    """Each frame without a verdict is in one rank: its first beat, what it has been decided with, or between them."""
    m = proof.m
    inside = proof.inside
    parsed, half, aligned = (_layout(proof, name) for name in ("parsed", "half", "aligned"))
    now = inside("parse.ends")
    numbers = [inside("parse.index")]
    valid = [inside("parse.valid"), inside("parse.o__valid"), inside("align.half_valid")]
    last = [inside("parse.beat"), parsed.beat.last, half.beat.last]
    last[0] = frame_layout(CONFIG)(last[0]).last
    for rank in (2, 3):
        number = Signal(range(STOP + 1), name=f"number_{rank}", reset_less=True)
        m.d.sync += number.eq(numbers[-1])
        numbers.append(number)
    half_ends, passed_ends = Signal(5, name="half_ends"), Signal(5, name="passed_ends")
    m.d.sync += half_ends.eq(now)
    with m.If(valid[2]):
        m.d.sync += passed_ends.eq(half_ends)

    # the number that comes next, before and behind each rank
    following = inside("parse.next_index")
    proof.lemma(within == (following != 0), "the parser knows whether a frame is coming in")
    nexts = []
    for rank, (is_valid, number, is_last) in enumerate(zip(valid, numbers, last, strict=True), start=1):
        expected = Signal(range(STOP + 1), name=f"expected_{rank}")
        after = Mux(is_last, 0, Mux(number == STOP, STOP, number + 1))
        with m.If(is_valid):
            m.d.sync += expected.eq(after)
        proof.lemma(~is_valid | (number == expected), f"rank {rank}: beats come one after another")
        proof.lemma(following == Mux(is_valid, after, expected), f"rank {rank}: the next beat follows")
        following = expected
        nexts.append(expected)

    # where headers end is said once a frame, and stays
    tags = inside("parse.has_tags")
    deciding = inside("parse.deciding")
    proof.lemma(deciding == (valid[0] & (numbers[0] == DECIDED)), "where headers end is known with one beat")
    proof.lemma(~deciding | (tags == 1) | (tags == 2) | (tags == 4), "there is one number of tags")
    proof.lemma(_is_end(now), "headers end where they can")
    behind = Mux(valid[2], half_ends, passed_ends)
    proof.lemma(~(valid[1] & (nexts[1] > DECIDED)) | (now == behind), "it stays from beat to beat")
    proof.lemma(valid[1] | (nexts[0] <= DECIDED) | (now == behind), "it stays between beats")
    proof.lemma(~(valid[2] & (nexts[2] > DECIDED)) | (half_ends == passed_ends), "it stays in the aligner")
    for is_valid, number, end, beat in ((valid[1], numbers[1], now, parsed), (valid[2], numbers[2], half_ends, half)):
        early = number < DECIDED
        proof.lemma(~is_valid | (beat.header == (~early & (number == end))), "one beat has the end of the headers")
        proof.lemma(~is_valid | (beat.before == (early | (number < end))), "others are before it")
    between = (nexts[2] != 0) & ((nexts[2] <= DECIDED) | (nexts[2] <= passed_ends))
    proof.lemma(~(valid[2] & (nexts[2] > DECIDED)) | _is_end(passed_ends), "headers have ended where they can")

    # the verdict's own ranks say the same as these
    judged, ruled = Signal(name="judged"), Signal(name="ruled")
    m.d.sync += [judged.eq(inside("verdict.decided")), ruled.eq(judged)]
    proof.lemma(proof.dut.o.valid == ruled, "a verdict follows its decision")
    decided = [inside("align.valid") & aligned.decide, inside("verdict.decided"), judged]
    begun = [is_valid & (number == 0) for is_valid, number in zip(valid, numbers, strict=True)]
    proof.lemma(undecided == sum([*begun, between, *decided, proof.dut.o.valid]), "each frame is in one rank")


def _is_end(number) -> Value:
    return Cat(number == end for end in ENDS).any()


def _layout(proof, name):
    path, layout = {
        "parsed": ("parse.out", parsed_layout(CONFIG)),
        "half": ("align.half", parsed_layout(CONFIG)),
        "aligned": ("align.out", aligned_layout(CONFIG)),
    }[name]
    return layout(proof.inside(path))


@pytest.mark.long
def test_verdicts(tmp_path):
    verdicts_hold(proof := Proof(Ranks(CONFIG)))
    proof.check(tmp_path, depth=9, induction=9, cover=20)
