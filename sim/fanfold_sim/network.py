"""Links and a switch between the NICs, at the grain of frames. Times are whole picoseconds.

A frame is known by its last bit: that is when a switch can no longer fall behind, and when a MAC that checks frames
hands it on. A switch that cuts through is modelled by the time it adds, not by storing the frame once more.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["WIRE_OVERHEAD_BYTES", "Channel", "Switch", "Traffic", "picoseconds"]

#: what a frame takes on the wire beside its bytes: preamble and start (8), frame check (4), gap (12)
WIRE_OVERHEAD_BYTES = 24
#: the shortest frame on the wire without its frame check; MACs pad to it
SHORTEST_FRAME = 60


def picoseconds(nanoseconds: float) -> int:
    """Nanoseconds as whole picoseconds."""
    return round(1000 * nanoseconds)


@dataclass
class Traffic:
    """What a channel carried."""

    packets: int = 0
    bytes: int = 0


@dataclass
class Channel:
    """One direction of a link or a bus: frames one after another at ``gbps``, each ``latency`` ps on its way.

    Frames must be sent in order of time. With ``overhead`` every frame takes so many bytes more, and with ``shortest``
    at least so many.
    """

    name: str
    gbps: float
    latency: int
    overhead: int = WIRE_OVERHEAD_BYTES
    shortest: int = SHORTEST_FRAME
    traffic: Traffic = field(default_factory=Traffic)
    _free: int = 0

    def duration(self, size: int) -> int:
        """How long a frame of ``size`` bytes occupies the channel."""
        return round(8000 * (max(size, self.shortest) + self.overhead) / self.gbps)

    def send(self, size: int, start: int, ready: int | None = None) -> int:
        """Sends a frame from ``start`` on, whose last byte is there at ``ready``; when its last byte arrives."""
        begin = max(start, self._free)
        end = max(begin + self.duration(size), start if ready is None else ready)
        self._free = end
        self.traffic.packets += 1
        self.traffic.bytes += size
        return end + self.latency


class Switch:
    """Forwards frames by destination MAC, in order of arrival at each output.

    ``deliver(port, frame, time, token)`` is called for each frame with the time at which its last byte is at the far
    end of the output's link; ``token`` is what came with the frame. Frames for addresses that no port has are counted
    as ``unknown`` and dropped.
    """

    def __init__(self, latency: int, deliver: Callable[[int, bytes, int, Any], None]):
        self._latency = latency
        self._deliver = deliver
        self._outputs: list[Channel] = []
        self._homes: dict[bytes, int] = {}
        self.unknown = 0

    def attach(self, mac: int, output: Channel) -> int:
        """Connects a station; the number of its port. Raises ``ValueError`` for an address that is taken."""
        address = mac.to_bytes(6, "big")
        if address in self._homes:
            raise ValueError(f"MAC address {address.hex(':')} is attached twice")
        self._outputs.append(output)
        self._homes[address] = len(self._outputs) - 1
        return self._homes[address]

    def forward(self, time: int, frame: bytes, token: Any = None) -> None:
        """A frame whose last byte is at the switch at ``time``; calls must be in order of time."""
        port = self._homes.get(frame[:6])
        if port is None:
            self.unknown += 1
            return
        output = self._outputs[port]
        # cut-through: the output may have begun while the frame still came in, so its own duration is not added again
        ready = time + self._latency
        arrival = output.send(len(frame), ready - output.duration(len(frame)), ready)
        self._deliver(port, frame, arrival, token)
