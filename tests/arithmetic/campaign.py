"""A campaign runs parts through a lane, chunk by chunk, in several processes, and keeps note of what is done.

The notes of a part are a file with a line for each chunk; they count for as long as the lane's Verilog and the judges
are the same. A campaign that was interrupted goes on with the chunks that are missing.
"""

import hashlib
import multiprocessing
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from judges import Wrong, check
from parts import SAMPLE, Part

import fanfold_sim.reference.arithmetic
from fanfold.config import Config
from fanfold_sim.simulators.lane import VerilatedLane

__all__ = ["Campaign", "Chunk"]


@dataclass(frozen=True)
class Chunk:
    """A chunk that is done: seconds of processor time, and what is wrong, or nothing."""

    part: Part
    number: int
    seconds: float
    wrong: str = ""


class Campaign:
    """``parts`` through the lane of ``config``, with notes in a folder of their own below ``folder``."""

    def __init__(self, config: Config, parts: Sequence[Part], folder: Path):
        self.parts = list(parts)
        self._config = config
        self._folder = folder / _version(VerilatedLane(config))
        self._folder.mkdir(parents=True, exist_ok=True)

    def done(self, part: Part) -> list[Chunk]:
        """The chunks that were found right, in this run or before."""
        notes = self._notes(part)
        lines = notes.read_text().split("\n")[:-1] if notes.exists() else []  # one cut short does not count
        return [Chunk(part, int(number), float(seconds)) for number, seconds in map(str.split, lines)]

    def run(self, processes: int) -> Iterator[Chunk]:
        """Runs what is missing; each chunk as it is done. A part of which a chunk is wrong is not continued."""
        missing = []
        for part in self.parts:
            done = {chunk.number for chunk in self.done(part)}
            missing += [(part, number) for number in range(part.chunks) if number not in done]
        failed = set()
        for chunk in self._work(missing, processes, failed):
            if chunk.wrong:
                failed.add(chunk.part)
            else:
                with self._notes(chunk.part).open("a") as notes:
                    notes.write(f"{chunk.number} {chunk.seconds:.3f}\n")
            yield chunk

    def forget(self) -> None:
        """Throws the notes away."""
        for part in self.parts:
            self._notes(part).unlink(missing_ok=True)

    def _notes(self, part: Part) -> Path:
        return self._folder / f"{part.name}.{part.chunks}x{part.size}"

    def _work(self, missing: list[tuple[Part, int]], processes: int, failed: set[Part]) -> Iterator[Chunk]:
        if processes == 1:
            for part, number in missing:
                if part not in failed:
                    yield _try(self._config, part, number)
            return
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, mp_context=context, initializer=_leave_interrupts_to_the_parent)
        try:
            asked = {}
            for part, number in missing:
                asked[pool.submit(_try, self._config, part, number)] = part
            for answer in as_completed(asked):
                if answer.cancelled():
                    continue
                yield answer.result()
                if asked[answer] in failed:
                    for other, part in asked.items():
                        if part in failed:
                            other.cancel()
        finally:
            pool.shutdown(cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def _lane(config: Config) -> VerilatedLane:
    return VerilatedLane(config)


def _try(config: Config, part: Part, number: int) -> Chunk:
    lane = _lane(config)
    started = time.process_time()
    (a, b), rng = part.operands(number)
    try:
        check(lane, part.operator, part.data_type, a, b, sample=min(SAMPLE, part.size), rng=rng)
        wrong = ""
    except Wrong as error:
        wrong = str(error)
    return Chunk(part, number, time.process_time() - started, wrong)


def _version(lane: VerilatedLane) -> str:
    """Another one whenever the lane, its tools, the operands or the judges change."""
    here = Path(__file__).parent
    reference = Path(fanfold_sim.reference.arithmetic.__file__).parent
    judges = [here / name for name in ("operands.py", "parts.py", "judges.py")]
    judges += sorted(reference.glob("*.py"))
    digest = hashlib.sha256(f"{lane.library.parent.name} {np.__version__}".encode())
    for path in judges:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
