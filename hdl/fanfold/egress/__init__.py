"""Frames out, in order of flow: ``headers``, ``build``, ``insert``; ``Egress`` connects them."""

from .egress import Egress

__all__ = ["Egress"]
