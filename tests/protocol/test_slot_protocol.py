"""The slot protocol in a bounded model: every state that loss, duplication and reordering without a bound can reach.

Checked in each: a contribution enters its segment once and no other; a segment succeeds only with exactly one of each
contributor; whoever takes a result takes that segment's; a result that can still be asked for is not overwritten; at
most a window of results is under way at a port. From each: a way on which all segments end for everybody, with
the network and without it. Not modelled: time (a timer may run out at any moment), registration, and the end of a
communicator.
"""

import pytest
from networks import LOCAL_ENDS, agreement, all_done, middle, root
from slot_rules import EXPIRED, OK, PEER_GONE, TIMED_OUT, Rules, Size

ALL_STALL = frozenset({"host", "net", "up", "child"})
NET_STALLS = frozenset({"net"})
NONE_STALL = frozenset()
BY_ITSELF = frozenset({"host", "send", "timer"})
ANY = BY_ITSELF | {"packet"}

#: even segments fall on slot 0: with one slot in use, three segments are 0 and 2, five are 0, 2 and 4
QUICK = {
    "root, both slots": (root, Size(segments=2, stalls=NONE_STALL)),
    "root, a slot twice, the network stalls": (root, Size(segments=3, slots=1, stalls=NET_STALLS)),
    "root, failing and damaged": (
        root,
        Size(children=1, segments=3, slots=1, failing=True, damage=True, stalls=NET_STALLS),
    ),
    "root, two repeats": (root, Size(leaders=1, segments=3, slots=1, repeats=2, stalls=NONE_STALL)),
    "middle, both slots": (middle, Size(leaders=1, children=1, segments=2, stalls=NONE_STALL)),
    "middle, two children": (middle, Size(leaders=1, segments=2, slots=1, stalls=NET_STALLS)),
    "middle, a slot twice, damaged": (
        middle,
        Size(leaders=1, children=1, segments=3, slots=1, damage=True, stalls=NONE_STALL),
    ),
}
LONG = {
    "root, three segments": (root, Size(stalls=NONE_STALL)),
    "root, a slot three times, the network stalls": (root, Size(segments=5, slots=1, stalls=NET_STALLS)),
    "root, everything stalls": (root, Size(leaders=1, children=1, stalls=ALL_STALL)),
    "middle, everything stalls": (middle, Size(leaders=1, children=1, slots=1, stalls=ALL_STALL)),
}


def report(done: int, known: int, seconds: float) -> None:
    print(f"  {done} of {known} states known, {seconds:.0f} s", flush=True)


def check(build, size: Size) -> None:
    explorer = build(size)
    result = explorer.explore(progress=report, keep_steps=True)
    print(result)
    assert result.complete and result.wrong is None, str(result)
    assert explorer.stuck(ANY, all_done(explorer)) == 0
    assert explorer.stuck(BY_ITSELF, all_done(explorer)) == 0, "with nothing but loss, somebody waits for ever"


@pytest.mark.parametrize("name", QUICK)
def test_nothing_goes_wrong(name):
    check(*QUICK[name])


@pytest.mark.long
@pytest.mark.parametrize("name", LONG)
def test_nothing_goes_wrong_in_more_states(name):
    check(*LONG[name])


@pytest.mark.parametrize(
    "build, size",
    [
        (root, Size(leaders=1, segments=2, slots=1, stalls=NONE_STALL, history=True, failing=True)),
        (root, Size(leaders=1, children=1, segments=3, slots=1, stalls=NONE_STALL, history=True, failing=True)),
        (middle, Size(leaders=1, children=1, segments=3, slots=1, stalls=NONE_STALL, history=True, failing=True)),
    ],
)
def test_all_end_alike_unless_a_child_ends_alone(build, size):
    """A child has its parent's end of a segment, or PEER_GONE, or EXPIRED: never success beside another's error."""
    result = build(size, watch=agreement(*LOCAL_ENDS)).explore()
    assert result.complete and result.wrong is None, str(result)


@pytest.mark.parametrize(
    "here, there",
    [(OK, PEER_GONE), (OK, EXPIRED), (TIMED_OUT, PEER_GONE), (TIMED_OUT, EXPIRED)],
)
def test_a_child_that_ends_alone_may_differ(here, there):
    """What no protocol with a bounded number of repeats can rule out is reached: the limits are as documented."""
    size = Size(leaders=1, children=1, segments=3, slots=1, stalls=NONE_STALL, history=True)
    others = [ends for ends in LOCAL_ENDS if ends != (here, there)]
    result = root(size, watch=agreement(*others)).explore()
    assert result.wrong == f"segment 0 ends with {here} at the NIC and with {there} at a child", str(result)


#: what is broken, in what, and what the search says
FAULTS = {
    "entered twice": (root, dict(segments=1), dict(members_once=False), "enters a segment twice"),
    "turn not checked": (root, dict(segments=3), dict(turn_checked=False), "payload of another segment"),
    "answered from another slot": (root, dict(segments=3), dict(answers_own_slot=False), "payload of another segment"),
    "one window of results": (middle, dict(segments=3, damage=True), dict(result_windows=1), "is overwritten"),
    "abort does not wait": (root, dict(segments=5), dict(abort_waits=False), "more than a window of results"),
    "early end does not wait": (middle, dict(segments=5), dict(early_end_waits=False), "payload of another segment"),
    "giving up does not wait": (root, dict(segments=3), dict(give_up_waits=False), "payload of another segment"),
    "a middle NIC's giving up does not wait": (
        middle,
        dict(segments=3, children=0, stalls=frozenset({"up"})),
        dict(give_up_waits=False),
        "payload of another segment",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name):
    build, size, broken, expected = FAULTS[name]
    shape = dict(leaders=1, children=1, slots=1, late_leaders=False, stalls=frozenset({"net", "child"})) | size
    assert build(Size(**shape)).explore(limit=300_000).wrong is None
    result = build(Size(**shape, rules=Rules(**broken))).explore(limit=300_000)
    print(result)
    assert result.wrong is not None and expected in result.wrong, str(result)
    assert result.trace
