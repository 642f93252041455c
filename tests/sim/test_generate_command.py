"""``fanfold generate`` as a user runs it: operators and types chosen, said in the JSON, and bad choices in one line."""

import json
import re
from argparse import ArgumentParser
from pathlib import Path

import pytest

from fanfold import export
from fanfold.codes import DataType, Operator, defined
from fanfold.config import PRESETS, Config
from fanfold_sim.cli import main
from fanfold_sim.cli.options import CONFIG_HELP, add_config_options, config_from

DOCS = (Path(__file__).parents[2] / "docs" / "generate.md").read_text()
#: stands for a preset: a bit of everything
BASE = Config(
    operators=(Operator.SUM, Operator.MAX, Operator.BAND, Operator.MINLOC),
    types=(DataType.INT16, DataType.FLOAT32, DataType.INT32_INT32),
)


def generate(path, *arguments):
    return main(["generate", "-o", str(path), "--preset", "tiny", *arguments])


def test_what_an_instance_folds_is_printed_and_written(tmp_path, capsys, monkeypatch):
    # Verilog takes its time, and has tests of its own
    monkeypatch.setattr(export, "verilog", lambda top, name, *, simulation: f"module {name}; endmodule\n")
    assert generate(tmp_path, "--operators", "bor,max,Sum", "--types", "uint8, float16") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[4:] == ["folds bor of uint8", "folds max, sum of uint8, float16"]
    description = json.loads((tmp_path / "fanfold.json").read_text())
    assert description["configuration"]["operators"] == ["bor", "max", "sum"]
    assert description["configuration"]["types"] == ["uint8", "float16"]
    assert description["folds"] == {"bor": ["uint8"], "max": ["uint8", "float16"], "sum": ["uint8", "float16"]}
    words = {each["name"]: each["reset"] for each in description["registers"]["registers"]}
    pairs = [
        (operator.name.lower(), kind.name.lower())
        for operator in Operator
        for kind in DataType
        if words["operators"] >> operator.value & 1 and words["types"] >> kind.value & 1 and defined(operator, kind)
    ]
    # what a host finds in the registers is what the instance folds
    assert sorted(pairs) == sorted((name, kind) for name, kinds in description["folds"].items() for kind in kinds)


def chosen(*arguments, default=BASE):
    parser = ArgumentParser()
    add_config_options(parser)
    return config_from(parser.parse_args(arguments), default)


@pytest.mark.parametrize(
    ("arguments", "operators", "types"),
    [
        ((), "sum max band minloc", "int16 float32 int32_int32"),
        (("--operators", "min"), "min", "int16 float32"),
        (("--operators", "minloc,maxloc"), "minloc maxloc", "int32_int32"),
        (("--operators", "lor"), "lor", "int16"),
        (("--types", "float64"), "sum max", "float64"),
        (("--types", "float32_int32"), "minloc", "float32_int32"),
        (("--types", "int8,bfloat16"), "sum max band", "int8 bfloat16"),
        (("--operators", "prod", "--types", "float64"), "prod", "float64"),
    ],
)
def test_what_no_longer_goes_with_anything_is_left_out(arguments, operators, types):
    found = chosen(*arguments).as_dict()
    assert (found["operators"], found["types"]) == (operators.split(), types.split())


def test_all_of_them():
    found = chosen("--operators", "all", "--types", "ALL")
    assert (found.operators, found.types) == (tuple(Operator), tuple(DataType))


def test_a_preset_comes_before_the_default():
    assert chosen("--preset", "tiny") == PRESETS["tiny"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--operators", "sum,mean", "--types", "int8"), "operators has 'mean': known are sum, prod, "),
        (("--operators", "mean"), "operators has 'mean': known are sum, prod, "),
        (("--types", "int8,half"), "types has 'half': known are int8, int16, "),
        (("--operators", ","), "operators is empty: choose at least one of sum, prod, "),
        (("--operators", "sum,sum"), "operators names one of its members twice"),
        (("--operators", "sum,minloc", "--types", "int8"), "operators has minloc: it is not defined with any of the "),
        (("--operators", "sum", "--types", "int8,int32_int32"), "types has int32_int32: it is not defined with any "),
        (("--operators", "lor", "--types", "float16"), "operators has lor: it is not defined with any of the types"),
        (("--name", "4x"), "--name '4x': it must be letters, digits and underscores"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(capsys, tmp_path, arguments, message):
    assert generate(tmp_path, *arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("fanfold generate: ") and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("option", "members"), [("operators", Operator), ("types", DataType)])
def test_the_names_are_in_the_documentation_and_the_help(option, members):
    names = [member.name.lower() for member in members]
    row = re.search(rf"^\| `--{option}` \|.*\|(.*)\|$", DOCS, flags=re.M).group(1)
    assert re.findall(r"`(\w+)`", row) == [*names, "all"]
    assert CONFIG_HELP[option].endswith(", ".join(names))
