"""Imports point one way, as docs/architecture.md draws it; and the hardware knows nothing of the host side."""

import ast
from pathlib import Path

import pytest

import fanfold

HDL = Path(fanfold.__file__).parent

#: rooms and modules of the hardware from the bottom up; each may import what is below it
RANKS = [
    {"codes"},
    {"config"},
    {"wire"},
    {"streams"},
    {"delivery", "egress", "results", "fold", "admission", "registry", "ingress", "control"},
    {"engine"},
    {"edge"},
    {"export", "boards"},
]
#: modules that are shapes and names only: rooms of one rank share them
SHARED = {"registry.ports", "results.ports", "control.events", "control.reports", "control.timing"}

FILES = sorted(HDL.rglob("*.py"))


def rank(room: str) -> int:
    found = [number for number, rooms in enumerate(RANKS) if room in rooms]
    assert found, f"{room} has no place in the order of imports: give it one here and in docs/architecture.md"
    return found[0]


def imported(path: Path) -> list[tuple[int, str]]:
    """Line and full module name of every import in a file; relative ones resolved."""
    package = [fanfold.__name__, *path.relative_to(HDL).parts[:-1]]
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *(node.module.split(".") if node.module else [])])
            # `from .. import x` names the modules x; `from ..x import y` names x, and perhaps its module y
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


def violations(path: Path) -> list[str]:
    """What a file of the hardware imports and must not."""
    own = path.relative_to(HDL).with_suffix("").parts[0]
    if own == "__init__":
        return []
    found = []
    for line, name in imported(path):
        if name.split(".")[0] == "fanfold_sim":
            found.append(f"line {line}: the hardware imports the host side: {name}")
        if name.split(".")[0] != "fanfold":
            continue
        parts = name.split(".")[1:]
        other, module = parts[0], ".".join(parts[:2])
        if other == own or module in SHARED:
            continue
        if rank(other) >= rank(own):
            found.append(f"line {line}: {own} imports {name}, which is not below it")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HDL)))
def test_imports_point_one_way(path):
    assert violations(path) == []


def test_the_guard_sees_what_it_must(tmp_path, monkeypatch):
    """Planted imports against the direction are found, relative and absolute ones."""
    for room in ("wire", "fold", "engine", "registry", "edge"):
        (tmp_path / room).mkdir()
    (tmp_path / "config.py").touch()
    monkeypatch.setattr(__import__(__name__), "HDL", tmp_path)
    planted = tmp_path / "fold" / "spine.py"
    planted.write_text(
        "from ..config import Config\n"
        "from ..wire import fold_layout\n"
        "from ..registry.ports import lookup_signature\n"
        "from ..registry.table import Table\n"
        "from fanfold.engine import Engine\n"
        "def late():\n"
        "    from .. import edge\n"
        "    import fanfold_sim.bench\n"
    )
    assert [text.split(":")[0] for text in violations(planted)] == ["line 4", "line 5", "line 7", "line 8"]


def test_every_room_has_a_place():
    for path in HDL.iterdir():
        if path.stem != "__init__" and (path.suffix == ".py" or (path / "__init__.py").exists()):
            rank(path.stem)
