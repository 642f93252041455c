"""Registers by name: words and fields reach the right addresses, and what cannot be is refused before the bus is."""

import json

import pytest
from pass_through import pass_through

from fanfold.config import PRESETS
from fanfold.control import by_name, register_map
from fanfold_sim.registers import NamedRegisters
from fanfold_sim.simulators.amaranth import AmaranthNic

TINY = PRESETS["tiny"]
AT = {name: register.address for name, register in by_name(TINY).items()}


class Words(dict):
    """A bus that remembers what was written, and has the reset values else."""

    def __init__(self):
        super().__init__({register.address: register.reset for register in by_name(TINY).values()})
        self.accesses = 0

    def access(self):
        plain = json.loads(json.dumps(register_map(TINY)))
        return NamedRegisters(plain, self.read, self.write)

    def read(self, address):
        self.accesses += 1
        return self[address]

    def write(self, address, word):
        self.accesses += 1
        self[address] = word


def test_words_and_fields():
    words = Words()
    registers = words.access()
    assert registers.names == tuple(AT) and "magic" in registers and "wonder" not in registers
    registers.write("scratch", 0x1234_5678)
    assert words[AT["scratch"]] == 0x1234_5678 == registers.read("scratch")
    registers.write("retry_ticks", value=7)
    assert registers.fields("retry_ticks") == {"value": 7}
    registers.write("release", context=1)
    assert words[AT["release"]] == 1
    version = registers.fields("version")
    assert list(version) == ["patch", "minor", "major"]
    assert version["major"] << 24 | version["minor"] << 16 | version["patch"] == registers.read("version")


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda registers: registers.read("wonder"), KeyError, "there is no register 'wonder'"),
        (lambda registers: registers.read("release"), ValueError, "release cannot be read"),
        (lambda registers: registers.write("magic", 1), ValueError, "magic cannot be written"),
        (lambda registers: registers.write("retry_ticks", 1 << 16), ValueError, "has 16 bits: 0x10000 does not fit"),
        (lambda registers: registers.write("retry_ticks", -1), ValueError, "does not fit"),
        (lambda registers: registers.write("retry_ticks"), ValueError, "give either a value or fields"),
        (lambda registers: registers.write("measure", 1, value=1), ValueError, "give either a value or fields"),
        (lambda registers: registers.write("measure", value=2), ValueError, "measure.value has 1 bits: 2 does not"),
        (lambda registers: registers.write("measure", colour=1), KeyError, "no field 'colour': it has value"),
        (lambda registers: registers.update("measure", value=2), ValueError, "measure.value has 1 bits"),
    ],
)
def test_what_cannot_be_never_reaches_the_bus(wrong, error, message):
    words = Words()
    with pytest.raises(error, match=message):
        wrong(words.access())
    assert words.accesses == 0


def test_another_instance_is_found_out():
    words = Words()
    registers = words.access()
    registers.check()
    words[AT["contexts"]] += 1
    with pytest.raises(ValueError, match="register contexts reads 0x3, the register map has 0x2"):
        registers.check()


def test_over_the_bus_of_a_simulated_nic():
    nic = AmaranthNic(TINY, top=pass_through)
    registers = NamedRegisters.of(nic)
    registers.check()
    registers.write("abort_ticks", value=12345)
    assert registers.read("abort_ticks") == 12345
    assert set(registers.snapshot().values()) == {0}
    registers.write("release", 1)
    with pytest.raises(RuntimeError, match="no writable register"):
        registers.write("release", 2)
    nic.close()
