"""Machines from ``lstopo machine.xml``: files of hwloc 1.x, 2.x and 3.x, read with the standard library.

The versions nest objects differently (a NUMA domain holds its cores in 1.x and stands beside them later; sockets were
renamed to packages), but in all of them every object has the set of its processing units: who belongs where is decided
by these sets alone.
"""

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from .machine import Core, Machine, TopologyError

__all__ = ["parse_cpuset", "read_hwloc"]

#: names of object types that changed between versions
_RENAMED = {"Socket": "Package", "Node": "NUMANode"}
#: a set: groups of up to 32 bits, an empty one is 0
_CPUSET = re.compile(r"(0x[0-9a-fA-F]{1,8})?(,(0x[0-9a-fA-F]{1,8})?)*")
#: no machine has more processing units; guards against absurd sets
_MOST_UNITS = 1 << 16


def parse_cpuset(text: str) -> int:
    """The set as a number with a bit a processing unit; hwloc writes the highest 32 bits first."""
    if not text or not _CPUSET.fullmatch(text):
        raise ValueError(f"cpuset {text[:60]!r} is no list of 32-bit hexadecimal groups")
    words = [int(word, 16) if word else 0 for word in text.split(",")]
    if 32 * len(words) > _MOST_UNITS:
        raise ValueError(f"cpuset of {32 * len(words)} bits: at most {_MOST_UNITS}")
    value = 0
    for word in words:
        value = value << 32 | word
    return value


def read_hwloc(path: Path) -> Machine:
    """The machine in an ``lstopo`` XML file.

    Domains are the NUMA nodes that have cores; where there is one or none, the dies of the packages; where there are
    no dies either, the packages. Raises ``TopologyError`` for a file that is no such XML.
    """

    def wrong(what: str) -> TopologyError:
        return TopologyError(f"{path}: {what}")

    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise wrong(f"no XML ({error}); expected a file written by 'lstopo machine.xml'") from None
    except (OSError, ValueError, LookupError) as error:
        raise wrong(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if root.tag not in ("topology", "root"):
        raise wrong(f"its root element is <{root.tag}>: a file of lstopo has <topology>")
    try:
        sets = _sets_by_type(root)
    except ValueError as error:
        raise wrong(str(error)) from None
    cores = sets.get("Core") or sets.get("PU")
    if not cores:
        raise wrong("it has no object of type Core or PU with a cpuset")
    whole = 0
    for core in cores:
        whole |= core
    packages = _with_cores(sets.get("Package", []), cores) or [whole]
    kind, domains = "Package", packages
    for name, label in (("NUMANode", "NUMA"), ("Die", "Die")):
        found = _with_cores(sets.get(name, []), cores)
        if len(found) > 1:
            kind, domains = label, found
            break
    return _machine(path.stem, kind, cores, packages, domains, wrong)


def _sets_by_type(root: ElementTree.Element) -> dict[str, list[int]]:
    """The cpusets of all objects, by type, in the file's order; those without processing units left out."""
    sets: dict[str, list[int]] = {}
    for element in root.iter("object"):
        kind = element.get("type", "")
        cpuset = element.get("cpuset")
        if cpuset is None:
            continue
        units = parse_cpuset(cpuset)
        if units:
            sets.setdefault(_RENAMED.get(kind, kind), []).append(units)
    return sets


def _with_cores(sets: list[int], cores: list[int]) -> list[int]:
    """The different sets that have a core, in order.

    A memory-only NUMA node has none; two kinds of memory of the same cores count once.
    """
    return [one for one in dict.fromkeys(sets) if any(one & core for core in cores)]


def _machine(
    name: str,
    kind: str,
    cores: list[int],
    packages: list[int],
    domains: list[int],
    wrong: Callable[[str], TopologyError],
) -> Machine:
    """The machine with each core at its place.

    The smallest set counts where domains overlap (memory of a whole package beside that of its parts); cores without
    a domain make up one of their own in their package; a domain that spans packages is cut at their borders.
    """
    placed: list[Core] = []
    numbers: dict[tuple[int, int], int] = {}
    seen = 0
    for index, units in enumerate(cores):
        if units & seen:
            raise wrong(f"core {index} shares processing units with another core")
        seen |= units
        homes = [at for at, one in enumerate(packages) if one & units]
        if len(homes) != 1:
            raise wrong(f"core {index} lies in {len(homes)} packages: it must be in exactly one")
        around = [(one.bit_count(), at) for at, one in enumerate(domains) if one & units]
        home = (homes[0], min(around)[1] if around else -1)
        placed.append(Core(index, homes[0], numbers.setdefault(home, len(numbers))))
    return Machine(name, tuple(placed), kind)
