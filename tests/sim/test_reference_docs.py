"""The reference model's page: its example runs, and its table names every module."""

import re
from pathlib import Path

import fanfold_sim.reference

PAGE = (Path(__file__).parents[2] / "docs" / "reference-model.md").read_text()


def test_the_example_runs(capsys):
    exec(re.search(r"```python\n(.*?)```", PAGE, flags=re.S).group(1), {})
    assert capsys.readouterr().out == "1\n"


def test_every_module_is_named():
    modules = {path.name for path in Path(fanfold_sim.reference.__file__).parent.glob("*.py")} - {"__init__.py"}
    assert modules <= set(re.findall(r"`(\w+\.py)`", PAGE))
