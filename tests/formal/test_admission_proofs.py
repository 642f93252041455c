"""Admission's decision: what is refused or bad writes nothing, a packet is judged once, results are never too many."""

from amaranth import *
from judgement import CONFIG, Judgement, told_of
from prover import Proof

from fanfold.admission.decide import Decide
from fanfold.admission.undelivered import Undelivered
from fanfold.codes import Origin, Status


def decision_holds(proof):
    """What acceptance is, that it stands, and that nothing else writes a record or goes on."""
    m, decide = proof.m, proof.dut
    commit = decide.slots.commit
    judged = Judgement(proof)
    judged.is_kept(proof)
    writes, came, accepted = commit.valid, judged.came, judged.accepted
    packet, record = judged.packet, judged.record

    proof.require(~writes | (came & judged.last), "only a packet's last beat writes")
    proof.require(~writes | ~judged.bad, "a bad packet writes nothing")
    proof.require(~writes | (packet.refusal == Status.OK), "a packet refused before writes nothing")
    proof.require(~writes | (record.turn == packet.header.coll_tag), "a packet out of turn writes nothing")
    proof.require(~writes | packet.down | ~judged.here, "a contributor that is in writes nothing")
    proof.require(~writes | (packet.origin != Origin.ANNOUNCED), "an announcement writes nothing")
    proof.require(~writes | (commit.p.slot == judged.slot), "the record that was read is written")
    writing = came & judged.last & ~judged.bad & accepted & (packet.origin != Origin.ANNOUNCED)
    proof.require(writes == writing, "accepted packets write, and nothing else")

    before = Signal()  # how the packet that is coming in was judged at its first beat
    with m.If(came & judged.first):
        m.d.sync += before.eq(accepted)
    proof.require(~judged.known | judged.first | (accepted == before), "a packet is judged once")

    goes_on = Signal(2)  # a failed contribution and a reported result go on as their last beat alone
    m.d.sync += goes_on.eq(Cat(came & accepted & (judged.last | ~judged.empty), goes_on))
    sent = proof.inside("output_valid")
    proof.lemma(sent == goes_on[0], "the beats of an accepted packet are sent")
    proof.require(decide.o.valid == goes_on[1], "the beats of an accepted packet, and no others, go on")

    proof.cover(writes & packet.down, "a result writes")
    proof.cover(writes & ~packet.down & ~judged.first, "the second beat of a contribution writes")
    proof.cover(came & judged.last & ~judged.bad & ~accepted, "a packet is refused")
    proof.cover(came & judged.last & judged.bad & accepted, "an accepted packet turns out bad")
    proof.cover(decide.o.valid & decide.o.p.last & ~decide.o.p.first, "the second beat of a packet goes on")


def records_hold(proof):
    """A sound record is followed by a sound one, which says what the packet changed.

    Sound: the contributors that are in and those that are missing make the total; a segment has begun when somebody is
    in, and waits for its parent when nobody is missing.
    """
    decide = proof.dut
    judged = Judgement(proof)
    judged.is_kept(proof)
    packet, before = judged.packet, judged.record
    writes, after = decide.slots.commit.valid, decide.slots.commit.p.record
    total, source = judged.total, packet.header.source

    def sound(record):
        inside = sum(record.present[index] for index in range(CONFIG.contributors))
        whole = Cat(~record.present[index] | (index < total) for index in range(CONFIG.contributors)).all()
        waiting = record.waiting == (record.missing == 0)
        return (record.missing + inside == total) & whole & waiting & (record.begun == (inside != 0))

    geometry = packet.geometry
    proof.assume(geometry.leaders + geometry.children <= CONFIG.contributors, "a context has room for its contributors")
    proof.assume(~judged.came | (total != 0), "an open context has contributors")
    proof.assume(~judged.came | sound(before), "the record found is sound")
    accepts = judged.came & judged.up
    proof.assume(~accepts | (source < total), "a contributor that passed the screen is one of the total")
    proof.require(~writes | sound(after), "a record written is sound")

    ends = packet.down | (judged.folds & geometry.root)
    on = Mux(ends, CONFIG.window, 0)
    proof.require(~writes | (after.turn == (before.turn + on)[:32]), "the turn moves when, and only when, it ends")
    joins = before.present | (1 << source[: CONFIG.levels])
    proof.require(~writes | (after.present == Mux(ends, 0, joins)), "the contributor is in, until the segment ends")
    proof.require(~writes | packet.down | (Value.cast(after.status) == judged.status), "the first failure stays")
    said = Mux(before.begun, told_of(before), told_of(packet.header))
    proof.require(~writes | packet.down | (told_of(after) == said), "what the first contribution said stays")
    proof.cover(writes & ~packet.down & (after.missing == 1), "all but one are in")
    proof.cover(writes & after.waiting, "the segment waits for its parent")
    proof.cover(writes & judged.folds & ends, "the root's segment ends")
    proof.cover(writes & before.begun & (after.status == Status.MISMATCH), "a contribution does not match the first")


def test_decision(tmp_path):
    decision_holds(proof := Proof(Decide(CONFIG)))
    proof.check(tmp_path, depth=3, induction=2, cover=8)


def test_records(tmp_path):
    records_hold(proof := Proof(Decide(CONFIG)))
    proof.check(tmp_path, depth=3, induction=2, cover=8)


def test_results_of_decisions_have_room(tmp_path):
    """With ``Decide`` before it, no count passes a window; with an announcement on top, a window and one."""
    proof = Proof(decide := Decide(CONFIG))
    judged = Judgement(proof)
    judged.is_kept(proof)
    packet = judged.packet
    for port, done in (("host", decide.host_done), ("net", decide.net_done)):
        for context in range(CONFIG.contexts):
            count = proof.inside(f"undelivered.{port}_{context}")
            name = f"{port}, context {context}"
            proof.assume(~done[context] | (count != 0), f"{name}: only what was given is done")
            announces = judged.came & (packet.origin == Origin.ANNOUNCED) & (packet.context == context)
            proof.assume(~announces | (count <= CONFIG.window), f"{name}: an announcement finds no other there")
            proof.require(count <= CONFIG.window + 1, f"{name}: at most a window and an announcement")
            mine = (judged.came | judged.inside) & (packet.origin != Origin.ANNOUNCED) & (packet.context == context)
            judging = ~judged.first & judged.yields & ~judged.kept_limited
            proof.lemma(~(mine & judging) | (count < CONFIG.window), f"{name}: the room found is there until the end")
            proof.cover(count == CONFIG.window + 1, f"{name}: a window and an announcement")
    refused = judged.came & judged.last & ~judged.bad & ~judged.accepted & judged.crowded
    in_turn = judged.record.turn == packet.header.coll_tag
    proof.cover(refused & in_turn & (packet.refusal == Status.OK), "a result is refused for want of room")
    proof.check(tmp_path, depth=3, induction=2, cover=14)


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
