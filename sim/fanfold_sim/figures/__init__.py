"""What is measured: each module makes figures of one kind, ``fanfold bench`` prints them and writes ``bench.json``."""

from .figure import Figure, save

__all__ = ["Figure", "save"]
