"""Progress on stderr: a bar on a terminal, plain lines elsewhere."""

import sys
from contextlib import ExitStack

__all__ = ["Progress"]

#: plain lines tell of progress this often, as a part of the whole
_STEP = 0.25


class Progress:
    """Shows one stage after another; a context manager."""

    def __init__(self):
        self._stack = ExitStack()
        self._bar = None
        self._task = None
        self._stage = ""
        self._told = 0.0

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            # here, because only terminals need it
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = self._stack.enter_context(Bar(*columns, console=Console(stderr=True), transient=True))
        return self

    def __exit__(self, *exception) -> None:
        self._stack.close()

    def stage(self, name: str) -> None:
        """Begins a stage."""
        self._stage, self._told = name, 0.0
        if self._bar is None:
            print(f"{name} ...", file=sys.stderr, flush=True)
            return
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=None)

    def advance(self, done: int, total: int) -> None:
        """``done`` of ``total`` parts of the stage are done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)
            return
        part = done / total if total else 1.0
        if self._told + _STEP <= part < 1:
            self._told = part
            print(f"{self._stage}: {done} of {total}", file=sys.stderr, flush=True)
