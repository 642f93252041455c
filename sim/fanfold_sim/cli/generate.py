"""``fanfold generate``: Verilog of a configuration, with a JSON and its registers for C and for a browser beside it."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from fanfold import export
from fanfold.config import Config

from .options import BadInput, add_config_options, config_from

__all__ = ["add_parser", "run"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def add_parser(subparsers) -> None:
    """Adds the subcommand."""
    parser: ArgumentParser = subparsers.add_parser(
        "generate",
        help="write Verilog of a configuration",
        description="Writes NAME.v, the NIC in SystemVerilog that Icarus, Verilator and Yosys take; NAME.json, its "
        "ports, configuration, what it folds, latencies and registers; NAME.h, the registers in C; and "
        "NAME-registers, pages about them for a browser. The same configuration gives the same bytes.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="where to write; made if needed"
    )
    parser.add_argument("--name", default="fanfold", help="of the module and the files; default %(default)s")
    parser.add_argument(
        "--simulation",
        action="store_true",
        help="for simulators: with the hardware's assertions; without this, plain synthesizable code",
    )
    add_config_options(parser)


def run(args: Namespace) -> int:
    """Runs the subcommand."""
    if not _NAME.fullmatch(args.name):
        raise BadInput(f"--name {args.name!r}: it must be letters, digits and underscores, a letter first")
    config = config_from(args)
    try:
        written = export.generate(config, args.output, args.name, simulation=args.simulation)
    except OSError as error:
        raise BadInput(f"--output {args.output}: {error.strerror}") from None
    for path in written:
        print(f"{path}  {path.stat().st_size:,} bytes")
    for line in _folded(config):
        print(line)
    return 0


def _folded(config: Config) -> Iterator[str]:
    """What the instance folds, a line for the operators that go with the same types."""
    cases: dict[tuple[str, ...], list[str]] = {}
    for operator, its_types in export.folds(config).items():
        cases.setdefault(tuple(its_types), []).append(operator)
    for types, operators in cases.items():
        yield f"folds {', '.join(operators)} of {', '.join(types)}"
