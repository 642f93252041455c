"""The register map for C and for browsers: a compiler finds every register where the hardware has it, pages say all."""

import html
import re
import shutil
import subprocess

import pytest

from fanfold.config import PRESETS
from fanfold.control import describe
from fanfold.control.documents import write_c_header, write_pages

TINY = PRESETS["tiny"]


def in_c(name: str) -> str:
    """A register's name as a member of the structure: arrays and groups are such in C."""
    name = re.sub(r"^(count|context|contributor|event)_", r"\1.", name)
    return re.sub(r"_(\d+)$", r"[\1]", name)


def in_macros(name: str) -> str:
    """A register's name in the names of its fields' masks."""
    return re.sub(r"\[\d+\]$", "X", in_c(name)).replace(".", "__")


@pytest.fixture
def compiler():
    found = shutil.which("cc")
    assert found, "no C compiler: install one that is called cc"
    return found


def checked(compiler, path):
    """What the compiler says of a file, all warnings on."""
    command = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", path]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr


def test_a_compiler_finds_the_registers_where_they_are(tmp_path, compiler):
    write_c_header(TINY, tmp_path / "nic.h", "nic")
    lines = ['#include <stddef.h>\n#include "nic.h"']
    for register in describe(TINY):
        lines.append(
            f'_Static_assert(offsetof(nic_t, {in_c(register.name)}) == {register.address}, "{register.name}");'
        )
        for field in register.fields:
            prefix = f"NIC__{in_macros(register.name)}__{field.name}".upper()
            mask = ((1 << field.width) - 1) << field.low
            lines.append(f'_Static_assert({prefix}_bm == {mask:#x}u && {prefix}_bp == {field.low}, "{prefix}");')
    source = tmp_path / "check.c"
    source.write_text("\n".join(lines) + "\n")
    assert checked(compiler, source) == ""
    source.write_text(source.read_text().replace(" == 64,", " == 68,"))
    assert "scratch" in checked(compiler, source), "the check would find a register elsewhere"


def test_the_pages_say_what_every_register_means(tmp_path):
    old = tmp_path / "pages" / "old.html"
    old.parent.mkdir()
    old.touch()
    first = write_pages(TINY, tmp_path / "pages", "nic")
    assert "<!DOCTYPE html>" in first.read_text() and "Registers of nic" in first.read_text()
    assert not old.exists()
    text = html.unescape(re.sub(r"<[^>]+>", "", "".join(p.read_text() for p in first.parent.glob("content/*.html"))))
    for register in describe(TINY):
        if not register.name.startswith("count_"):
            assert register.description in text
        assert all(field.description in text for field in register.fields)
    assert sum(path.stat().st_size for path in first.parent.rglob("*") if path.is_file()) < 2_000_000


def test_written_twice_is_the_same(tmp_path):
    for folder in ("one", "two"):
        write_pages(TINY, tmp_path / folder, "nic")
        write_c_header(TINY, tmp_path / folder / "nic.h", "nic")
    one, two = ({path.relative_to(at): path for path in at.rglob("*") if path.is_file()} for at in tmp_path.iterdir())
    assert one.keys() == two.keys()
    assert all(path.read_bytes() == two[name].read_bytes() for name, path in one.items())
