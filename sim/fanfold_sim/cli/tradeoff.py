"""``fanfold tradeoff``: cycles, size and clock of the fold on FPGAs, as a table that is written as a page, too."""

import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from ..figures import save
from ..figures.fold import INSTANCES, PARTS, Measured, Point, chosen, figures, measure
from ..figures.plot import plot
from ..fpga import ROUTING, SYNTHESIS, FpgaError, find_tool
from ..toolchain import ToolMissing, build_directory
from .options import BadInput

__all__ = ["add_parser", "run"]

_ROW = "| {:<5} | {:<13} | {:>6} | {:>6} | {:>6} | {:>6} | {:>4} | {:>4} | {:<15} | {:>5} | {:>11} | {:<11} |"
_HEAD = (
    ("part", "what", "stages", "cycles", "LUTs", "FFs", "DSPs", "RAMs", "MHz", "ns", "UltraScale+", "harness"),
    ("---", "---", *["---:"] * 6, "---", "---:", "---:", "---"),
)


def add_parser(subparsers) -> None:
    """Adds the subcommand."""
    parser: ArgumentParser = subparsers.add_parser(
        "tradeoff",
        help="measure the fold's latency against its clock and size on FPGAs, by open tools",
        description="Synthesises and routes the fold's adder, lanes and spines for an LFE5UM5G-85F of speed grade 8, "
        "and synthesises them for an UltraScale+. An adder takes about a minute, a lane one to five, a spine five; "
        "what has not changed since the last time is not made again. Figures are the tools' estimates, with the "
        "harness around each part.",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these: {', '.join(PARTS)}; default: all")
    parser.add_argument(
        "--name",
        nargs="+",
        metavar="NAME",
        help=f"an adder's type, or of lanes and spines one of {', '.join(INSTANCES)}, or OPERATORS:TYPES, "
        "such as sum,max:int32,float32; default: those of the table",
    )
    parser.add_argument("--stages", type=int, nargs="+", metavar="N", help="of the adders; default: as in the table")
    parser.add_argument("--output", type=Path, default=Path("build/bench.json"), help="default: %(default)s")
    parser.add_argument("--table", type=Path, default=Path("build/tradeoff.md"), help="default: %(default)s")
    parser.add_argument("--plot", type=Path, default=Path("build/tradeoff.svg"), help="default: %(default)s")


def run(args: Namespace) -> int:
    """Measures, prints and saves; 1 when a tool gives up, 2 for bad input and missing tools."""
    for part in args.parts:
        if part not in PARTS:
            raise BadInput(f"PART {part}: it must be one of {', '.join(PARTS)}")
    try:
        points = chosen(args.parts or PARTS, args.name, args.stages)
        for tool in (SYNTHESIS, ROUTING):
            find_tool(tool)
    except (ToolMissing, ValueError) as error:
        raise BadInput(str(error)) from None

    rows = [_ROW.format(*cells) for cells in _HEAD]
    print("\n".join(rows), flush=True)
    found: list[Measured] = []
    for number, point in enumerate(points, 1):
        try:
            found.append(_measured(point, f"{number} of {len(points)}: {point}"))
        except FpgaError as error:
            print(f"fanfold tradeoff: {point}: {error}", file=sys.stderr)
            continue
        rows.append(_row(found[-1]))
        print(rows[-1], flush=True)
        save(figures(found[-1]), args.output)
    print("Estimates of the tools; no hardware was used. LUTs, FFs (flip-flops) and RAMs (block RAMs) of the ECP5.")
    args.table.parent.mkdir(parents=True, exist_ok=True)
    args.table.write_text("\n".join(rows) + "\n")
    args.plot.parent.mkdir(parents=True, exist_ok=True)
    args.plot.write_text(plot(found))
    print(f"written to {args.output}, {args.table} and {args.plot}")
    return int(len(found) < len(points))


def _measured(point: Point, title: str) -> Measured:
    began = time.monotonic()
    found = measure(
        point, build_directory() / "fpga", lambda text: print(f"{title}: {text} ...", file=sys.stderr, flush=True)
    )
    print(f"{title}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return found


def _row(found: Measured) -> str:
    used, clocks = found.ecp5, found.clocks
    clock = f"{found.clock:.0f}"
    if len(clocks) > 1:
        clock += f" ({clocks[0]:.0f} to {clocks[-1]:.0f})"
    return _ROW.format(
        found.point.part,
        found.point.name,
        found.point.stages,
        found.cycles,
        *(f"{number:,}" for number in (used.luts, used.ffs, used.dsps, used.brams)),
        clock,
        f"{1000 * found.cycles / found.clock:.0f}",
        f"{found.ultrascale.luts:,}",
        f"{found.harness_luts} / {found.harness_ffs}",
    )
