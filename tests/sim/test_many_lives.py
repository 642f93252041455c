"""Communicators come and go, thousands of them, in the two contexts of a small NIC: each finds it as the first did."""

import random
import struct
from collections import Counter

import pytest
from outcomes import CONFIG

from fanfold.codes import DataType, Operator, Port, Status
from fanfold.control.description import by_name
from fanfold_sim.frames import Address
from fanfold_sim.leader import Leader
from fanfold_sim.nic import Timing, make_nic
from fanfold_sim.records import read_fault
from fanfold_sim.toolchain import has_compiler

needs_compiler = pytest.mark.skipif(not has_compiler(), reason="Verilated models need a C++ compiler")

NIC = Address(0x0200_0000_FF00, 0x0A00_00FE, CONFIG.udp_port)
RELEASE = by_name(CONFIG)["release"].address
#: cycles within which every answer must be there; an abort takes 20 ticks of 16 cycles
_LIMIT = 2000


class Life:
    """One communicator of 1 to 4 leaders in the NIC, from its registration to its end."""

    def __init__(self, nic, number: int):
        self.nic = nic
        self.choices = random.Random(number)
        # most of the time with a number that another one had before, never with its key
        comm_id, key = self.choices.choice((number % 8, number % 65536)), number
        self.context = comm_id % CONFIG.contexts
        self.leaders = [
            Leader(Address(0x0200_0000_0000 + index, 0x0A00_0000 + index, 5000, queue=index), NIC, comm_id, key, index)
            for index in range(self.choices.randint(1, CONFIG.contributors))
        ]

    def exchange(self, frames: dict[Leader, bytes], statuses=(Status.OK,), heard=None) -> list:
        """Sends ``frames``; those who hear of it (all, if not said otherwise) get one answer each, with that status."""
        for leader, frame in frames.items():
            self.nic.offer(Port.HOST, frame, cycle=self.nic.cycle, queue=leader.address.queue)
        answers: dict[Leader, list] = {leader: [] for leader in self.leaders if heard is None or leader in heard}
        limit = self.nic.cycle + _LIMIT
        while not all(answers.values()) and self.nic.cycle < limit:
            for departure in self.nic.run(self.nic.cycle + 32):
                found = {leader: leader.hear(departure.frame) for leader in self.leaders}
                [(leader, answer)] = [(leader, answer) for leader, answer in found.items() if answer]
                answers[leader].append(answer)
        assert all(len(each) == 1 for each in answers.values()), f"{len(answers)} wait, {answers}"
        assert all(each[0].status in statuses for each in answers.values())
        return [each[0] for each in answers.values()]

    def run(self) -> Counter:
        """Registers, folds, ends in one of three ways; what the NIC must have counted more."""
        total = len(self.leaders)
        self.exchange({each: each.register(ranks=1, leaders=total, window=2) for each in self.leaders})
        counts = Counter(opened=1, closed=1)
        for _ in range(self.choices.randint(0, 3)):
            parts = {each: struct.pack("<I", 1 << 8 * each.index) for each in self.leaders}
            sent = {each: each.allreduce(part, Operator.SUM, DataType.UINT32) for each, part in parts.items()}
            answers = self.exchange(sent)
            wanted = struct.pack("<I", sum(1 << 8 * index for index in range(total)))
            assert {answer.payload for answer in answers} == {wanted}
            counts.update(contributions=total, folded=1)
        end = self.choices.choice(("leaves", "leaves", "is released", "is late"))
        if end == "is late" and total > 1:
            late = self.choices.choice(self.leaders)
            sent = {each: each.barrier() for each in self.leaders if each is not late}
            late.barrier()  # it will hear of a segment that it never sent
            for answer in self.exchange(sent, (Status.TIMED_OUT,)):
                assert read_fault(answer.payload).missing == (late.index,)
            counts.update(contributions=total - 1, aborted=1)
        if end == "is released":
            # in the middle of a segment, wherever it is then
            some = self.leaders[: self.choices.randint(0, total - 1)]
            for leader in some:
                self.nic.offer(Port.HOST, leader.barrier(), cycle=self.nic.cycle, queue=leader.address.queue)
            self.nic.run(self.nic.cycle + 200)
            self.nic.write_register(RELEASE, self.context)
            counts.update(contributions=len(some))
            assert not self.nic.run(self.nic.cycle + 64)
        else:
            self.exchange({each: each.deregister() for each in self.leaders})
            counts.update(contributions=total, folded=1)
        return counts


def live(lives: int) -> None:
    nic = make_nic("verilator", CONFIG)
    nic.set_timing(Timing(abort_ticks=20))
    counts: Counter = Counter()
    for number in range(lives):
        counts += Life(nic, number).run()
        if number % 1000 == 999:
            print(f"{number + 1} communicators, {nic.cycle} cycles", flush=True)
    nic.run(nic.cycle + 1000)
    assert nic.quiet, "nothing is timed any more"
    found = {name: count for name, count in nic.counters().items() if count and not name.startswith("host_")}
    assert found == {name: count for name, count in counts.items() if count}
    assert nic.read_register(by_name(CONFIG)["open_contexts_0"].address) == 0
    nic.close()


@needs_compiler
def test_communicators_come_and_go():
    live(300)


@needs_compiler
@pytest.mark.long
def test_ten_thousand_communicators_come_and_go():
    live(10_000)
