"""What a component takes on an FPGA, and how fast it is there, by open tools (Yosys and nextpnr, from PyPI).

``netlist`` writes a component in its ``Harness``; ``ecp5`` synthesises and routes that, ``ultrascale`` synthesises it.
Figures are the tools' estimates and include the harness, which is known.
"""

from .harness import Harness, netlist
from .tools import ROUTING, SYNTHESIS, FpgaError, find_tool
from .usage import Usage, WorstPath

__all__ = ["ROUTING", "SYNTHESIS", "FpgaError", "Harness", "Usage", "WorstPath", "find_tool", "netlist"]
