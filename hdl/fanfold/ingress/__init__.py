"""Frames in: tagged or regular. Files in order of flow: parse, align, ip_sum, verdict, payload, outlet, ingress."""

from .ingress import Ingress

__all__ = ["Ingress"]
