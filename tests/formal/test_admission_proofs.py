"""Admission's decision: what is refused or bad writes nothing, a packet is judged once, results are never too many."""

from amaranth import *
from prover import Proof

from fanfold.admission.decide import Decide
from fanfold.admission.undelivered import Undelivered
from fanfold.codes import Status
from fanfold.config import Config

CONFIG = Config(beat_bytes=8, contributors=2, contexts=2, window=2, segment_bytes=128, queue_bits=1)


class Judgement:
    """The rules of acceptance over again, from the packet's first beat and the record that came a cycle after it.

    All of it but ``beat_*`` stands until the packet's last beat, and with it the judgement. The cycle is the one after
    a beat: ``came`` says that there was one.
    """

    def __init__(self, proof):
        m, beat, found = proof.m, proof.dut.i, proof.dut.slots.found
        packet, at_limit = beat.p, proof.inside("undelivered.at_limit")
        self.came, self.known = Signal(), Signal()  # a beat came just now; one came at any time
        self.first, self.last, self.bad = (Signal(name=f"beat_{name}") for name in ("first", "last", "bad"))
        m.d.sync += [
            self.came.eq(beat.valid),
            self.known.eq(self.known | beat.valid),
            self.first.eq(beat.valid & packet.first),
            self.last.eq(packet.last),
            self.bad.eq(packet.bad),
        ]
        of_first = {
            "refusal": packet.refusal,
            "announced": packet.announced,
            "down": packet.down,
            "too_long": packet.too_long,
            "tag": packet.header.coll_tag,
            "source": packet.header.source,
            "root": packet.geometry.root,
            "context": packet.context,
            "slot": proof.dut.slots.find,
        }
        with m.If(beat.valid & packet.first):
            for name, value in of_first.items():
                setattr(self, name, Signal.like(Value.cast(value), name=f"packet_{name}"))
                m.d.sync += getattr(self, name).eq(value)
        of_record = {
            "turn": found.turn,
            "waiting": found.waiting,
            "missing": found.missing,
            "here": found.present.bit_select(self.source[: CONFIG.levels], 1),
            "limited": at_limit.bit_select(self.context, 1),
        }
        self.kept = {}
        for name, value in of_record.items():
            kept = self.kept[name] = Signal.like(Value.cast(value), name=f"kept_{name}")
            setattr(self, name, Signal.like(kept, name=f"record_{name}"))
            m.d.comb += getattr(self, name).eq(Mux(self.first, value, kept))
            m.d.sync += kept.eq(getattr(self, name))
        self.yields = Signal()  # its result leaves the fold, and is to be delivered
        self.up, self.by_slot, self.accepted = Signal(), Signal(), Signal()
        m.d.comb += [
            self.yields.eq(self.down | ((self.missing == 1) & self.root)),
            self.by_slot.eq((self.turn == self.tag) & ~(self.limited & self.yields)),
            self.up.eq(~self.announced & ~self.down & self.by_slot & ~self.waiting & ~self.here & ~self.refusal.any()),
            self.accepted.eq(
                self.announced
                | self.up
                | (self.down & self.by_slot & self.waiting & ~self.too_long & ~self.refusal.any())
            ),
        ]


def packets_in(proof):
    """The input is packets, with gaps anywhere. Records may have any contents in every cycle."""
    beat, inside = proof.dut.i, Signal(name="inside")
    with proof.m.If(beat.valid):
        proof.m.d.sync += inside.eq(~beat.p.last)
    proof.assume(~beat.valid | (beat.p.first == ~inside), "a packet begins where the one before has ended")
    return inside


def same_copies(proof, judged, inside):
    """The component keeps what the judgement keeps: what makes the proofs about it inductive."""
    now, held = proof.inside("now"), proof.inside("held")
    now = proof.dut.i.payload.shape()(now) if isinstance(now, Signal) else now
    record = proof.dut.slots.found.shape()(held) if isinstance(held, Signal) else held
    proof.lemma(judged.known | ~(inside | judged.came), "packets begin with a beat")
    proof.lemma(judged.came | ~judged.first, "a first beat is a beat")
    proof.lemma(proof.inside("valid") == judged.came, "a beat is decided a cycle later")
    pairs = [
        (now.refusal, judged.refusal),
        (now.announced, judged.announced),
        (now.down, judged.down),
        (now.too_long, judged.too_long),
        (now.header.coll_tag, judged.tag),
        (now.header.source, judged.source),
        (now.geometry.root, judged.root),
        (now.context, judged.context),
        (Cat(now.header.coll_tag[:1], now.context), judged.slot),
    ]
    same = Cat(Value.cast(left) == right for left, right in pairs).all()
    proof.lemma(~judged.known | same, "the packet is kept as its first beat said")
    of_beat = Cat(now.first, now.last, now.bad) == Cat(judged.first, judged.last, judged.bad)
    proof.lemma(~judged.came | of_beat, "each beat is what came")
    kept = judged.kept
    index = judged.source[: CONFIG.levels]
    records = [
        (record.turn, kept["turn"]),
        (record.waiting, kept["waiting"]),
        (record.missing, kept["missing"]),
        (record.present.bit_select(index, 1), kept["here"]),
        (proof.inside("was_crowded"), kept["limited"] & judged.yields),
    ]
    same = Cat(Value.cast(left) == right for left, right in records).all()
    proof.lemma(~judged.known | judged.first | same, "the record is kept as the first beat found it")


def decision_holds(proof):
    """What acceptance is, that it stands, and that nothing else writes a record or goes on."""
    m, decide = proof.m, proof.dut
    commit = decide.slots.commit
    inside = packets_in(proof)
    judged = Judgement(proof)
    same_copies(proof, judged, inside)
    writes, came, accepted = commit.valid, judged.came, judged.accepted

    proof.require(~writes | (came & judged.last), "only a packet's last beat writes")
    proof.require(~writes | ~judged.bad, "a bad packet writes nothing")
    proof.require(~writes | (judged.refusal == Status.OK.value), "a packet refused before writes nothing")
    proof.require(~writes | (judged.turn == judged.tag), "a packet out of turn writes nothing")
    proof.require(~writes | judged.down | ~judged.here, "a contributor that is in writes nothing")
    proof.require(~writes | ~judged.announced, "an announcement writes nothing")
    proof.require(~writes | (commit.p.slot == judged.slot), "the record that was read is written")
    writing = came & judged.last & ~judged.bad & judged.accepted & ~judged.announced
    proof.require(writes == writing, "accepted packets write, and nothing else")

    before = Signal()  # how the packet that is coming in was judged at its first beat
    with m.If(came & judged.first):
        m.d.sync += before.eq(accepted)
    proof.require(~judged.known | judged.first | (accepted == before), "a packet is judged once")

    goes_on = Signal(2)  # a failed contribution and a reported result go on as their last beat alone
    m.d.sync += goes_on.eq(Cat(came & accepted & (judged.last | ~proof.inside("empty")), goes_on))
    proof.require(
        proof.inside("output_valid") == goes_on[0], "the beats of an accepted packet, and no others, are sent"
    )
    proof.require(decide.o.valid == goes_on[1], "the beats of an accepted packet, and no others, go on")

    proof.cover(writes & judged.down, "a result writes")
    proof.cover(writes & ~judged.down & ~judged.first, "the second beat of a contribution writes")
    proof.cover(came & judged.last & ~judged.bad & ~accepted, "a packet is refused")
    proof.cover(came & judged.last & judged.bad & accepted, "an accepted packet turns out bad")
    proof.cover(decide.o.valid & decide.o.p.last & ~decide.o.p.first, "the second beat of a packet goes on")


def test_decision(tmp_path):
    proof = Proof(Decide(CONFIG))
    decision_holds(proof)
    proof.check(tmp_path, depth=8, induction=3)


def test_results_of_decisions_have_room(tmp_path):
    """With ``Decide`` before it, no count passes a window; with an announcement on top, a window and one."""
    proof = Proof(decide := Decide(CONFIG))
    inside = packets_in(proof)
    judged = Judgement(proof)
    same_copies(proof, judged, inside)
    for port, done in (("host", decide.host_done), ("net", decide.net_done)):
        for context in range(CONFIG.contexts):
            count = proof.inside(f"undelivered.{port}_{context}")
            name = f"{port}, context {context}"
            proof.assume(~done[context] | (count != 0), f"{name}: only what was given is done")
            announces = judged.came & judged.announced & (judged.context == context)
            proof.assume(~announces | (count <= CONFIG.window), f"{name}: an announcement finds no other there")
            proof.require(count <= CONFIG.window + 1, f"{name}: at most a window and an announcement")
            mine = judged.known & (judged.came | inside) & ~judged.announced & (judged.context == context)
            judging = ~judged.first & judged.yields & ~judged.kept["limited"]
            proof.lemma(~(mine & judging) | (count < CONFIG.window), f"{name}: the room found is there until the end")
            proof.cover(count == CONFIG.window + 1, f"{name}: a window and an announcement")
    refused = judged.came & judged.last & ~judged.bad & ~judged.accepted & judged.limited
    proof.cover(refused & judged.yields & (judged.turn == judged.tag), "a result is refused for want of room")
    proof.check(tmp_path, depth=8, induction=3, cover=14)


def test_undelivered(tmp_path):
    """Each count is what was given less what is done, if nothing is given beyond a window but one announcement."""
    proof = Proof(dut := Undelivered(CONFIG))
    m, given = proof.m, dut.result
    context = proof.constant(range(CONFIG.contexts), "context")
    for port, done in (("host", dut.host_done), ("net", dut.net_done)):
        count = Signal(8, name=f"{port}_given_less_done")
        new, gone = given.valid & (given.payload == context), done.bit_select(context, 1)
        m.d.sync += count.eq(count + new - gone)
        proof.assume(~gone | (count != 0), f"{port}: only what was given is done")
        proof.assume(~new | (count <= CONFIG.window), f"{port}: nothing is given beyond a window and one")
        counts = Array(proof.inside(f"{port}_{index}") for index in range(CONFIG.contexts))
        proof.require(count <= CONFIG.window + 1, f"{port}: at most a window and one are undelivered")
        proof.require(counts[context] == count, f"{port}: the counter is right")
        limited = dut.at_limit.bit_select(context, 1)
        proof.require(limited | (count < CONFIG.window), f"{port}: a window undelivered is at the limit")
        proof.cover(count == CONFIG.window + 1, f"{port}: a window and one")
    proof.check(tmp_path, depth=10, induction=2)
