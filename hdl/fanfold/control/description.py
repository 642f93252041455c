"""The register map: ``registers.rdl``, compiled for one configuration into a plain list.

Everything that knows a register takes it from here: the hardware (``registers.py``), the exported JSON
(``register_map``), the table in ``docs/registers.md`` (``table``), Python by name (``by_name``), and what is written
for C and for browsers (``documents.py``).
``python -m fanfold.control.description`` prints the table.
"""

import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import as_file, files

from systemrdl import RDLCompiler
from systemrdl.node import AddrmapNode, RegNode

from ..config import Config
from .events import EVENTS

__all__ = [
    "ADDRESS_BITS",
    "WORD_BITS",
    "Field",
    "Register",
    "by_name",
    "compiled",
    "counter",
    "describe",
    "register_map",
    "table",
]

#: the registers take this many bits of address: 4 KiB, what a bus maps at the least
ADDRESS_BITS = 12
#: every register is one word
WORD_BITS = 32


@dataclass(frozen=True)
class Field:
    """A part of a register: ``width`` bits from bit ``low`` upwards."""

    name: str
    low: int
    width: int
    description: str


@dataclass(frozen=True)
class Register:
    """One register: where it is, what may be done to it, and what it means.

    ``access`` is ``"ro"``, ``"rw"`` or ``"wo"``; any other access is an error. ``width`` is how many of the low bits
    mean something, the others read 0. A ``constant`` register always reads its ``reset`` value.
    """

    name: str
    address: int
    width: int
    access: str
    reset: int
    constant: bool
    description: str
    fields: tuple[Field, ...]


def counter(event: str) -> str:
    """Name of the register that counts ``event``."""
    return f"count_{event}"


def compiled(config: Config, name: str = "fanfold") -> AddrmapNode:
    """The description of an instance called ``name``, for whoever writes it in another language."""
    compiler = RDLCompiler()
    with as_file(files(__package__) / "registers.rdl") as path:
        compiler.compile_file(str(path), defines={"COUNTERS": _counters()})
    return compiler.elaborate("fanfold", inst_name=name, parameters=_parameters(config)).top


@lru_cache
def describe(config: Config) -> tuple[Register, ...]:
    """The registers of an instance, by rising address."""
    top = compiled(config)
    found = [_register(node, top) for node in top.descendants(unroll=True) if isinstance(node, RegNode)]
    return tuple(sorted(found, key=lambda register: register.address))


def by_name(config: Config) -> dict[str, Register]:
    """The same registers, to be found by name."""
    return {register.name: register for register in describe(config)}


def register_map(config: Config) -> dict:
    """The register map as JSON-ready values."""
    registers = [asdict(register) for register in describe(config)]
    return {
        "address_bits": ADDRESS_BITS,
        "word_bits": WORD_BITS,
        "registers": [{**register, "fields": list(register["fields"])} for register in registers],
    }


def table(config: Config) -> str:
    """The register map as a Markdown table, one register a line."""
    lines = ["| address | name | bits | access | reset | meaning |", "| --- | --- | --- | --- | --- | --- |"]
    for each in describe(config):
        reset = f"0x{each.reset:08X}" if each.access != "wo" else ""
        lines.append(
            f"| 0x{each.address:03X} | `{each.name}` | {each.width} | {each.access} | {reset} | {each.description} |"
        )
    return "\n".join(lines) + "\n"


def _counters() -> str:
    """Instances of the RDL's counter register, one an event, each with its meaning."""
    return " ".join(f'counter_r {event}; {event}->desc = "{meaning}";' for event, meaning in EVENTS.items())


def _parameters(config: Config) -> dict:
    """Values of the RDL's parameters."""
    major, minor, patch = (int(number) for number in re.findall(r"\d+", version("fanfold"))[:3])
    return {
        "VERSION_MAJOR": major,
        "VERSION_MINOR": minor,
        "VERSION_PATCH": patch,
        "BEAT_BYTES": config.beat_bytes,
        "CONTRIBUTORS": config.contributors,
        "CONTEXTS": config.contexts,
        "WINDOW": config.window,
        "SEGMENT_BYTES": config.segment_bytes,
        "OPERATORS": sum(1 << member.value for member in config.operators),
        "TYPES": sum(1 << member.value for member in config.types),
        "UDP_PORT": config.udp_port,
        "QUEUE_BITS": config.queue_bits,
        "FRAME_BYTES": config.frame_bytes,
        "WAITING_SEGMENTS": config.waiting_segments,
        "TICK_BITS": config.tick_bits,
        "TELEMETRY": config.telemetry,
        "PLACES": config.pool_places,
    }


def _register(node: RegNode, top) -> Register:
    fields = node.fields()
    reset = 0
    for field in fields:
        value = field.get_property("reset")
        if not isinstance(value, int):
            raise TypeError(f"register {node.inst_name}: the reset of {field.inst_name} is no number")
        reset |= value << field.low
    return Register(
        name=node.get_rel_path(top, hier_separator="_", array_suffix="_{index:d}"),
        address=node.absolute_address,
        width=max(field.high for field in fields) + 1,
        access={(True, False): "ro", (True, True): "rw", (False, True): "wo"}[
            node.has_sw_readable, node.has_sw_writable
        ],
        reset=reset,
        constant=not node.has_sw_writable and not node.has_hw_writable,
        description=node.get_property("desc") or "",
        fields=tuple(
            Field(field.inst_name, field.low, field.width, field.get_property("desc") or "") for field in fields
        ),
    )


if __name__ == "__main__":
    print(table(Config()), end="")
