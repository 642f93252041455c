"""Codes as text: which signals hold a code, and the translation files with which GTKWave shows its name.

Amaranth's simulator writes enumerations as text itself. What is a plain number in a waveform, because it came from
outside or because Verilog has numbers only, is translated.
"""

from functools import cache
from pathlib import Path

from amaranth.hdl import Fragment

from fanfold.codes import Collective, DataType, Direction, Operator, Origin, Port, Status
from fanfold.config import PRESETS
from fanfold.registry.deadlines import Deadlines, Due
from fanfold.registry.enrolment import Enrolment
from fanfold.registry.states import ContextState
from fanfold.wire import VERSION

from ..frames import flags_byte
from .header import Variable

__all__ = ["code_of", "hint", "names", "write_codes"]

#: how wide the code of each kind of signal is: by the last part of its name, without the number of an entry
_BITS = {
    "collective": ("collective", 8),
    "opt_code": ("operator", 8),
    "operator": ("operator", 8),
    "data_type": ("type", 8),
    "type": ("type", 8),
    "status": ("status", 16),
    "refusal": ("status", 16),
    "failing": ("status", 16),
    "cause": ("status", 16),
    "flags": ("flags", 8),
    "origin": ("origin", 3),
    "state": ("context", 3),
    "enrolment_state": ("enrolment", 3),
    "deadlines_state": ("deadlines", 2),
    "what": ("due", 2),
}


#: codes of one bit: GTKWave shows those as levels, so their labels say what they mean
_SINGLE = {"direction": Direction, "port": Port}


def code_of(variable: Variable) -> str | None:
    """The kind of code that ``variable`` holds as a number, or ``None``."""
    kind, bits = _BITS.get(_last(variable).rstrip("0123456789").rstrip("_"), (None, 0))
    return kind if variable.width == bits and not variable.text else None


def hint(variable: Variable) -> str:
    """What the two levels of ``variable`` mean, for the end of its label, when it is a code of one bit."""
    members = _SINGLE.get(_last(variable), ())
    return f" ({', '.join(f'{member.value} {member.name}' for member in members)})" if members else ""


def _last(variable: Variable) -> str:
    return variable.name.rpartition(".")[2].partition("$")[0]


def write_codes(directory: Path, kinds: set[str]) -> dict[str, Path]:
    """Writes a translation file for each of ``kinds`` to ``directory``, which is made; their paths."""
    paths = {}
    for kind in sorted(kinds):
        digits = -(-next(bits for known, bits in _BITS.values() if known == kind) // 4)
        directory.mkdir(parents=True, exist_ok=True)
        paths[kind] = directory / f"{kind}.txt"
        paths[kind].write_text("".join(f"{code:0{digits}X} {name}\n" for code, name in sorted(names()[kind].items())))
    return paths


@cache
def names() -> dict[str, dict[int, str]]:
    """The name of every code, by kind."""
    members = {
        "collective": Collective,
        "operator": Operator,
        "type": DataType,
        "status": Status,
        "origin": Origin,
        "context": ContextState,
        "due": Due,
    }
    known = {kind: {member.value: member.name for member in enumeration} for kind, enumeration in members.items()}
    known["flags"] = {flags_byte(*bits): text for bits, text in _flags()}
    known["enrolment"] = _states(Enrolment, "enrolment")
    known["deadlines"] = _states(Deadlines, "deadlines")
    return known


def _flags():
    for direction in Direction:
        for repeat in (0, 1):
            for error in (0, 1):
                words = [direction.name, *(["REPEAT"] if repeat else []), *(["ERROR"] if error else [])]
                yield (direction, repeat, error, VERSION), "+".join(words)


def _states(component: type, machine: str) -> dict[int, str]:
    """The states' numbers follow from the order in which the hardware names them, whatever the configuration."""
    fragment = Fragment.get(component(PRESETS["tiny"]), None)
    return {code: name for name, code in fragment.find_generated(machine).encoding.items()}
