"""``fanfold bench``: the figures, printed beside their limits and written to ``build/bench.json``."""

import sys
from argparse import Namespace
from pathlib import Path

from ..figures import save
from ..figures.fold import brief
from ..figures.latency import last_arrival
from ..figures.passing import passing
from ..figures.speed import speed
from ..figures.throughput import throughput
from ..fpga import FpgaError
from ..toolchain import ToolMissing
from .options import BadInput

__all__ = ["add_parser", "run"]

_KINDS = {"throughput": throughput, "passing": passing, "latency": last_arrival, "speed": speed, "fold": brief}


def add_parser(subparsers) -> None:
    """Adds the subcommand."""
    parser = subparsers.add_parser(
        "bench", help="measure beats per cycle, latencies, simulation speed, and size and clock of the fold"
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"only these: {', '.join(_KINDS)} (default: all)")
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"), help="default: %(default)s")


def run(args: Namespace) -> int:
    """Measures, prints and saves; 1 when a tool gives up, 2 for an unknown kind and a missing tool."""
    for kind in args.kinds:
        if kind not in _KINDS:
            raise BadInput(f"KIND {kind}: it must be one of {', '.join(_KINDS)}")
    figures, failed = [], False
    for kind in args.kinds or _KINDS:
        try:
            for figure in _KINDS[kind]():
                print(figure, flush=True)
                figures.append(figure)
        except ToolMissing as error:
            raise BadInput(str(error)) from None
        except FpgaError as error:
            print(f"fanfold bench: {kind}: {error}", file=sys.stderr)
            failed = True
        save(figures, args.output)
    print(f"written to {args.output}")
    return int(failed)
