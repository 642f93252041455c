"""The registers that a component is measured between."""

from pathlib import Path

from amaranth import *
from amaranth.back import rtlil
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Harness", "netlist"]


class Harness(wiring.Component):
    """``component`` between registers, on four pins beside the clock and reset.

    ``serial`` moves in one bit a cycle; with ``load`` the bits so far become the inputs; with ``catch`` the outputs are
    caught, and in other cycles they move out at ``o``. Both stand behind an enable; without it the tools would take the
    harness and the component's own delay lines for one shift register, and the figures would be wrong.
    """

    def __init__(self, component: wiring.Component):
        super().__init__({"serial": In(1), "load": In(1), "catch": In(1), "o": Out(1)})
        self._component = component
        ports = [
            (member.flow, Value.cast(value))
            for _, member, value in component.signature.flatten(component)
            if not isinstance(Value.cast(value), Const)
        ]
        self._inputs = Cat(value for flow, value in ports if flow is In)
        self._outputs = Cat(value for flow, value in ports if flow is Out)
        #: flip-flops and LUTs of the harness itself
        self.ffs = 2 * len(self._inputs) + len(self._outputs)
        self.luts = len(self._outputs)

    def elaborate(self, platform):
        m = Module()
        m.submodules.component = self._component
        chain = Signal(len(self._inputs), reset_less=True)
        loaded = Signal(len(self._inputs), reset_less=True)
        caught = Signal(len(self._outputs), reset_less=True)
        m.d.sync += [chain.eq(Cat(self.serial, chain)), caught.eq(caught[1:])]
        with m.If(self.load):
            m.d.sync += loaded.eq(chain)
        with m.If(self.catch):
            m.d.sync += caught.eq(self._outputs)
        m.d.comb += [self._inputs.eq(loaded), self.o.eq(caught[0])]
        return m


def netlist(component: wiring.Component, name: str, folder: Path) -> Harness:
    """Writes ``component`` in its harness to ``<name>.il`` in ``folder``, as the module ``top``; without the places in
    the source, so that it changes only with what it describes."""
    folder.mkdir(parents=True, exist_ok=True)
    harness = Harness(component)
    pins = [harness.serial, harness.load, harness.catch, harness.o]
    (folder / f"{name}.il").write_text(rtlil.convert(harness, name="top", ports=pins, emit_src=False))
    return harness
