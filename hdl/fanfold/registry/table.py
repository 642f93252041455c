"""The one table: written by one room, read by several, each through a read port of its own."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.data import StructLayout
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["Table"]


class Table(wiring.Component):
    """``depth`` rows of ``shape`` with ``readers`` read ports; ``read[n].data`` is the row named one cycle before.

    A row that is written in the cycle in which it is read is read as it was. Rows mean nothing until they are written.

    Latency: 1. Throughput: 1 on every port. Ready path: always ready. On error: none.
    """

    def __init__(self, shape, depth: int, readers: int):
        port = wiring.Signature({"address": In(range(depth)), "data": Out(shape)})
        row = StructLayout({"address": range(depth), "data": shape})
        super().__init__(
            {
                "write": In(stream.Signature(row, always_ready=True)),
                "read": Out(port).array(readers),
            }
        )
        self._shape = shape
        self._depth = depth

    def elaborate(self, platform):
        m = Module()
        m.submodules.rows = rows = Memory(shape=self._shape, depth=self._depth, init=[])
        write = rows.write_port()
        m.d.comb += [
            write.en.eq(self.write.valid),
            write.addr.eq(self.write.p.address),
            Value.cast(write.data).eq(Value.cast(self.write.p.data)),
        ]
        for port in self.read:
            read = rows.read_port()
            m.d.comb += [read.addr.eq(port.address), Value.cast(port.data).eq(Value.cast(read.data))]
        return m
