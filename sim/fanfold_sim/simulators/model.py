"""The Verilated model of a configuration, with the harness that plays a NIC inside."""

import inspect
from pathlib import Path

from fanfold import export
from fanfold.config import Config

from . import library
from .base import TopMaker

__all__ = ["build"]

HARNESS = Path(__file__).parent / "harness.cpp"


def build(config: Config, top: TopMaker, trace: str | None = None) -> Path:
    """The library of the model, built if it is not there; ``trace`` is None, ``"vcd"`` or ``"fst"``.

    Raises ``ToolMissing``, or ``RuntimeError`` with the tool's words when the build fails.
    """
    tracing = (f"--trace-{trace}", "--trace-structs") if trace else ()
    harness = library.Harness(HARNESS, "nic", "fanfold", flags=tracing, compile_flags="-DVL_USER_STOP")
    return library.build(
        harness,
        lambda: export.verilog(top(config), "fanfold", simulation=True),
        _origins(config, top),
        f"{config.beat_bytes}-byte beats, {config.contributors} contributors",
    )


def _origins(config: Config, top: TopMaker) -> list:
    """What the Verilog follows from, beside the tools' versions."""
    made_in = inspect.getsourcefile(top)
    files = [*export.sources(), *([Path(made_in)] if made_in else [])]
    return [config.as_dict(), top.__qualname__, *(path.read_bytes() for path in files)]
