"""Faults planted in the hardware's sources, to show that tests and proofs find them.

A fault is one piece of text in one module, and what stands there instead. The component is imported anew, from a copy
of its room (the package below ``fanfold``, such as ``fanfold.fold``) under another name, so that the fault is there
for all modules of the copy and for nothing else. What is imported from outside of the room is what everybody has.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import count

__all__ = ["planted"]

_numbers = count(1)


def planted(component: type, right: str, wrong: str, module: str | None = None) -> type:
    """The class ``component`` from a copy of its room, with ``wrong`` in the one place of ``right``.

    That place is in the component's own module, or in ``module`` of its room. Raises ``ValueError`` unless ``right``
    stands there exactly once, and the copy loads that module.
    """
    place = module or component.__module__
    package, room = component.__module__.split(".")[:2]
    original = f"{package}.{room}"
    if not f"{place}.".startswith(f"{original}."):
        raise ValueError(f"{place} is not in the room {original} of {component.__name__}")
    copy = f"{original}_planted_{next(_numbers)}"
    finder = _Copy(original, copy, place, right, wrong)
    with _installed(finder):
        found = importlib.import_module(component.__module__.replace(original, copy, 1))
    if not finder.planted:
        raise ValueError(f"{component.__name__} does not import {place}")
    return getattr(found, component.__name__)


@contextmanager
def _installed(finder: "_Copy") -> Iterator[None]:
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        # the classes keep what they need of their modules
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{finder.copy}.")]:
            del sys.modules[name]


class _Copy(MetaPathFinder):
    """Finds the modules of the room's copy in the room's files."""

    def __init__(self, original: str, copy: str, place: str, right: str, wrong: str):
        self.copy = copy
        self.planted = False
        self._original, self._place = original, place
        self._right, self._wrong = right, wrong

    def find_spec(self, fullname: str, path=None, target=None) -> ModuleSpec | None:
        if not f"{fullname}.".startswith(f"{self.copy}."):
            return None
        if fullname == self.copy:
            path = importlib.import_module(self._original.rpartition(".")[0]).__path__
        source = self._original + fullname[len(self.copy) :]
        spec = PathFinder.find_spec(source, path)
        if spec is None or spec.origin is None:
            return None
        mine = ModuleSpec(fullname, _Loader(fullname, spec.origin, self, source), origin=spec.origin)
        mine.submodule_search_locations = spec.submodule_search_locations
        mine.has_location = True
        return mine

    def text(self, source: str, text: str) -> str:
        """The ``text`` of module ``source`` as the copy has it."""
        if source != self._place:
            return text
        if text.count(self._right) != 1:
            raise ValueError(f"{source} says {self._right!r} {text.count(self._right)} times")
        self.planted = True
        return text.replace(self._right, self._wrong)


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, copy: _Copy, source: str):
        super().__init__(fullname, path)
        self._copy, self._source = copy, source

    def get_code(self, fullname: str):
        text = self._copy.text(self._source, self.get_data(self.path).decode())
        return compile(text, self.path, "exec")  # from no cache, and into none
