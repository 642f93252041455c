"""What ``--inject`` takes: every kind, both directions, and what is wrong in one line."""

import re

import pytest

from fanfold_sim.faults.injection import KINDS, Injection, Rates


def test_every_kind():
    spec = (
        "loss=0.05,duplicate-up=0.01,reorder-down=0.02,corrupt=1,reorder-cycles=70,late=2.1:5000,dead=3.0:10,"
        "dead-node=1:0,full=0,leaders-repeat=900,seed=7"
    )
    assert Injection.parse([spec]) == Injection(
        up=Rates(loss=0.05, duplicate=0.01, corrupt=1.0),
        down=Rates(loss=0.05, reorder=0.02, corrupt=1.0),
        reorder_cycles=70,
        late={(2, 1): 5000},
        dead={(3, 0): 10},
        dead_nodes={1: 0},
        full=frozenset({0}),
        leaders_repeat=900,
        seed=7,
    )
    assert set(KINDS) == {re.split("-up|-down|=", part)[0] for part in spec.split(",")}


def test_options_add_up_and_the_last_word_counts():
    injection = Injection.parse(["loss=0.5,late=0.0:1", "loss-up=0.1, late=0.1:2", "late=0.1:3"])
    assert (injection.up.loss, injection.down.loss) == (0.1, 0.5)
    assert injection.late == {(0, 0): 1, (0, 1): 3}


def test_in_words():
    assert str(Injection.parse(["seed=3"])) == "seed 3"
    text = str(Injection.parse(["loss=0.1,reorder-up=0.2,dead=1.0:4,full=2,leaders-repeat=5"]))
    assert text == (
        "loss 0.1, reorder 0.2 up, 0 down, held back up to 1000 cycles, node 1 leader 0 dead after 4 segments, "
        "the NIC of node 2 full, leaders repeat after 5 cycles, seed 0"
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "nothing: it must be NAME=VALUE; known are loss=PART, "),
        ("loss", "loss: it must be NAME=VALUE"),
        ("lost=1", "lost=1: known are loss=PART, duplicate=PART, "),
        ("loss-left=1", "loss-left=1: known are "),
        ("loss=2", "loss=2: it must be a part of the frames, from 0 to 1"),
        ("loss=nan", "loss=nan: it must be a part"),
        ("corrupt-up=x", "corrupt-up=x: it must be a part"),
        ("seed=-1", "seed=-1: it must be seed=N, a whole number from 0 to 1000000000"),
        ("reorder-cycles=0", "reorder-cycles=0: it must be reorder-cycles=N, a whole number from 1 to"),
        ("late=1:5", "late=1:5: it must be late=NODE.LEADER:CYCLES, a whole number"),
        ("late=1.2", "late=1.2: it must be late=NODE.LEADER:CYCLES"),
        ("dead=1.x:5", "dead=1.x:5: it must be dead=NODE.LEADER:SEGMENTS"),
        ("dead-node=1", "dead-node=1: it must be dead-node=NODE:SEGMENTS"),
        ("full=all", "full=all: it must be full=NODE"),
    ],
)
def test_what_is_wrong(spec, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Injection.parse([spec])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("late=4.0:1", "late=4.0: nodes are 0 to 3"),
        ("dead=0.2:1", "dead=0.2: leaders of a node are 0 to 1"),
        ("dead-node=9:1", "dead-node=9: nodes are 0 to 3"),
        ("full=4", "full=4: nodes are 0 to 3"),
    ],
)
def test_who_is_not_there(spec, message):
    injection = Injection.parse([spec])
    injection.check(10, 3)
    with pytest.raises(ValueError, match=re.escape(message)):
        injection.check(4, 2)
