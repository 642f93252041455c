"""Where the registers of a pipeline are: computed step by step, cut after the steps that a table names."""

from collections.abc import Collection
from types import SimpleNamespace

from amaranth import *

__all__ = ["ADDER_REGISTERS", "ADDER_STEPS", "Steps"]

#: the adder's steps in order of flow
ADDER_STEPS = (
    "unpack",
    "compare",
    "swap",
    "align_coarse",
    "align_fine",
    "add",
    "scan",
    "count",
    "normalise_coarse",
    "normalise_fine",
    "round",
)

#: after which steps there are registers, by their number: the placements that routed fastest
ADDER_REGISTERS = {
    3: {"align_coarse", "count", "round"},
    4: {"align_coarse", "add", "normalise_coarse", "round"},
    5: {"swap", "align_fine", "scan", "normalise_coarse", "round"},
    6: {"compare", "align_coarse", "align_fine", "scan", "normalise_coarse", "round"},
    7: {"compare", "align_coarse", "align_fine", "add", "count", "normalise_coarse", "round"},
    8: set(ADDER_STEPS) - {"unpack", "swap", "scan"},
    9: set(ADDER_STEPS) - {"unpack", "scan"},
    10: set(ADDER_STEPS) - {"scan"},
}


class Steps:
    """Ends each step with named signals: registers where the step is one of ``registered``, else wires.

    ``prefix`` begins all names.
    """

    def __init__(self, m: Module, registered: Collection[str], prefix: str = ""):
        self._m = m
        self._registered = registered
        self._prefix = prefix

    def end(self, step: str, **values) -> SimpleNamespace:
        """The ``values`` as the next step sees them."""
        after = SimpleNamespace()
        for name, value in values.items():
            value = Value.cast(value)
            if not len(value):  # no signal: Verilog has none of no bits
                setattr(after, name, value)
                continue
            signal = Signal(len(value), name=f"{self._prefix}{step}_{name}", reset_less=True)
            if step in self._registered:
                self._m.d.sync += signal.eq(value)
            else:
                self._m.d.comb += signal.eq(value)
            setattr(after, name, signal)
        return after
