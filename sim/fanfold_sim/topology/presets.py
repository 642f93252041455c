"""Machines with a name, and how a name or a file becomes a machine."""

from pathlib import Path

from .hwloc import read_hwloc
from .machine import Machine, TopologyError

__all__ = ["MACHINES", "load_machine"]

#: machines by name: packages, NUMA domains a package, cores a domain
MACHINES = {
    machine.name: machine
    for machine in (
        Machine.regular("kunpeng920-96", packages=2, domains=2, cores=24),
        Machine.regular("xeon-8375c", packages=2, domains=1, cores=32),
        Machine.regular("epyc-7742", packages=2, domains=1, cores=64),
    )
}


def load_machine(name: str) -> Machine:
    """The preset called ``name``, or the machine in the ``lstopo`` XML file at that path.

    Raises ``TopologyError``.
    """
    if name in MACHINES:
        return MACHINES[name]
    path = Path(name)
    if not path.is_file():
        raise TopologyError(f"{name}: no such file, and no preset (presets are {', '.join(MACHINES)})")
    return read_hwloc(path)
