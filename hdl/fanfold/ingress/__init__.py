"""Frames in: tagged or regular. Files in order of flow: parse, align, options, verdict, payload, outlet, ingress."""

from .ingress import Ingress

__all__ = ["Ingress"]
