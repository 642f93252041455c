"""Waveforms that read like the documentation: what is in one, and a GTKWave save file that shows it room by room."""

from .changes import Changes
from .find import Finder
from .header import Variable, read_header
from .rooms import ROOMS, Look, Room
from .save import CYCLE_FS, Marker, save_path, write_save

__all__ = [
    "CYCLE_FS",
    "ROOMS",
    "Changes",
    "Finder",
    "Look",
    "Marker",
    "Room",
    "Variable",
    "read_header",
    "save_path",
    "write_save",
]
