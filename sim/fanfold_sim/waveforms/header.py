"""What is in a waveform: the variables that the header of a VCD, or the hierarchy of an FST file, declares."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Variable", "read_header"]


@dataclass(frozen=True)
class Variable:
    """One declared variable: the modules it is in, its name there (with the fields of a structure behind dots), what
    the file calls it in its changes (the same for all names of one signal), its width, and whether its values are text.
    """

    scope: tuple[str, ...]
    name: str
    identifier: str
    width: int
    text: bool
    #: the name as GTKWave has it: with a backslash where the file has one, and in a VCD where there are dots in it
    shown: str

    @property
    def viewer_name(self) -> str:
        """The name by which GTKWave knows it."""
        bits = f"[{self.width - 1}:0]" if self.width > 1 and not self.text else ""
        return ".".join([*self.scope, self.shown]) + bits


def read_header(path: Path) -> tuple[int, list[Variable]]:
    """Femtoseconds of one unit of time, and every variable in the order of the file.

    Raises ``ValueError`` for a file that is neither VCD nor a finished FST.
    """
    if path.suffix == ".fst":
        return _read_fst(path)
    return _read_vcd(path)


# ------------------------------------------------------------------------------------------------------------- VCD

_UNITS = {"fs": 1, "ps": 10**3, "ns": 10**6, "us": 10**9, "ms": 10**12, "s": 10**15}


def _read_vcd(path: Path) -> tuple[int, list[Variable]]:
    unit, scope, found = 0, [], []
    for words in _declarations(path):
        match words:
            case ["$timescale", *parts]:
                time = "".join(parts)
                number = time.rstrip("fpnums")
                unit = int(number) * _UNITS[time[len(number) :]]
            case ["$scope", _, name]:
                scope.append(name)
            case ["$upscope"]:
                scope.pop()
            case ["$var", kind, width, identifier, name, *_]:
                plain = name.removeprefix("\\")
                shown = name if plain != name or "." not in plain else f"\\{plain}"
                found.append(Variable(tuple(scope), plain, identifier, int(width), kind == "string", shown))
    if not unit:
        raise ValueError(f"{path} is no VCD: it has no $timescale")
    return unit, found


def _declarations(path: Path) -> Iterator[list[str]]:
    """The words of each declaration in the header, without ``$end``."""
    words: list[str] = []
    with path.open() as file:
        for line in file:
            for word in line.split():
                if word != "$end":
                    words.append(word)
                    continue
                if words[:1] == ["$enddefinitions"]:
                    return
                yield words
                words = []


# ------------------------------------------------------------------------------------------------------------- FST

_HEADER, _HIERARCHY, _HIERARCHY_LZ4, _HIERARCHY_LZ4_TWICE = 0, 4, 6, 7
_SCOPE, _UPSCOPE, _ATTRIBUTE, _ATTRIBUTE_END = 254, 255, 252, 253
_STRING = 21
#: where a header block has the exponent of its time unit (powers of ten of a second), behind type and length
_TIMESCALE_AT = 8 * 8


def _read_fst(path: Path) -> tuple[int, list[Variable]]:
    raw = path.read_bytes()
    unit, hierarchy, at = 0, None, 0
    while at < len(raw):
        kind, length = raw[at], int.from_bytes(raw[at + 1 : at + 9], "big")
        block = raw[at + 9 : at + 1 + length]
        if kind == _HEADER:
            exponent = int.from_bytes(block[_TIMESCALE_AT : _TIMESCALE_AT + 1], "big", signed=True)
            unit = 10 ** (15 + exponent)
        elif kind in (_HIERARCHY, _HIERARCHY_LZ4, _HIERARCHY_LZ4_TWICE):
            size = int.from_bytes(block[:8], "big")
            if kind == _HIERARCHY:
                hierarchy = gzip.decompress(block[8:])
            elif kind == _HIERARCHY_LZ4:
                hierarchy = _unpack_lz4(block[8:], size)
            else:
                once = int.from_bytes(block[8:16], "big")
                hierarchy = _unpack_lz4(_unpack_lz4(block[16:], once), size)
        at += 1 + length
    if hierarchy is None or not unit:
        raise ValueError(f"{path} is no finished FST: it has no hierarchy")
    return unit, list(_fst_variables(hierarchy))


def _fst_variables(raw: bytes) -> Iterator[Variable]:
    at, signals = 0, 0
    scope: list[str] = []

    def text() -> str:
        nonlocal at
        end = raw.index(0, at)
        start, at = at, end + 1
        return raw[start:end].decode()

    def number() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = raw[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(raw):
        tag = raw[at]
        at += 1
        if tag == _SCOPE:
            at += 1  # its kind
            scope.append(text())
            text()  # the module of which it is an instance
        elif tag == _UPSCOPE:
            scope.pop()
        elif tag == _ATTRIBUTE:
            at += 2
            text()
            number()
        elif tag != _ATTRIBUTE_END:
            at += 1  # its direction
            declared, width, alias = text(), number(), number()
            signals += not alias
            declared = declared.split(" ")[0]  # without its range
            identifier = str(alias or signals)
            plain = declared.removeprefix("\\")
            yield Variable(tuple(scope), plain, identifier, width, tag == _STRING, declared)


def _unpack_lz4(raw: bytes, size: int) -> bytes:
    """One block of LZ4: runs of new bytes, each followed by a copy of bytes that came before."""
    out, at = bytearray(), 0

    def extended(length: int) -> int:
        nonlocal at
        if length == 15:
            while True:
                byte = raw[at]
                at += 1
                length += byte
                if byte < 255:
                    break
        return length

    while len(out) < size:
        token = raw[at]
        at += 1
        literals = extended(token >> 4)
        out += raw[at : at + literals]
        at += literals
        if len(out) >= size:
            break
        back = int.from_bytes(raw[at : at + 2], "little")
        at += 2
        for _ in range(extended(token & 15) + 4):
            out.append(out[-back])
    return bytes(out)
