"""What the host model believes about hardware and software, in nanoseconds: named, with units and sources.

Every figure is published or marked *assumed*; none was fitted to a result. A report prints which profile it used.
Sources, by the letter in the comments:

    A  public core-to-core latency data set: compare-and-swap on one line, half the round trip
    B  raw data of "Understanding PCIe performance for end host networking" (SIGCOMM 2018): PCIe Gen3 x8, medians
    C  constants of the UCX cost model: tuning values, not measurements
    D  trade press on low-latency Ethernet switches, and the speed of light in cable
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from ..topology import Distance

__all__ = ["PROFILES", "HostParameters", "NetworkParameters", "by_size", "with_settings"]

#: a latency that depends on size: (bytes, ns) with rising bytes
Curve = tuple[tuple[int, float], ...]


def by_size(curve: Curve, size: int) -> float:
    """The curve's value at ``size`` bytes, on straight lines between its points and past the last one."""
    if size <= curve[0][0]:
        return curve[0][1]
    above = next((at for at in range(1, len(curve)) if size <= curve[at][0]), len(curve) - 1)
    (low, at_low), (high, at_high) = curve[above - 1 : above + 1]
    return at_low + (at_high - at_low) * (size - low) / (high - low)


@dataclass(frozen=True, kw_only=True)
class HostParameters:
    """One node: its cores, its memory, the bus to its NIC. All ``_ns`` are nanoseconds."""

    profile: str
    #: a cache line from core to core, one way (A): inside a NUMA domain, across the socket, across sockets
    same_domain_ns: float
    same_package_ns: float
    other_package_ns: float
    #: each further line of a longer message; assumed: 64 bytes at 12.8 GB/s from cache to cache
    next_line_ns: float = 5.0
    #: software cost of one shared-memory message, at its sender and again at its receiver (C)
    message_ns: float = 10.0
    #: a leader's reduction of one member's data: per call; assumed
    reduce_call_ns: float = 10.0
    #: ... and per byte; assumed: 16 GB/s, a load-bound loop on one core
    reduce_byte_ns: float = 0.0625
    #: software cost to post one packet to the NIC (C: 40 to 75)
    post_ns: float = 75.0
    #: the doorbell: a posted write over the bus (B: between 66 and 146)
    doorbell_ns: float = 106.0
    #: the NIC fetches a packet's payload from the leader's cache (B)
    fetch_ns: Curve = ((8, 466.0), (64, 546.0), (256, 626.0), (1024, 853.0), (2048, 1133.0))
    #: ... and what it costs more when the line is in the other socket (B: 653 - 546)
    fetch_far_ns: float = 107.0
    #: the NIC writes a result to the leader's memory (B: write and read back, less the read; upper bounds)
    write_ns: Curve = ((8, 80.0), (64, 227.0), (256, 254.0), (1024, 413.0), (2048, 707.0))
    #: software cost until a leader that polls has seen a result; assumed equal to posting
    completion_ns: float = 75.0
    #: what the bus moves, each way; assumed: Gen4 x16
    bus_gbps: float = 200.0
    #: socket that the NIC hangs on
    nic_package: int = 0

    def __post_init__(self):
        _check(self)

    def hop_ns(self, distance: Distance, size: int) -> float:
        """A message of ``size`` bytes from cache to cache, software not included."""
        first = {
            Distance.SAME_DOMAIN: self.same_domain_ns,
            Distance.SAME_PACKAGE: self.same_package_ns,
            Distance.OTHER_PACKAGE: self.other_package_ns,
        }[distance]
        return first + self.next_line_ns * max(0, (size - 1) // 64)

    def reduce_ns(self, size: int) -> float:
        """A leader's work to take in and combine one message of ``size`` bytes."""
        return self.message_ns + self.reduce_call_ns + self.reduce_byte_ns * size

    def injection_ns(self, size: int, far: bool) -> float:
        """From the end of posting to the packet's first beat at the NIC, on an idle bus."""
        return self.doorbell_ns + by_size(self.fetch_ns, size) + (self.fetch_far_ns if far else 0.0)

    def delivery_ns(self, size: int) -> float:
        """From a result's last beat out of the NIC to the leader's memory, on an idle bus."""
        return by_size(self.write_ns, size)


@dataclass(frozen=True, kw_only=True)
class NetworkParameters:
    """Links and the switch between NICs, and the NICs' clock."""

    #: one link, one way: 2 m of cable at 5 ns/m (D) and PHY and MAC, assumed 100
    link_ns: float = 110.0
    #: what a link moves, each way
    link_gbps: float = 100.0
    #: a frame's way through the switch, cut-through (D)
    switch_ns: float = 250.0
    #: clock of every NIC: 64-byte beats at 195.3125 MHz are 100 Gb/s
    nic_mhz: float = 195.3125

    def __post_init__(self):
        _check(self)


def _check(parameters) -> None:
    """Numbers must be sane; raises ``ValueError`` naming parameter, value and what is allowed."""
    for field in fields(parameters):
        value = getattr(parameters, field.name)
        name = field.name
        if name.endswith(("_gbps", "_mhz")) and not 0 < value <= 1e6:
            raise ValueError(f"{name} is {value:g}: it must be more than 0 and at most 1e6")
        if name == "link_ns" and not 1 <= value <= 1e9:
            raise ValueError(f"{name} is {value:g}: it must be from 1 to 1e9 ns")
        if name.endswith("_ns") and isinstance(value, float | int) and not 0 <= value <= 1e9:
            raise ValueError(f"{name} is {value:g}: it must be from 0 to 1e9 ns")


#: hosts by name
PROFILES = {
    profile.profile: profile
    for profile in (
        # A, one socket of a Kunpeng 920-6426 measured; the other socket was not: assumed, a guess between 150 and 270
        HostParameters(profile="kunpeng920", same_domain_ns=35.7, same_package_ns=80.5, other_package_ns=200.0),
        # A; one die a socket, so both distances inside a socket are the same
        HostParameters(profile="xeon-8375c", same_domain_ns=51.0, same_package_ns=51.0, other_package_ns=108.0),
        # A; 141 is between dies of one socket, which most pairs of its cores are
        HostParameters(profile="epyc-7742", same_domain_ns=141.0, same_package_ns=141.0, other_package_ns=267.0),
    )
}


def with_settings(parameters, settings: Mapping[str, float]):
    """``parameters`` with single numbers replaced; names that it does not have are left to others.

    Raises ``ValueError`` for a value that is out of bounds.
    """
    own = {field.name for field in fields(parameters) if isinstance(getattr(parameters, field.name), float | int)}
    chosen = {name: value for name, value in settings.items() if name in own}
    return replace(parameters, **chosen) if chosen else parameters
