"""The registers behind multipliers, moved into the multipliers of an ECP5.

An ECP5's multiplier has registers of its own, which Yosys leaves unused. Where all that a multiplier gives goes
straight into plain flip-flops, these can be the multiplier's output registers instead: the same circuit, with fewer
flip-flops, and a path less to cross. It is done on the netlist between Yosys and nextpnr, so the hardware's own source
needs to know nothing of it.
"""

from collections import Counter

__all__ = ["absorb"]

MULTIPLIER, FLIP_FLOP = "MULT18X18D", "TRELLIS_FF"

#: bits of a product
_BITS = 36


def absorb(netlist: dict) -> int:
    """Changes a netlist of ``synth_ecp5`` (its JSON, as Python values); how many multipliers have registers now."""
    return sum(_absorb(module) for module in netlist["modules"].values())


def _absorb(module: dict) -> int:
    cells = module["cells"]
    readers: Counter = Counter()
    behind = {}
    for port in module["ports"].values():
        readers.update(port["bits"])
    for name, cell in cells.items():
        for port, bits in cell["connections"].items():
            if cell.get("port_directions", {}).get(port) != "output":
                readers.update(bits)
        if cell["type"] == FLIP_FLOP and _plain(cell):
            behind[cell["connections"]["DI"][0]] = name
    done = 0
    for multiplier in [cell for cell in cells.values() if cell["type"] == MULTIPLIER]:
        given = {f"P{at}": multiplier["connections"].get(f"P{at}", [None])[0] for at in range(_BITS)}
        used = {port: bit for port, bit in given.items() if readers[bit]}
        if not used or any(readers[bit] != 1 or bit not in behind for bit in used.values()):
            continue
        clocks = {cells[behind[bit]]["connections"]["CLK"][0] for bit in used.values()}
        if len(clocks) != 1:
            continue
        for port, bit in used.items():
            multiplier["connections"][port] = cells.pop(behind[bit])["connections"]["Q"]
        multiplier["parameters"]["REG_OUTPUT_CLK"] = "CLK0"
        inputs = {"CLK0": [clocks.pop()], "CE0": ["1"], "RST0": ["0"]}
        multiplier["connections"] |= inputs
        multiplier["port_directions"] |= dict.fromkeys(inputs, "input")
        done += 1
    return done


def _plain(flip_flop: dict) -> bool:
    """Whether it takes its input in each cycle, and is never set or reset."""
    parameters, connections = flip_flop["parameters"], flip_flop["connections"]
    return (
        parameters["CEMUX"].strip() == "1"
        and parameters["CLKMUX"].strip() == "CLK"
        and parameters["REGSET"].strip() == "RESET"
        and connections.get("LSR", ["0"]) == ["0"]
    )
