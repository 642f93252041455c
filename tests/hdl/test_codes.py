"""The codes that travel: their numbers are a promise to every host and every capture ever written."""

import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from fanfold.codes import Collective, DataType, Direction, Operator, Origin, Port, Status, defined, known
from fanfold_sim.bench import cycle, run

#: in the order of their numbers from 0
NAMES = {
    Collective: "REGISTER DEREGISTER BARRIER ALLREDUCE REDUCE BROADCAST ALLGATHER GATHER SCATTER REDUCE_SCATTER "
    "ALLTOALL",
    Operator: "SUM PROD MIN MAX LAND LOR LXOR BAND BOR BXOR MINLOC MAXLOC",
    DataType: "INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 FLOAT16 BFLOAT16 FLOAT32 FLOAT64 "
    "FLOAT32_INT32 INT32_INT32 FLOAT64_INT32",
    Status: "OK NOT_OPEN OUT_OF_RANGE WRONG_SOURCE DUPLICATE OUT_OF_WINDOW MISMATCH UNSUPPORTED BAD_LENGTH NO_ROOM "
    "DISAGREE TOO_LARGE TIMED_OUT PEER_GONE EXPIRED",
    Direction: "UP DOWN",
    Origin: "RECEIVED ANNOUNCED OVERDUE GIVEN_UP REPEATED",
    Port: "HOST NET",
}


@pytest.mark.parametrize("members", NAMES, ids=lambda members: members.__name__)
def test_the_numbers_stay(members):
    assert {member.name: member.value for member in members} == dict(
        zip(NAMES[members].split(), range(100), strict=False)
    )


@pytest.mark.parametrize("kind", DataType, ids=lambda kind: kind.name.lower())
def test_an_element_takes_the_bytes_that_its_name_says(kind):
    bits = [int(each) for each in re.findall(r"\d+", kind.name)]
    # a structure in C is padded to a multiple of its largest member
    assert 8 * kind.element_bytes == -(-sum(bits) // max(bits)) * max(bits)
    assert kind.pair == (len(bits) == 2)
    assert kind.floating == (kind.name.startswith(("FLOAT", "BFLOAT")) and not kind.pair)


def test_what_mpi_defines():
    """MPI 4.1, section 6.9.2: logical and bitwise operators take integers, MINLOC and MAXLOC take pairs alone."""
    numbers = {Operator.SUM, Operator.PROD, Operator.MIN, Operator.MAX}
    located = {Operator.MINLOC, Operator.MAXLOC}
    for kind in DataType:
        expected = located if kind.pair else numbers if kind.floating else set(Operator) - located
        assert {operator for operator in Operator if defined(operator, kind)} == expected


class Known(wiring.Component):
    """Whether a code from outside is one that this instance was built for."""

    code: In(8)
    o: Out(1)

    def __init__(self, members):
        super().__init__()
        self._members = members

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(known(self.code, self._members))
        return m


@pytest.mark.parametrize("members", [tuple(Operator), (Operator.SUM, Operator.MAX), (Operator.MIN,)], ids=len)
def test_a_code_is_known_or_not(members):
    dut = Known(members)
    numbers = [member.value for member in members]

    async def outside(ctx):
        for code in range(256):
            ctx.set(dut.code, code)
            assert await cycle(ctx, dut.o) == (code in numbers,)

    run(dut, outside, cycles=300)
