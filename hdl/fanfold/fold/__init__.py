"""The fold: lanes of arithmetic in a tree of stages."""

from .spine import Spine, spine_latency

__all__ = ["Spine", "spine_latency"]
