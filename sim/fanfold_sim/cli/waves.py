"""``fanfold waves``: a small readable waveform of the hardware, with a save file that shows it room by room."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from ..story import CONFIG, StoryError, tell
from ..waveforms import save_path
from .options import BadInput

__all__ = ["add_parser", "run"]


def add_parser(subparsers) -> None:
    """Adds the subcommand."""
    parser: ArgumentParser = subparsers.add_parser(
        "waves",
        help="write a small readable waveform",
        description="Plays a short story in Amaranth's simulator and writes its waveform (VCD) with a GTKWave save "
        "file: two leaders register, a regular frame passes, vectors are added, a stranger is refused, and the leaders "
        "deregister.",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("build/waves"), metavar="DIR", help="default: %(default)s"
    )


def run(args: Namespace) -> int:
    """Writes the files and says what to look at; 1 when the hardware does something else than the story says."""
    waves = args.output / "fanfold.vcd"
    try:
        args.output.mkdir(parents=True, exist_ok=True)
        waves.touch()
    except OSError as error:
        raise BadInput(f"--output {args.output}: {error.strerror or error}") from None
    try:
        moments = tell(waves)
    except (StoryError, AssertionError) as error:
        print(f"the story went wrong: {error}; the waveform up to there is {waves}")
        return 1
    size = f"{waves.stat().st_size / 1e6:.1f} MB"
    print(f"{waves}: {size}, {CONFIG.beat_bytes}-byte beats, {CONFIG.contributors} contributors")
    print(f"look at it with: gtkwave {save_path(waves)}")
    print("cycle n is at n ns; GTKWave's markers have the letters\n")
    rows = [(chr(ord("A") + at), str(each.cycle), each.text, each.look) for at, each in enumerate(moments)]
    rows.insert(0, ("", "cycle", "what happens", "where it shows"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for mark, cycle, text, look in rows:
        print(f"{mark:{widths[0]}}  {cycle:>{widths[1]}}  {text:{widths[2]}}  {look}")
    return 0
