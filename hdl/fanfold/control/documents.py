"""The register map for people and for C: a header, and pages to read in a browser.

Both are made from the same SystemRDL as the hardware, by PeakRDL's exporters. The same configuration and name give the
same bytes.
"""

import shutil
from pathlib import Path

from peakrdl_cheader.c_standards import CStandard
from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_html import HTMLExporter

from ..config import Config
from .description import compiled

__all__ = ["write_c_header", "write_pages"]

#: the exporter brings each font in every format there has been; browsers take this one
_FONT = ".woff2"
#: starts browsers on Windows without their guard against local files
_LAUNCHERS = "launcher-*.bat"


def write_c_header(config: Config, path: Path, name: str) -> Path:
    """Writes the C header of the instance called ``name``: the structure ``name_t``, and masks and positions of every
    field, ``NAME__REGISTER__FIELD_bm`` and so on. Returns ``path``."""
    CHeaderExporter().export(compiled(config, name), str(path), std=CStandard.gnu11, reuse_typedefs=False)
    return path


def write_pages(config: Config, directory: Path, name: str) -> Path:
    """Writes the pages of the instance called ``name`` to ``directory``, which is made anew; returns the first page.

    A page fetches the others, so a browser wants them from a web server.
    """
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    # the build time is in no page, or no two builds were the same
    exporter = HTMLExporter(generate_source_links=False, user_context={"build_ts": 0})
    exporter.export(compiled(config, name), str(directory), title=f"Registers of {name}", footer="")
    for path in [*directory.glob("fonts/**/*"), *directory.glob(_LAUNCHERS)]:
        if path.is_file() and path.suffix != _FONT:
            path.unlink()
    shutil.rmtree(directory / ".launcher_data")
    return directory / "index.html"
