"""A figure, and the file of all of them."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Figure", "save"]


@dataclass(frozen=True)
class Figure:
    """A measured value. ``limit`` is what it cannot pass, or what it is to reach; ``None`` where there is none."""

    name: str
    value: float
    unit: str
    limit: float | None = None

    def __str__(self) -> str:
        beside = "" if self.limit is None else f"   (limit {self.limit:g})"
        return f"{self.name:<36} {self.value:>12,.6g} {self.unit}{beside}"


def save(figures: list[Figure], path: Path) -> None:
    """Writes ``figures`` into the flat object at ``path``; those of other runs stay in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else {}
    for figure in figures:
        plain = asdict(figure)
        kept[plain.pop("name")] = plain
    path.write_text(json.dumps(dict(sorted(kept.items())), indent=2) + "\n")
