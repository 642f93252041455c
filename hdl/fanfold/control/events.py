"""What can be counted: one name an event, the same in the hardware, the register map and the reference model.

An event is a signal that is high for one cycle each time it happens.
"""

from amaranth.lib import data

from ..codes import Status

__all__ = ["EVENTS", "events_layout", "refused"]


def refused(status: Status) -> str:
    """Name of the event that a packet was refused for this cause."""
    return f"refused_{status.name.lower()}"


#: event names with what they mean
EVENTS: dict[str, str] = {
    **{
        f"{port}_{name}": meaning
        for port in ("host", "net")
        for name, meaning in {
            "regular": f"regular frames that came in at the {port} port",
            "tagged": f"tagged packets that came in at the {port} port, damaged ones included",
            "damaged": f"tagged packets at the {port} port that were dropped: bad mark, cut short, wrong UDP checksum",
            "unmatched": f"frames at the {port} port with a collective header, but no open context: regular traffic",
            "copies": f"packets that the NIC built and sent at the {port} port",
        }.items()
    },
    **{refused(status): f"packets refused with {status.name}" for status in Status if status.value},
    "contributions": "contributions accepted",
    "failed_segments": "segments that completed here with a status other than 0",
    "folded": "segments that completed here: all contributors are in",
    "results": "results accepted from the parent",
    "opened": "contexts that became open",
    "closed": "contexts that became free again",
    "answered": "answers to packets that came again",
    "unanswered": "answers that found no room and were dropped",
    "aborted": "segments and registrations ended because contributors did not come in time",
    "repeats": "packets sent to the parent again",
    "given_up": "segments and registrations ended because the parent did not answer",
    "net_dropped": "frames from the network that found no room in the receive buffer and were dropped whole",
    "net_cut": "frames from the network, longer than frame_bytes, that were cut and marked bad for want of room",
    "net_overrun": "tagged packets from the network that found no room to wait for the fold and were dropped whole",
}


def events_layout() -> data.StructLayout:
    """One bit an event."""
    return data.StructLayout(dict.fromkeys(EVENTS, 1))
