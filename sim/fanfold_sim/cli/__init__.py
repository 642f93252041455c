"""The ``fanfold`` command: one module a subcommand, each with ``add_parser(subparsers)`` and ``run(args) -> int``.

Exit codes: 0 done, 1 the run found something wrong, 2 bad input (one line on stderr says what), 130 interrupted.
"""

import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import NoReturn

from .options import BadInput

__all__ = ["BadInput", "main"]

#: the subcommands, by module; imported only when the command runs
COMMANDS = ("simulate", "generate", "bench", "waves", "fpga", "tradeoff")


class _Parser(ArgumentParser):
    """Says what is wrong in one line, without the usage before it."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs ``fanfold`` with these arguments (default: the process's own); the exit code."""
    parser = _Parser(prog="fanfold", description="Fanfold: a network card's block that folds MPI collectives")
    parser.add_argument("--version", action="version", version=f"fanfold {version('fanfold')}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = {name: import_module(f".{name}", __package__) for name in COMMANDS}
    for module in modules.values():
        module.add_parser(subparsers)
    args = parser.parse_args(arguments)
    try:
        code = modules[args.command].run(args)
        sys.stdout.flush()
        return code
    except BadInput as error:
        print(f"fanfold {args.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"fanfold {args.command}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # whoever read the output has gone; point stdout away so that the interpreter's last flush has nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
