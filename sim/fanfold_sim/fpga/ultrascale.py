"""Synthesis for an UltraScale+, which open tools do not route."""

from pathlib import Path

from .tools import SYNTHESIS, FpgaError, cells, run
from .usage import Usage

__all__ = ["synthesise"]

#: LUTs in a cell of the netlist. Carries and the wide multiplexers behind LUTs (MUXF7, MUXF8) have places of their own;
#: the LUTs of a carry's operands are cells by themselves.
_LUTS = {f"LUT{inputs}": 1 for inputs in range(1, 7)} | {"INV": 1, "RAM32M": 4, "RAM64M": 4}
_LUTS |= {"RAM32M16": 8, "RAM64M8": 8}
_FLIP_FLOPS = ("FDRE", "FDSE", "FDCE", "FDPE")
_BLOCK_RAMS = ("RAMB36E2", "RAMB18E2")


def synthesise(name: str, folder: Path) -> Usage:
    """Synthesises what ``netlist`` wrote; leaves a log in ``folder``. Delay lines stay flip-flops: as shift
    registers in LUTs they would count as logic. Two small LUTs that could share a place count as two.

    Raises ``ToolMissing`` and ``FpgaError``.
    """
    stat = f"{name}.xcup.stat"
    script = f"read_rtlil {name}.il; synth_xilinx -family xcup -flatten -noiopad -nosrl -top top; "
    script += f"tee -o {stat} stat -json"
    used = cells(run([SYNTHESIS, "-q", "-l", f"{name}.xcup.log", "-p", script], folder,
                     source=f"{name}.il", result=stat))  # fmt: skip
    if unknown := [cell for cell in used if cell.startswith("RAM") and cell not in (*_LUTS, *_BLOCK_RAMS)]:
        raise FpgaError(f"{name} has memories of an unknown size: {', '.join(unknown)}")
    return Usage(
        luts=sum(luts * used.get(cell, 0) for cell, luts in _LUTS.items()),
        ffs=sum(used.get(cell, 0) for cell in _FLIP_FLOPS),
        brams=sum(used.get(cell, 0) for cell in _BLOCK_RAMS),
        dsps=used.get("DSP48E2", 0),
    )
