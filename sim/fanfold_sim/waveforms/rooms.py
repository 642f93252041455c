"""What of each room is worth looking at, in order of flow: the groups of the save file, as data.

Names are the hardware's: of a room's ports and of a few signals inside. ``find`` looks them up in a waveform.
"""

import re
from dataclasses import dataclass

from fanfold.admission.account import DECISIONS
from fanfold.admission.judge import verdict_layout
from fanfold.codes import Status

__all__ = ["ROOMS", "Look", "Room"]


@dataclass(frozen=True)
class Look:
    """Signals that belong together, under a caption: names relative to the room, and how each is labelled."""

    caption: str
    signals: tuple[tuple[str, str], ...]
    #: the submodule of the room that has them
    within: tuple[str, ...] = ()
    #: names end in a number from 0 on, as many as there are
    numbered: bool = False


@dataclass(frozen=True)
class Room:
    """A group of the save file: its title, the module, and what to look at."""

    title: str
    scope: tuple[str, ...]
    looks: tuple[Look, ...]


def _stream(port: str, *fields: str, caption: str, ready: bool = True, within: tuple[str, ...] = ()) -> Look:
    """A stream's handshake and fields; ``ready`` is False for one that is always taken."""
    names = [f"{port}__valid", *([f"{port}__ready"] if ready else [])]
    names += [f"{port}__payload.{field}".rstrip(".") for field in fields]
    return _plain(*names, caption=caption, within=within)


def _plain(*names: str, caption: str, within: tuple[str, ...] = (), numbered: bool = False) -> Look:
    return Look(caption, tuple((name, _label(name)) for name in names), within, numbered)


_STRUCTURES = {"payload", "segment", "head", "header", "record", "packet"}


def _label(name: str) -> str:
    """A name for people, without the structures around a field that say nothing. GTKWave cuts names at dots."""
    words = re.split(r"__|\.", name)
    return " ".join([words[0], *(word for word in words[1:] if word not in _STRUCTURES)])


def _axi_stream(prefix: str, queue: str, *, caption: str) -> Look:
    fields = ("tvalid", "tready", "tlast", "tkeep", "tdata", queue, "tuser")
    return _plain(*(f"{prefix}_{field}" for field in fields), caption=caption)


def _under(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}.{name}" for name in names)


_FRAME = ("last", "count", "data", "queue", "bad")
_PAYLOAD = ("last", "data", "bad")
#: what says most about a packet, first
_HEADER = _under(
    "header", "collective", "flags", "opt_code", "data_type", "status",
    "comm_id", "coll_tag", "source", "length", "coll_tag_high32",
)  # fmt: skip
_AXIL = (
    "arvalid", "arready", "araddr", "rvalid", "rready", "rdata", "rresp",
    "awvalid", "awready", "awaddr", "wvalid", "wready", "wdata", "bvalid", "bready", "bresp",
)  # fmt: skip
_REFUSALS = tuple(f"events.refused_{status.name.lower()}" for status in Status if status is not Status.OK)


def _ingress(side: str) -> Room:
    return Room(
        f"{side} ingress",
        ("engine", f"{side}_ingress"),
        (
            _stream("i", *_FRAME, caption="frames as they arrive"),
            _stream("head", *_HEADER, "remote.ip", "remote.port", "remote.queue", caption="one head a tagged packet"),
            _stream("payload", *_PAYLOAD, caption="its payload, byte 0 first"),
            _stream("regular", *_FRAME, caption="regular frames, as they came"),
            _plain(
                "lookup__request__valid",
                "lookup__request__payload.names.comm_id",
                "lookup__request__payload.names.key",
                "lookup__response__payload.open",
                "lookup__response__payload.here",
                caption="is there an open context of this communicator, and was the frame sent to its address?",
            ),
            _plain(*_under("events", "regular", "tagged", "damaged", "unmatched"), caption="counted"),
        ),
    )


def _egress(side: str) -> Room:
    return Room(
        f"{side} egress",
        ("engine", f"{side}_egress"),
        (
            _stream("o", *_FRAME, caption="frames as they leave"),
            _stream("copies", *_under("segment", *_HEADER), "silent", "closing", caption="copies to build"),
            _stream("refusals", *_under("segment", *_HEADER), caption="answers to refused registrations"),
            _stream("regular", *_FRAME, caption="regular frames of the other port"),
            _plain(
                "store__enable",
                "store__address.context",
                "store__address.slot",
                "store__address.beat",
                "store__data",
                caption="payload from the result store",
            ),
            _stream("closed", "", caption="the context of the last copy of a deregistration", ready=False),
        ),
    )


# fmt: off
#: the groups, in order of flow
ROOMS = (
    _ingress("host"),
    _ingress("net"),
    Room(
        "admission",
        ("engine", "admission"),
        (
            _stream("o", "first", "last", "bad", "port", "origin", *_under("head", *_HEADER), "data",
                caption="packets of both ports, merged", ready=False, within=("merge",)),
            _stream("o", "refusal", "failing", "too_long", "down", "origin", "context",
                caption="screened: what can be said without the slot", ready=False, within=("screen",)),
            _plain(*_under("verdict", *verdict_layout().members), caption="decided", within=("decide",)),
            _plain("cause", caption="why it is refused, or OK", within=("decide", "account")),
            _plain("slots__find", *_under("slots__found", "turn", "begun", "waiting", "present", "missing", "status"),
                caption="the record of its slot"),
            _stream("slots__commit", "slot", *_under("record", "turn", "begun", "waiting", "present", "missing",
                "status"), caption="the record as it will be", ready=False),
            _plain(*(f"events.{name}" for name in DECISIONS), *_REFUSALS, caption="counted"),
        ),
    ),
    Room(
        "registry",
        ("engine", "registry"),
        (
            _plain("enrolment_state", "cause", "packet.head.header.source", "joined.count", "joined.ranks", "total",
                "complete", caption="enrolment: what it does, and why it refuses", within=("enrolment",)),
            _plain("state", caption="the state of each context", within=("states",), numbered=True),
            _plain("open_contexts", caption="open contexts, a bit each"),
            _stream("registrations", "first", "last", "port", *_under("head", *_HEADER), "data",
                caption="registration packets"),
            _stream("announcements", "first", "last", *_under("head", *_HEADER), "data",
                caption="what comes of them, on its way to the fold"),
            _stream("host_refusals", "segment.header.source", "segment.header.status", caption="refused, host port"),
            _stream("net_refusals", "segment.header.source", "segment.header.status", caption="refused, net port"),
            _stream("release", "", caption="a context freed through the registers"),
            _plain("deadlines_state", "due", "what", "context", "take", caption="what is due", within=("deadlines",)),
            _plain("timed", caption="the clock must run"),
            _plain("events.opened", "events.closed", "events.answered", "events.unanswered", "events.aborted",
                "events.repeats", "events.given_up", caption="counted"),
        ),
    ),
    Room(
        "fold",
        ("engine", "fold"),
        (
            _stream("i", "operator", "type", "leaf", "slot", "beat", "first", "last", "bad", "keep", "combine", "data",
                caption="contributions, with their plan", ready=False),
            _stream("o", "beat", "first", "last", "bad", "data", caption="results", ready=False),
        ),
    ),
    Room(
        "results",
        ("engine", "results"),
        (
            _stream("segments", "direction", *_HEADER, "context", "slot", caption="segments that will leave the fold",
                ready=False),
            _stream("completed", "direction", *_HEADER, "context", "slot", "leaders", "children",
                caption="segments whose result is stored"),
        ),
    ),
    Room(
        "delivery",
        ("engine", "delivery"),
        (
            _stream("host_copies", "segment.direction", *_under("segment", *_HEADER), "remote.ip", "remote.port",
                "remote.queue", "silent", "closing", caption="a copy to each leader"),
            _stream("net_copies", "segment.direction", *_under("segment", *_HEADER), "remote.ip", "remote.port",
                "silent", "closing", caption="to the parent, or to each child"),
            _plain("host_done", "net_done", caption="a result has all its copies, a bit a context"),
        ),
    ),
    _egress("host"),
    _egress("net"),
    Room(
        "edge",
        (),
        (
            _axi_stream("s_axis_host", "tid", caption="in from the cores"),
            _axi_stream("m_axis_host", "tdest", caption="out to the cores"),
            _axi_stream("s_axis_net", "tdest", caption="in from the wire"),
            _axi_stream("m_axis_net", "tid", caption="out to the wire"),
            _plain(*(f"s_axil_{name}" for name in _AXIL), caption="registers"),
        ),
    ),
)
# fmt: on
