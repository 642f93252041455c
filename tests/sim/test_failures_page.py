"""The page on failures: its commands run as they stand there and print what it shows; it names everything there is."""

import re
import shlex
from pathlib import Path

import pytest

from fanfold_sim.cli import main
from fanfold_sim.faults.injection import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "failures.md").read_text()
BLOCKS = re.findall(r"```\n(.*?)```", PAGE, flags=re.S)
COMMANDS = [at for at, block in enumerate(BLOCKS) if block.startswith("fanfold ")]


@pytest.mark.parametrize("at", COMMANDS, ids=lambda at: BLOCKS[at].split("--inject ")[1].strip().split()[0][:20])
def test_commands_print_what_is_shown(capsys, at):
    printed = ""
    for command in BLOCKS[at].splitlines():
        assert main(shlex.split(command)[1:]) == 0
        printed += capsys.readouterr().out
    shown = BLOCKS[at + 1].splitlines()
    assert len(shown) >= 2 and not shown[0].startswith("fanfold")
    missing = [line for line in shown if line not in printed.splitlines()]
    assert not missing, printed


def test_every_kind_of_injection_is_there():
    for form, _ in KINDS.values():
        assert f"`{form}`" in PAGE


def test_reasons_are_those_of_the_protocol():
    protocol = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
    for status in ("TIMED_OUT", "PEER_GONE", "EXPIRED", "NO_ROOM", "DISAGREE", "MISMATCH"):
        assert status in PAGE and status in protocol
