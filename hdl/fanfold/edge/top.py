"""The top: the engine, the registers and the telemetry behind flat AXI ports, as a vendor's block editor wants them."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..control import Registers, Telemetry
from ..engine import Engine
from .axi_lite import AxiLite, axi_lite_signature
from .axi_stream import FromAxi, ToAxi, axi_layout
from .frame_buffer import FrameBuffer

__all__ = ["Fanfold"]

#: stream ports: prefix of the flat names, whether frames come in there, and the field that carries the host queue
_STREAMS = {
    "s_axis_host": (True, "tid"),
    "m_axis_host": (False, "tdest"),
    "s_axis_net": (True, "tdest"),
    "m_axis_net": (False, "tid"),
}


class Fanfold(wiring.Component):
    """One instance, ready to be exported: AXI4-Stream ``s_axis_host``, ``m_axis_host`` (the cores' side),
    ``s_axis_net``, ``m_axis_net`` (the wire's side), AXI4-Lite ``s_axil``, all in the clock domain ``sync``.

    Latency: the engine's and ``latency`` more, on every way from port to port. Throughput: one beat a cycle at every
    stream port. Ready path: registered at every port; ``s_axis_net`` is always ready. Order, on error: see the
    adapters, the buffer, the registers, and the engine.
    """

    def __init__(self, config: Config, engine: wiring.Component | None = None):
        ports: dict[str, wiring.Member] = {}
        for prefix, (incoming, queue) in _STREAMS.items():
            forth, back = (In, Out) if incoming else (Out, In)
            layout = axi_layout(config, queue)
            ports |= {f"{prefix}_{name}": forth(field.shape) for name, field in layout}
            ports |= {f"{prefix}_tvalid": forth(1), f"{prefix}_tready": back(1)}
        ports |= {f"s_axil_{name}": member for name, member in axi_lite_signature().flip().members.items()}
        super().__init__(ports)
        self._engine = Engine(config) if engine is None else engine
        self._adapters = {
            prefix: FromAxi(config, queue=queue, always_ready=prefix == "s_axis_net")  # the network does not wait
            if incoming
            else ToAxi(config, queue=queue)
            for prefix, (incoming, queue) in _STREAMS.items()
        }
        #: for simulators, which skip the time in which nothing moves: some time-out runs
        self.timed = Signal()
        self._buffer = FrameBuffer(config)
        self._registers = Registers(config)
        self._telemetry = Telemetry(config)

    @property
    def latency(self) -> int:
        """Cycles that the edge adds between an incoming and an outgoing port: the same on every way."""
        from_host, from_net = self._adapters["s_axis_host"].latency, self._adapters["s_axis_net"].latency
        assert from_host == from_net + self._buffer.latency
        return from_host + self._adapters["m_axis_host"].latency

    def elaborate(self, platform):
        m = Module()
        m.submodules.engine = engine = self._engine
        m.submodules.registers = registers = self._registers
        m.submodules.telemetry = telemetry = self._telemetry
        m.submodules.net_buffer = buffer = self._buffer
        m.submodules.axil = axil = AxiLite()
        for prefix, adapter in self._adapters.items():
            m.submodules[prefix] = adapter
            self._connect_stream(m, prefix, adapter)
        wiring.connect(m, self._adapters["s_axis_host"].o, engine.host_i)
        wiring.connect(m, self._adapters["s_axis_net"].o, buffer.i)
        wiring.connect(m, buffer.o, engine.net_i)
        wiring.connect(m, engine.host_o, self._adapters["m_axis_host"].i)
        wiring.connect(m, engine.net_o, self._adapters["m_axis_net"].i)

        self._connect_axil(m, axil)
        wiring.connect(m, axil.bus, registers.bus)
        wiring.connect(m, registers.release, engine.release)
        wiring.connect(m, registers.telemetry, telemetry.read)
        wiring.connect(m, engine.reports, telemetry.reports)
        wiring.connect(m, engine.opened, telemetry.opened)
        m.d.comb += [
            registers.events.eq(engine.events),
            registers.events.net_dropped.eq(buffer.dropped),
            registers.events.net_cut.eq(buffer.cut),
            registers.open_contexts.eq(engine.open_contexts),
            engine.local_mac.eq(registers.local_mac),
            engine.timing.eq(registers.timing),
            self.timed.eq(engine.timed),
            telemetry.open_contexts.eq(engine.open_contexts),
            telemetry.measure.eq(registers.timing.measure),
            telemetry.now.eq(engine.now),
        ]
        return m

    def _connect_stream(self, m: Module, prefix: str, adapter: FromAxi | ToAxi):
        """The flat ports with this prefix to the adapter's AXI side."""
        incoming, queue = _STREAMS[prefix]
        axis = adapter.i if incoming else adapter.o
        inner = {name: axis.payload[name] for name in ("tdata", "tkeep", "tlast", "tuser", queue)}
        inner |= {"tvalid": axis.valid, "tready": axis.ready}
        for name, signal in inner.items():
            port = getattr(self, f"{prefix}_{name}")
            inwards = incoming != (name == "tready")
            m.d.comb += signal.eq(port) if inwards else port.eq(signal)

    def _connect_axil(self, m: Module, axil: AxiLite):
        """The flat ``s_axil`` ports to the AXI4-Lite port."""
        for name, member in axi_lite_signature().members.items():
            port, inner = getattr(self, f"s_axil_{name}"), getattr(axil.axil, name)
            m.d.comb += inner.eq(port) if member.flow is Out else port.eq(inner)
