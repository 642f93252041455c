"""``fanfold fpga``: size and clock on an FPGA, by open tools, printed and written to ``build/bench.json``."""

import sys
import time
from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from pathlib import Path

from ..figures import save
from ..figures.fpga import PARTS, figures, routed, synthesised
from ..fpga import ROUTING, SYNTHESIS, FpgaError, Usage, find_tool
from ..toolchain import ToolMissing, build_directory
from .options import BadInput

__all__ = ["add_parser", "run"]

_BEAT_BYTES = (8, 16, 32, 64)
_ROW = "{:<8} {:>5} {:>8} {:>10} {:>10} {:>5} {:>7} {:>6}  {}"


def add_parser(subparsers) -> None:
    """Adds the subcommand."""
    parser: ArgumentParser = subparsers.add_parser(
        "fpga",
        help="measure size and clock on an FPGA, by open tools",
        description="Synthesises and routes parts of the NIC, with 4 contributors, for an LFE5UM5G-85F of speed grade "
        "8. A part at 8-byte beats takes one or two minutes, the engine far longer, an hour at most; at 64-byte beats "
        "a part takes up to a quarter of an hour, and an engine about fills the device. Figures are the tools' "
        "estimates.",
    )
    parser.add_argument(
        "--part",
        action="append",
        metavar="PART",
        help=f"only {', '.join(PARTS)}; may be repeated; default: all but engine",
    )
    parser.add_argument(
        "--beat-bytes", type=int, nargs="+", default=[8], metavar="N", help="8, 16, 32 or 64; default 8"
    )
    parser.add_argument("--route", action=BooleanOptionalAction, default=True, help="place and route, for the clock")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the placement; default %(default)s")
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"), help="default: %(default)s")


def run(args: Namespace) -> int:
    """Measures, prints and saves; 1 when a tool gives up, 2 for bad input and missing tools."""
    # routing the engine takes an hour and may give up, so it must be asked for
    parts = args.part or [part for part in PARTS if part != "engine"]
    for part in parts:
        if part not in PARTS:
            raise BadInput(f"--part {part}: it must be one of {', '.join(PARTS)}")
    for width in args.beat_bytes:
        if width not in _BEAT_BYTES:
            raise BadInput(f"--beat-bytes {width}: it must be one of {', '.join(map(str, _BEAT_BYTES))}")
    if args.seed < 0:
        raise BadInput(f"--seed {args.seed}: it must not be negative")
    try:
        for tool in (SYNTHESIS, ROUTING) if args.route else (SYNTHESIS,):
            find_tool(tool)
    except ToolMissing as error:
        raise BadInput(str(error)) from None

    folder = build_directory() / "fpga"
    found: dict[tuple[str, int], Usage] = {}
    failed = False
    for width in args.beat_bytes:
        for part in parts:
            print(f"{part}, {width}-byte beats ...", file=sys.stderr, flush=True)
            began = time.monotonic()
            try:
                # the size is kept before the router begins: it may give up
                found[part, width] = usage = synthesised(part, width, folder)
                save(figures(part, width, usage), args.output)
                if args.route:
                    found[part, width] = usage = routed(part, width, folder, seed=args.seed)
                    save(figures(part, width, usage), args.output)
            except FpgaError as error:
                print(f"fanfold fpga: {part}, {width}-byte beats: {error}", file=sys.stderr)
                failed = True
            print(f"{part}, {width}-byte beats: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    _tabulate(found)
    print(f"written to {args.output}")
    return int(failed)


def _tabulate(found: dict[tuple[str, int], Usage]) -> None:
    head = ("part", "beat", "LUTs", "flip-flops", "block RAMs", "DSPs", "MHz", "levels", "what limits the clock")
    print("\n" + _ROW.format(*head))
    for (part, width), usage in found.items():
        clock = "" if usage.fmax_mhz is None else f"{usage.fmax_mhz:.1f}"
        sizes = (f"{number:,}" for number in (usage.luts, usage.ffs, usage.brams, usage.dsps))
        levels = "" if usage.worst is None else usage.worst.levels
        print(_ROW.format(part, width, *sizes, clock, levels, usage.worst or "").rstrip())
    print("Estimates of the tools, with the harness around each part; no hardware was used.")
