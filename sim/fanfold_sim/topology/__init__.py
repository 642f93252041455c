"""Machines (packages, NUMA domains, cores) from presets or ``lstopo`` files, and groups of their cores."""

from .grouping import GROUPINGS, CoreGroup, group_cores
from .hwloc import read_hwloc
from .machine import Core, Distance, Machine, TopologyError
from .presets import MACHINES, load_machine

__all__ = [
    "GROUPINGS",
    "MACHINES",
    "Core",
    "CoreGroup",
    "Distance",
    "Machine",
    "TopologyError",
    "group_cores",
    "load_machine",
    "read_hwloc",
]
