"""Registers on a stream: ``Slice`` cuts the forward path, ``Skid`` cuts the ready path as well."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Skid", "Slice"]


class Slice(wiring.Component):
    """One register on payload and valid.

    Latency: 1. Throughput: 1. Ready path: combinational. Order: kept. On error: none.
    """

    def __init__(self, shape):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})
        self._shape = shape

    def elaborate(self, platform):
        m = Module()
        payload = Signal(self._shape, reset_less=True)
        m.d.comb += [self.i.ready.eq(self.o.ready | ~self.o.valid), self.o.payload.eq(payload)]
        valid = Signal()
        m.d.comb += self.o.valid.eq(valid)
        with m.If(self.i.ready):
            m.d.sync += valid.eq(self.i.valid)
            with m.If(self.i.valid):
                m.d.sync += payload.eq(self.i.payload)
        return m


class Skid(wiring.Component):
    """Two registers: payload, valid and ready all start at a flip-flop. For room boundaries.

    Latency: 1. Throughput: 1. Ready path: registered. Order: kept. On error: none.
    """

    def __init__(self, shape):
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})
        self._shape = shape

    def elaborate(self, platform):
        m = Module()
        front = Signal(self._shape, reset_less=True)
        spare = Signal(self._shape, reset_less=True)
        front_valid = Signal()
        spare_empty = Signal(init=1)
        m.d.comb += [
            self.i.ready.eq(spare_empty),
            self.o.payload.eq(front),
            self.o.valid.eq(front_valid),
        ]
        with m.If(self.o.ready | ~front_valid):
            m.d.sync += [front_valid.eq(self.i.valid | ~spare_empty), spare_empty.eq(1)]
            with m.If(spare_empty):
                m.d.sync += front.eq(self.i.payload)
            with m.Else():
                m.d.sync += front.eq(spare)
        with m.Elif(self.i.valid):
            m.d.sync += spare_empty.eq(0)
        # loaded whether it will be needed or not: its enable then waits for neither side
        with m.If(spare_empty):
            m.d.sync += spare.eq(self.i.payload)
        return m
