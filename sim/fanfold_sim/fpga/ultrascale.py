"""Synthesis for an UltraScale+, which open tools do not route."""

from pathlib import Path

from .tools import SYNTHESIS, cells, run
from .usage import Usage

__all__ = ["synthesise"]

#: Carries and the wide multiplexers behind LUTs (MUXF7, MUXF8) have places of their own; the LUTs of a carry's operands
#: are cells by themselves.
_LUTS = (*(f"LUT{inputs}" for inputs in range(1, 7)), "INV")
_FLIP_FLOPS = ("FDRE", "FDSE", "FDCE", "FDPE")
_BLOCK_RAMS = ("RAMB36E2", "RAMB18E2")


def synthesise(name: str, folder: Path) -> Usage:
    """Synthesises what ``netlist`` wrote; leaves a log in ``folder``. Delay lines stay flip-flops, and memories
    block RAMs: in LUTs they would count as logic. Two small LUTs that could share a place count as two.

    Raises ``ToolMissing`` and ``FpgaError``.
    """
    stat = f"{name}.xcup.stat"
    script = f"read_rtlil {name}.il; synth_xilinx -family xcup -flatten -noiopad -nosrl -nolutram -top top; "
    script += f"tee -o {stat} stat -json"
    used = cells(run([SYNTHESIS, "-q", "-l", f"{name}.xcup.log", "-p", script], folder,
                     source=f"{name}.il", result=stat))  # fmt: skip
    return Usage(
        luts=sum(used.get(cell, 0) for cell in _LUTS),
        ffs=sum(used.get(cell, 0) for cell in _FLIP_FLOPS),
        brams=sum(used.get(cell, 0) for cell in _BLOCK_RAMS),
        dsps=used.get("DSP48E2", 0),
    )
