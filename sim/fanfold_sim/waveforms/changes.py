"""The values in a VCD: what some signals were, cycle by cycle."""

from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from .header import Variable, read_header

__all__ = ["Changes"]


class Changes:
    """The values over time of ``variables`` of a VCD: numbers, or text where the waveform has text.

    ``cycle`` is how long a cycle is, in units of the file.
    """

    def __init__(self, path: Path, variables: Iterable[Variable], cycle_fs: int):
        self._cycle = cycle_fs // read_header(path)[0]
        wanted = {variable.identifier: variable for variable in variables}
        self._times: dict[str, list[int]] = {identifier: [] for identifier in wanted}
        self._values: dict[str, list[int | str]] = {identifier: [] for identifier in wanted}
        now = 0
        with path.open() as file:
            for line in file:
                if line.startswith("$enddefinitions"):
                    break
            for line in file:
                kind, rest = line[0], line[1:].rstrip("\n")
                if kind == "#":
                    now = int(rest)
                    continue
                if kind in "bsr":
                    value, _, identifier = rest.rpartition(" ")
                else:
                    value, identifier = kind, rest
                if identifier in wanted:
                    self._times[identifier].append(now)
                    text = kind == "s"
                    self._values[identifier].append(value if text else int(value.replace("x", "0"), 2))

    def at(self, variable: Variable, cycle: int) -> int | str:
        """The value in ``cycle``, as the clock's edge at its end finds it."""
        index = bisect_right(self._times[variable.identifier], cycle * self._cycle)
        return self._values[variable.identifier][index - 1]

    def first(self, variable: Variable, value: int | str, start: int, end: int) -> int:
        """The first cycle from ``start`` on in which it has ``value``; ``LookupError`` when in none before ``end``."""
        for cycle in range(start, end):
            if self.at(variable, cycle) == value:
                return cycle
        raise LookupError(f"{variable.name} is never {value!r} in cycles {start} to {end - 1}")
