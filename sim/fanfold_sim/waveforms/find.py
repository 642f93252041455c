"""Finds the hardware's signals in a waveform by the names they have in the source."""

import re
from collections.abc import Iterable

from .header import Variable
from .rooms import Look, Room

__all__ = ["Finder"]


class Finder:
    """The variables of one waveform, by module and name."""

    def __init__(self, variables: Iterable[Variable]):
        self._scopes: dict[tuple[str, ...], dict[str, Variable]] = {}
        for variable in variables:
            self._scopes.setdefault(variable.scope, {})[variable.name] = variable
        tops = [scope for scope, names in self._scopes.items() if "s_axis_host_tvalid" in names]
        #: the module that is the whole hardware; simulators put others around it
        self.top = max(tops, key=len, default=())

    def find(self, scope: tuple[str, ...], name: str) -> Variable | None:
        """The variable ``name`` of the module ``scope`` below the top, or ``None`` where there is none.

        A module's connections to its submodules bear the same names, told apart by numbers behind a dollar sign. The
        module's own port is the one that the module above knows too, under the same name.
        """
        base, dot, field = name.partition(".")
        pattern = re.compile(rf"{re.escape(base)}(\$\d+)?")
        here = self._scopes.get((*self.top, *scope), {})
        candidates = [each for each in here if pattern.fullmatch(each)]
        if scope:
            outside = self._scopes.get((*self.top, *scope)[:-1], {})
            known = {variable.identifier for each, variable in outside.items() if pattern.fullmatch(each)}
            candidates.sort(key=lambda each: (here[each].identifier not in known, "$" in each))
        found = (here.get(each + dot + field) for each in candidates)
        return next((each for each in found if each is not None), None)

    def signals(self, room: Room, look: Look) -> list[tuple[str, Variable | None]]:
        """Each signal of ``look``: its label and its variable."""
        scope = (*room.scope, *look.within)
        if not look.numbered:
            return [(label, self.find(scope, name)) for name, label in look.signals]
        found: list[tuple[str, Variable | None]] = []
        for name, label in look.signals:
            index = 0
            while (variable := self.find(scope, f"{name}_{index}")) is not None:
                found.append((f"{label}_{index}", variable))
                index += 1
        return found
