"""AXI4-Lite to the register bus."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..control.bus import bus_signature, response_layout
from ..control.description import ADDRESS_BITS, WORD_BITS

__all__ = ["AxiLite", "axi_lite_signature"]

_OKAY, _SLVERR = 0b00, 0b10


def axi_lite_signature() -> wiring.Signature:
    """An AXI4-Lite port as seen by the manager."""
    return wiring.Signature(
        {
            "awaddr": Out(ADDRESS_BITS),
            "awprot": Out(3),
            "awvalid": Out(1),
            "awready": In(1),
            "wdata": Out(WORD_BITS),
            "wstrb": Out(WORD_BITS // 8),
            "wvalid": Out(1),
            "wready": In(1),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
            "araddr": Out(ADDRESS_BITS),
            "arprot": Out(3),
            "arvalid": Out(1),
            "arready": In(1),
            "rdata": In(WORD_BITS),
            "rresp": In(2),
            "rvalid": In(1),
            "rready": Out(1),
        }
    )


class AxiLite(wiring.Component):
    """An AXI4-Lite subordinate that asks the bus: one access at a time, protection bits not looked at.

    Address and data of a write come in any order. A write and a read that are both waiting go in turns, so neither
    shuts out the other.

    Latency: 2 from the last of address and data to the bus, 1 from the bus's answer to the response. Throughput: one
    access in 4 cycles and the bus's latency. Ready path: registered. Order: kept among writes, and among reads. On
    error: what the bus refuses is answered with SLVERR, and reads 0.
    """

    def __init__(self):
        super().__init__({"axil": In(axi_lite_signature()), "bus": Out(bus_signature())})

    def elaborate(self, platform):
        m = Module()
        axil, bus = self.axil, self.bus

        # one place for each channel that comes in: taken means that there is something in it
        address_taken = Signal()
        data_taken = Signal()
        read_taken = Signal()
        write_address = Signal(ADDRESS_BITS)
        write_data = Signal(WORD_BITS)
        write_strobe = Signal(WORD_BITS // 8)
        read_address = Signal(ADDRESS_BITS)
        m.d.comb += [axil.awready.eq(~address_taken), axil.wready.eq(~data_taken), axil.arready.eq(~read_taken)]
        with m.If(axil.awvalid & axil.awready):
            m.d.sync += [address_taken.eq(1), write_address.eq(axil.awaddr)]
        with m.If(axil.wvalid & axil.wready):
            m.d.sync += [data_taken.eq(1), write_data.eq(axil.wdata), write_strobe.eq(axil.wstrb)]
        with m.If(axil.arvalid & axil.arready):
            m.d.sync += [read_taken.eq(1), read_address.eq(axil.araddr)]

        writing = Signal()  # the access under way, or the last one, is a write
        m.d.comb += [
            bus.request.payload.address.eq(Mux(writing, write_address, read_address)),
            bus.request.payload.write.eq(writing),
            bus.request.payload.data.eq(write_data),
            bus.request.payload.strobe.eq(write_strobe),
        ]
        answer = Signal(response_layout())
        response = Mux(answer.error, _SLVERR, _OKAY)
        m.d.comb += [axil.bresp.eq(response), axil.rresp.eq(response), axil.rdata.eq(answer.data)]

        with m.FSM(name="access"):
            with m.State("waiting for an access"):
                write_waits = address_taken & data_taken
                with m.If(write_waits | read_taken):
                    m.d.sync += writing.eq(write_waits & ~(read_taken & writing))
                    m.next = "asking"
            with m.State("asking"):
                m.d.comb += bus.request.valid.eq(1)
                with m.If(bus.request.ready):
                    m.next = "waiting for the answer"
            with m.State("waiting for the answer"):
                m.d.comb += bus.response.ready.eq(1)
                m.d.sync += answer.eq(bus.response.payload)
                with m.If(bus.response.valid):
                    m.next = "answering"
            with m.State("answering"):
                m.d.comb += [axil.bvalid.eq(writing), axil.rvalid.eq(~writing)]
                with m.If(writing & axil.bready):
                    m.d.sync += [address_taken.eq(0), data_taken.eq(0)]
                    m.next = "waiting for an access"
                with m.If(~writing & axil.rready):
                    m.d.sync += read_taken.eq(0)
                    m.next = "waiting for an access"
        return m
