"""The GTKWave save file of a waveform: a group for each room, in order of flow, codes as text."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vcd.gtkw import GTKWSave

from .codes import code_of, hint, write_codes
from .find import Finder
from .header import Variable, read_header
from .rooms import ROOMS, Look

__all__ = ["CYCLE_FS", "Marker", "save_path", "write_save"]

#: simulators show a cycle in a nanosecond: cycle n at n ns
CYCLE_FS = 10**6

#: numbers that people count with; the rest shows in hexadecimal
_DECIMAL = {
    "beat", "children", "coll_tag", "comm_id", "count", "leaf", "leaders", "length", "missing", "queue", "ranks",
    "slot", "find", "source", "total", "turn",
}  # fmt: skip
#: pixels that the first view is wide, about
_VIEW = 900


@dataclass(frozen=True)
class Marker:
    """A moment with a name; GTKWave calls the markers A, B, C and so on."""

    cycle: int
    text: str


def save_path(waves: Path) -> Path:
    """Where the save file of a waveform is."""
    return waves.with_suffix(".gtkw")


def write_save(waves: Path, markers: Sequence[Marker] = (), *, cycles: int | None = None) -> Path:
    """Writes the save file of a finished waveform beside it; its path. ``cycles`` is how many the first view shows.

    Codes that are numbers in the waveform have their names in files in a directory beside it. Of a waveform that does
    not have all rooms, the rest is shown. Raises ``ValueError`` for what is no waveform, or more than 26 markers.
    """
    if len(markers) > 26:
        raise ValueError(f"{len(markers)} markers: GTKWave has 26")
    waves = waves.resolve()
    unit, variables = read_header(waves)
    finder = Finder(variables)
    cycle = CYCLE_FS // unit
    kinds = {kind for _, found in _found(finder) for _, variable in found if (kind := code_of(variable))}
    codes = write_codes(waves.parent / f"{waves.stem}.codes", kinds) if kinds else {}
    path = save_path(waves)
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(str(waves))
        save.savefile(str(path))
        save.timestart(0)
        save.size(1600, 1000)
        zoom = -math.log2(cycles * cycle / _VIEW) if cycles else -math.log2(cycle / 4)
        print(f"*{zoom:.6f} -1", *(each.cycle * cycle for each in markers), *[-1] * (26 - len(markers)), file=file)
        for at, each in enumerate(markers):
            print(f"[markername] {chr(ord('A') + at)}{each.text}", file=file)
        if finder.top:
            save.treeopen(".".join(finder.top))
        save.signals_width(330)
        save.sst_expanded(True)
        for name in ("clk", "rst"):
            if variable := finder.find((), name):
                _trace(save, name, variable, codes)
        title = ""
        for (room, look), found in _found(finder):
            if room != title:
                if title:
                    save.end_group(title)
                save.begin_group(room)
                title = room
            save.blank(look.caption)
            for label, variable in found:
                _trace(save, label, variable, codes)
        if title:
            save.end_group(title)
    return path


def _found(finder: Finder) -> list[tuple[tuple[str, Look], list[tuple[str, Variable]]]]:
    """Of each room, what there is to look at."""
    every = [((room.title, look), finder.signals(room, look)) for room in ROOMS for look in room.looks]
    there = [(title, [(label, each) for label, each in signals if each is not None]) for title, signals in every]
    return [(title, signals) for title, signals in there if signals]


def _trace(save: GTKWSave, label: str, variable: Variable, codes: dict[str, Path]) -> None:
    kind = code_of(variable)
    if variable.text:
        save.trace(variable.viewer_name, alias=label, datafmt="ascii")
    elif kind:
        save.trace(variable.viewer_name, alias=label, datafmt="hex", translate_filter_file=str(codes[kind]))
    elif variable.width == 1:
        save.trace(variable.viewer_name, alias=label + hint(variable), datafmt="bin")
    else:
        counts = label.split(" ")[-1] in _DECIMAL
        save.trace(variable.viewer_name, alias=label, datafmt="dec" if counts else "hex")
