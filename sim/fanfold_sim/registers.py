"""A host's access to the registers by name, over any bus: two functions that read and write a word.

What there is comes from the register map that ``fanfold generate`` writes (``registers`` in the JSON), so a host needs
nothing else of the instance. ``NamedRegisters.of`` takes a simulated NIC.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fanfold.config import Config
from fanfold.control import register_map

__all__ = ["NamedRegisters", "RegisterBus"]


class RegisterBus(Protocol):
    """A NIC whose registers can be read and written by address; raises ``RuntimeError`` where it refuses."""

    config: Config

    def read_register(self, address: int) -> int: ...

    def write_register(self, address: int, value: int) -> None: ...


class NamedRegisters:
    """The registers of one instance.

    ``described`` is its register map, ``read`` takes an address and returns the word, ``write`` takes an address and a
    word; what they raise comes through. A name that is not in the map raises ``KeyError``; an access that the register
    does not have, or a value that does not fit, raises ``ValueError`` before anything is read or written.
    """

    def __init__(self, described: Mapping[str, Any], read: Callable[[int], int], write: Callable[[int, int], None]):
        self._registers = {register["name"]: register for register in described["registers"]}
        self._read = read
        self._write = write

    @classmethod
    def of(cls, nic: RegisterBus) -> "NamedRegisters":
        """The registers of a simulated NIC."""
        return cls(register_map(nic.config), nic.read_register, nic.write_register)

    def __contains__(self, name: str) -> bool:
        return name in self._registers

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all registers, by rising address."""
        return tuple(self._registers)

    def read(self, name: str) -> int:
        """The whole word."""
        register = self._find(name)
        if register["access"] == "wo":
            raise ValueError(f"register {name} cannot be read: it is for writing only")
        return self._read(register["address"])

    def fields(self, name: str) -> dict[str, int]:
        """The word as the values of its fields."""
        word = self.read(name)
        return {each["name"]: word >> each["low"] & _ones(each["width"]) for each in self._find(name)["fields"]}

    def write(self, name: str, value: int | None = None, /, **fields: int) -> None:
        """Writes the word ``value``, or one that is made of ``fields``: those that are not given are 0."""
        register = self._find(name)
        if register["access"] == "ro":
            raise ValueError(f"register {name} cannot be written: it is for reading only")
        if (value is None) != bool(fields):
            raise ValueError(f"register {name}: give either a value or fields")
        word = self._word(register, fields) if value is None else value
        if not 0 <= word <= _ones(register["width"]):
            raise ValueError(f"register {name} has {register['width']} bits: {word:#x} does not fit")
        self._write(register["address"], word)

    def update(self, name: str, /, **fields: int) -> None:
        """Writes some fields of a register; the others keep what is read."""
        register = self._find(name)
        self._word(register, fields)  # what is wrong is found before the register is read
        self.write(name, **{**self.fields(name), **fields})

    def check(self) -> None:
        """Reads the words that never change: raises ``ValueError`` naming the first that is not as the map says, when
        this is another instance, or none."""
        for name, register in self._registers.items():
            if register["constant"] and (found := self.read(name)) != register["reset"]:
                raise ValueError(f"register {name} reads {found:#x}, the register map has {register['reset']:#x}")

    def snapshot(self) -> dict[str, int]:
        """Every counter by the name of its event, all as they were at one moment."""
        self.write("snapshot", 1)
        return {name.removeprefix("count_"): self.read(name) for name in self.names if name.startswith("count_")}

    def _find(self, name: str) -> Mapping[str, Any]:
        if name not in self._registers:
            raise KeyError(f"there is no register {name!r}")
        return self._registers[name]

    @staticmethod
    def _word(register: Mapping[str, Any], fields: Mapping[str, int]) -> int:
        places = {each["name"]: each for each in register["fields"]}
        word = 0
        for name, value in fields.items():
            if name not in places:
                raise KeyError(f"register {register['name']} has no field {name!r}: it has {', '.join(places)}")
            if not 0 <= value <= _ones(places[name]["width"]):
                raise ValueError(
                    f"field {register['name']}.{name} has {places[name]['width']} bits: {value} does not fit"
                )
            word |= value << places[name]["low"]
        return word


def _ones(width: int) -> int:
    return (1 << width) - 1
