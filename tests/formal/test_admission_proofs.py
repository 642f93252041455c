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
    proof.require(~writes | ~judged.up | ~judged.here, "a contributor that is in writes nothing")
    silent = (packet.origin == Origin.ANNOUNCED) | (packet.origin == Origin.REPEATED)
    proof.require(~writes | ~silent, "an announcement or a repeat writes nothing")
    proof.require(~writes | (commit.p.slot == judged.slot), "the record that was read is written")
    writing = came & judged.last & ~judged.bad & judged.changes
    proof.require(writes == writing, "packets that change something write, and nothing else")

    before = Signal()  # how the packet that is coming in was judged at its first beat
    with m.If(came & judged.first):
        m.d.sync += before.eq(accepted)
    proof.require(~judged.known | judged.first | (accepted == before), "a packet is judged once")

    goes_on = Signal(2)
    m.d.sync += goes_on.eq(Cat(came & judged.goes & (judged.last | ~judged.short), goes_on))
    sent = proof.inside("output_valid")
    proof.lemma(sent == goes_on[0], "the beats of an accepted packet are sent")
    proof.require(decide.o.valid == goes_on[1], "the beats of an accepted packet, and no others, go on")

    proof.cover(writes & packet.down, "a result writes")
    for name in ("overdue", "given_up"):
        proof.cover(writes & judged.verdicts[name] & ~judged.first, f"the last beat of a timer's packet writes: {name}")
    for name in ("repeated", "answered"):
        proof.cover(came & judged.last & judged.verdicts[name], f"a packet goes on that changes nothing: {name}")
    proof.cover(writes & judged.down & ~record.waiting, "a failed result comes early")
    proof.cover(writes & ~packet.down & ~judged.first, "the second beat of a contribution writes")
    proof.cover(came & judged.last & ~judged.bad & ~accepted, "a packet is refused")
    proof.cover(came & judged.last & judged.bad & accepted, "an accepted packet turns out bad")
    proof.cover(decide.o.valid & decide.o.p.last & ~decide.o.p.first, "the second beat of a packet goes on")


def records_hold(proof):
    """A sound record is followed by a sound one, which says what the packet changed.

    Sound: the contributors that are in and those that are missing make the total; a segment has begun when somebody is
    in, and waits for its parent when nobody is missing. It may wait for it before.
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
        waiting = (record.waiting | (record.missing != 0)) & (~record.waiting | record.begun)
        return (record.missing + inside == total) & whole & waiting & (record.begun == (inside != 0))

    geometry = packet.geometry
    proof.assume(geometry.leaders + geometry.children <= CONFIG.contributors, "a context has room for its contributors")
    proof.assume(~judged.came | (total != 0), "an open context has contributors")
    proof.assume(~judged.came | sound(before), "the record found is sound")
    accepts = judged.came & judged.up
    proof.assume(~accepts | (source < total), "a contributor that passed the screen is one of the total")
    proof.require(~writes | sound(after), "a record written is sound")

    ends, up = judged.ends, judged.up
    on = Mux(ends, CONFIG.window, 0)
    proof.require(~writes | (after.turn == (before.turn + on)[:32]), "the turn moves when, and only when, it ends")
    joins = before.present | Mux(up, 1 << source[: CONFIG.levels], 0)
    proof.require(~writes | (after.present == Mux(ends, 0, joins)), "the contributor is in, until the segment ends")
    proof.require(~writes | (Value.cast(after.status) == judged.status), "the first failure stays")
    said = Mux(before.begun, told_of(before)[:-16], told_of(packet.header)[:-16])
    proof.require(~writes | judged.down | (told_of(after)[:-16] == said), "what the first contribution said stays")
    proof.require(~writes | (after.last.valid == (before.last.valid | ends)), "an ending is remembered")
    ended = Value.cast(after.last.status) == judged.status
    proof.require(~(writes & ends) | ended, "the last ending is the one that is remembered")
    untouched = Value.cast(after.last) == Value.cast(before.last)
    proof.require(~writes | ends | untouched, "it is remembered until the next one")
    failed = before.begun & (before.status != Status.OK)
    proof.require(~writes | ~(up & failed) | (after.length == before.length), "so does the first fault's length")
    proof.cover(writes & up & (after.missing == 1), "all but one are in")
    proof.cover(writes & after.waiting & (after.missing == 0), "the segment waits for its parent")
    proof.cover(writes & after.waiting & (after.missing != 0), "it waits though somebody is missing")
    proof.cover(writes & judged.full & ends, "the root's segment ends")
    proof.cover(writes & before.begun & (after.status == Status.MISMATCH), "a contribution does not match the first")


def test_decision(tmp_path):
    decision_holds(proof := Proof(Decide(CONFIG)))
    proof.check(tmp_path, depth=3, induction=2, cover=8)


def test_records(tmp_path):
    records_hold(proof := Proof(Decide(CONFIG)))
    proof.check(tmp_path, depth=3, induction=2, cover=8)


def test_results_of_decisions_have_room(tmp_path):
    """With ``Decide`` before it, no count of results passes a window; with an announcement on top, a window and one."""
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
            judging = ~judged.first & judged.ends
            proof.lemma(~(mine & judging) | (count < CONFIG.window), f"{name}: the room found is there until the end")
            proof.cover(count == CONFIG.window + 1, f"{name}: a window and an announcement")
    refused = judged.came & judged.last & ~judged.bad & ~judged.accepted & judged.crowded
    in_turn = judged.record.turn == packet.header.coll_tag
    proof.cover(refused & in_turn & (packet.refusal == Status.OK), "a result is refused for want of room")
    proof.check(tmp_path, depth=3, induction=2, cover=14)


def test_undelivered(tmp_path):
    """Each count is what was given less what is done, if nothing is given beyond a window but one announcement."""
    proof = Proof(dut := Undelivered(CONFIG))
    most = dut.singles
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

    singles = Signal(8, name="singles_given_less_done")
    new = dut.single.valid & (dut.single.payload == context)
    gone = dut.host_single_done.bit_select(context, 1) + dut.net_single_done.bit_select(context, 1)
    m.d.sync += singles.eq(singles + new - gone)
    for index in range(CONFIG.contexts):
        inside = proof.inside(f"singles_{index}")
        away = dut.host_single_done[index] + dut.net_single_done[index]
        proof.assume(away <= inside, f"context {index}: only single packets that were given are done")
        given = dut.single.valid & (dut.single.payload == index)
        proof.assume(~given | (inside < most), f"context {index}: no more are given than there is room for")
    counts = Array(proof.inside(f"singles_{index}") for index in range(CONFIG.contexts))
    proof.require(counts[context] == singles, "the counter of single packets is right")
    proof.require(dut.sending.bit_select(context, 1) == (singles != 0), "it is known whether there are any")
    some = [singles != 0] + [
        Array(proof.inside(f"{port}_{index}") for index in range(CONFIG.contexts))[context] != 0
        for port in ("host", "net")
    ]
    proof.require(dut.waiting.bit_select(context, 1) == Cat(*some).any(), "it is known whether anything is under way")
    proof.cover(singles == most, "as many single packets as there may be")
    proof.check(tmp_path, depth=10, induction=2)
