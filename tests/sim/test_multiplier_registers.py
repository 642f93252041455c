"""Which flip-flops become registers of a multiplier, and which must stay."""

import copy

import pytest

from fanfold_sim.multiplier_registers import absorb

#: nets: 2 is the clock, 10 and 11 what the multiplier gives, 20 and 21 those a cycle later
CLOCK = 2


def flip_flop(given, later, **changed):
    parameters = {"CEMUX": "1 ", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET"} | changed
    return {
        "type": "TRELLIS_FF",
        "parameters": parameters,
        "port_directions": {"CLK": "input", "DI": "input", "LSR": "input", "Q": "output"},
        "connections": {"CLK": [CLOCK], "DI": [given], "LSR": ["0"], "Q": [later]},
    }


def circuit():
    """A multiplier with two bits in use, each with a flip-flop behind it, and a third bit that nothing reads."""
    multiplier = {
        "type": "MULT18X18D",
        "parameters": {},
        "port_directions": {"A0": "input", "B0": "input", "P0": "output", "P1": "output", "P2": "output"},
        "connections": {"A0": [3], "B0": [4], "P0": [10], "P1": [11], "P2": [12]},
    }
    cells = {"multiplier": multiplier, "low": flip_flop(10, 20), "high": flip_flop(11, 21)}
    ports = {"clk": {"bits": [CLOCK]}, "a": {"bits": [3]}, "b": {"bits": [4]}, "o": {"bits": [20, 21]}}
    return {"modules": {"top": {"ports": ports, "cells": cells}}}


def test_registers_move_into_the_multiplier():
    netlist = circuit()
    assert absorb(netlist) == 1
    (cell,) = netlist["modules"]["top"]["cells"].values()
    assert cell["parameters"] == {"REG_OUTPUT_CLK": "CLK0"}
    assert cell["connections"] == {
        "A0": [3], "B0": [4], "P0": [20], "P1": [21], "P2": [12], "CLK0": [CLOCK], "CE0": ["1"], "RST0": ["0"],
    }  # fmt: skip
    assert cell["port_directions"]["CLK0"] == "input"


def other_reader(cells, ports):
    ports["early"] = {"bits": [10]}


def second_flip_flop(cells, ports):
    cells["copy"] = flip_flop(10, 22)


def logic_behind(cells, ports):
    cells["high"] = {
        "type": "LUT4",
        "parameters": {},
        "port_directions": {"A": "input", "Z": "output"},
        "connections": {"A": [11], "Z": [21]},
    }


def other_clock(cells, ports):
    cells["high"]["connections"]["CLK"] = [5]


def enable(cells, ports):
    cells["high"]["parameters"]["CEMUX"] = "CE"


def set_at_start(cells, ports):
    cells["high"]["parameters"]["REGSET"] = "SET"


def resettable(cells, ports):
    cells["high"]["connections"]["LSR"] = [6]


def falling_edge(cells, ports):
    cells["high"]["parameters"]["CLKMUX"] = "INV"


CHANGES = (other_reader, second_flip_flop, logic_behind, other_clock, enable, set_at_start, resettable, falling_edge)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_no_plain_register_stays(change):
    netlist = circuit()
    top = netlist["modules"]["top"]
    change(top["cells"], top["ports"])
    before = copy.deepcopy(netlist)
    assert absorb(netlist) == 0
    assert netlist == before
