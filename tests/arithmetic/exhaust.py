"""``make arithmetic``: the long tier, with progress, and a table at the end. Interrupted, it goes on later.

A chunk is judged as ``judges.check`` does it. Exit code 1 when something was wrong, 2 for bad arguments, 130 when it
was interrupted.
"""

import argparse
import os
import sys
import time

from campaign import Campaign, Chunk
from lanes import COMPLETE, DEFAULT
from parts import Part, parts_of

from fanfold_sim import toolchain

_LANES = {"complete": COMPLETE, "default": DEFAULT}
#: seconds between two lines of progress on a terminal, and elsewhere
_PATIENCE = 1, 30


class _Progress:
    """What is done of the pairs, how fast, and how long the rest takes at that rate."""

    def __init__(self, campaign: Campaign):
        self._total = sum(part.pairs for part in campaign.parts)
        self._done = self._before = sum(len(campaign.done(part)) * part.size for part in campaign.parts)
        # pairs take different times by part: what a part took so far says what the rest of it takes
        self._started = self._told = time.monotonic()

    def __call__(self, chunk: Chunk) -> None:
        self._done += chunk.part.size
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if now - self._told < _PATIENCE[not terminal]:
            return
        self._told = now
        rate = (self._done - self._before) / (now - self._started)
        left = (self._total - self._done) / rate
        text = (
            f"{chunk.part.name}: {100 * self._done / self._total:.1f} % of {self._total:,} pairs, "
            f"{rate / 1e6:.1f} million a second, {_span(left)} left"
        )
        print(f"\r{text:<100}" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)


def _span(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min" if minutes else f"{seconds:.0f} s"


def _table(campaign: Campaign, wrong: dict[Part, str]) -> str:
    lines = [f"{'part':<22} {'pairs':>15} {'of':>15} {'processor time':>15}  outcome"]
    for part in campaign.parts:
        done = campaign.done(part)
        pairs = part.size * len(done)
        outcome = "WRONG" if part in wrong else "right" if len(done) == part.chunks else "not finished"
        spent = _span(sum(chunk.seconds for chunk in done))
        lines.append(f"{part.name:<22} {pairs:>15,} {part.pairs:>15,} {spent:>15}  {outcome}")
    return "\n".join(lines + [f"{part.name}: {text}" for part, text in wrong.items()])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these, such as float16-sum or float16")
    parser.add_argument("--lane", choices=_LANES, default="complete", help="default: %(default)s")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="default: one a processor")
    parser.add_argument("--afresh", action="store_true", help="forget what was done before")
    options = parser.parse_args(arguments)
    known = parts_of(_LANES[options.lane])
    names = {name for part in known for name in (part.name, part.name.rpartition("-")[0])}
    if unknown := [name for name in options.parts if name not in names]:
        parser.error(f"no part {unknown[0]}: known are {', '.join(sorted(names))}")
    if options.processes < 1:
        parser.error(f"--processes is {options.processes}: it must be 1 or more")
    chosen = [p for p in known if not options.parts or {p.name, p.name.rpartition("-")[0]} & set(options.parts)]
    campaign = Campaign(_LANES[options.lane], chosen, toolchain.build_directory() / "arithmetic")
    if options.afresh:
        campaign.forget()
    progress, wrong, code = _Progress(campaign), {}, 0
    try:
        for chunk in campaign.run(options.processes):
            progress(chunk)
            if chunk.wrong:
                wrong[chunk.part], code = chunk.wrong, 1
    except KeyboardInterrupt:
        print("\ninterrupted: what is done counts, the same command goes on from here", file=sys.stderr)
        code = 130
    print(f"\n{_table(campaign, wrong)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
