"""Registers and queues: the stream's law, and every item once, in order."""

import pytest
from amaranth.lib import data
from followed import Followed
from places import fifo_holds, skid_holds
from prover import Proof

from fanfold.streams import Queue, Skid, Slice, assume_or_assert

ITEM = data.StructLayout({"value": 2})


def lawful(proof):
    """One input and one output: the input keeps the law, so must the output."""
    assume_or_assert(proof.m, proof.dut.i, name="i", assume=True)
    assume_or_assert(proof.m, proof.dut.o, name="o")


def slice_holds(proof):
    lawful(proof)
    followed = Followed(proof, capacity=1, patience=0)
    proof.require(followed.inside == proof.dut.o.valid, "valid says whether one is inside")


def skid_keeps(proof):
    lawful(proof)
    skid_holds(proof, Followed(proof, capacity=2, patience=0))


def queue_of_two_holds(proof):
    lawful(proof)
    followed = Followed(proof, capacity=2, patience=0)
    skid_holds(proof, followed, "skid.")
    proof.require(proof.dut.level == followed.inside, "level counts those inside")


def queue_holds(proof, depth=4):
    lawful(proof)
    followed = Followed(proof, capacity=depth, patience=1)
    proof.lemma(fifo_holds(proof, followed, depth) == followed.inside, "the queue holds those inside")
    proof.require(proof.dut.level == followed.inside, "level counts those inside")


def test_slice(tmp_path):
    slice_holds(proof := Proof(Slice(ITEM)))
    proof.check(tmp_path, depth=12, induction=2)


def test_skid(tmp_path):
    skid_keeps(proof := Proof(Skid(ITEM)))
    proof.check(tmp_path, depth=12, induction=2)


def test_queue_of_two(tmp_path):
    queue_of_two_holds(proof := Proof(Queue(ITEM, 2)))
    proof.check(tmp_path, depth=12, induction=2)


@pytest.mark.parametrize("depth", [4, pytest.param(8, marks=pytest.mark.long)])
def test_queue(tmp_path, depth):
    queue_holds(proof := Proof(Queue(ITEM, depth)), depth)
    proof.check(tmp_path, depth=3, induction=2, cover=depth + 4)
