"""A short life of one communicator, with everything in it that a waveform should show: what happens, and where to look.

Two leaders register, a regular frame passes, the leaders' vectors are added, a stranger is refused, the communicator is
freed, and a counter is read.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fanfold.codes import DataType, Operator, Port, Status
from fanfold.config import PRESETS
from fanfold.control.description import by_name, counter
from fanfold.control.events import refused

from .frames import Address
from .leader import Leader
from .nic import Departure, Nic
from .simulators.amaranth import AmaranthNic
from .simulators.base import RegisterAccess
from .waveforms import CYCLE_FS, Changes, Finder, Marker, read_header, write_save

__all__ = ["CONFIG", "Moment", "StoryError", "play", "tell"]

CONFIG = PRESETS["tiny"]
COMM_ID, KEY = 7, 0xC0FFEE
CONTEXT = COMM_ID % CONFIG.contexts
VECTORS = ((1.0, 2.0, 3.0, 4.0), (0.5, 0.5, 0.5, 0.5))
SUM = tuple(map(sum, zip(*VECTORS, strict=True)))
REGULAR = bytes(range(64, 124))
#: cycles between the parts of the story, and those that a part may take
_PAUSE, _LIMIT = 24, 400


class _NicWithRegisters(Nic, RegisterAccess, Protocol):
    """What the story needs of a NIC: the hardware, in any simulator."""


class StoryError(Exception):
    """The hardware did not do what the story says."""


@dataclass(frozen=True)
class Sight:
    """Something that shows in a part of the story: the first cycle in which ``signal`` of a module is ``value``.

    ``look`` says where a reader of the waveform finds it: the room, and the signals by their labels.
    """

    part: str
    scope: tuple[str, ...]
    signal: str
    value: int | str
    text: str
    look: str


@dataclass(frozen=True)
class Moment:
    """A sight, and the cycle in which it is to be seen."""

    cycle: int
    text: str
    look: str


def _sight(part: str, module: str, signal: str, value: int | str, text: str, look: str) -> Sight:
    return Sight(part, tuple(module.split(".")) if module else (), signal, value, text, look)


_INGRESS, _EGRESS, _STATE = "engine.host_ingress", "engine.host_egress", f"state_{CONTEXT}"

# fmt: off
SIGHTS = (
    _sight("registration", _INGRESS, "i__valid", 1,
        "leader 0's registration arrives", "host ingress: i"),
    _sight("registration", "engine.registry.states", _STATE, "ENROLLING",
        "it opens the context", f"registry: enrolment_state, {_STATE}"),
    _sight("registration", "engine.registry.states", _STATE, "OPEN",
        "leader 1 is in too: the context is open", f"registry: joined, {_STATE}, announcements"),
    _sight("registration", _EGRESS, "o__valid", 1,
        "both hear that they are 48 ranks", "host egress: copies, o"),
    _sight("regular frame", _INGRESS, "i__valid", 1,
        "a regular frame arrives", "host ingress: i, events regular"),
    _sight("regular frame", "engine.net_egress", "o__valid", 1,
        "it leaves as it came", "net egress: regular, o"),
    _sight("all-reduce", _INGRESS, "head__valid", 1,
        "leader 0's vector: a head and two beats", "host ingress: head, payload"),
    _sight("all-reduce", "engine.fold", "i__valid", 1,
        "it is kept at the tree's first level", "fold: i operator, type, leaf, keep, data"),
    _sight("all-reduce", "engine.fold", "i__payload.combine", 1,
        "leader 1's vector meets it there", "fold: i leaf, combine, data"),
    _sight("all-reduce", "engine.fold", "o__valid", 1,
        "the sum leaves the fold", "fold: o data; results: completed"),
    _sight("all-reduce", _EGRESS, "o__valid", 1,
        "a copy leaves for each leader", "delivery: host_copies; host egress: o"),
    _sight("stranger", _INGRESS, "head__valid", 1,
        "a stranger sends as leader 0", "host ingress: head source, remote ip"),
    _sight("stranger", "engine.admission", "events.refused_wrong_source", 1,
        "refused, no state changes", "admission: cause, events refused_wrong_source"),
    _sight("deregistration", _INGRESS, "head__valid", 1,
        "the leaders deregister", "host ingress: head"),
    _sight("deregistration", "engine.registry.states", _STATE, "FREE",
        "the last copy has left: the context is free", f"egresses: copies closing, closed; registry: {_STATE}"),
    _sight("counter", "", "s_axil_rvalid", 1,
        "the counter of strangers reads 1", "edge: s_axil_rvalid, s_axil_rdata"),
)
# fmt: on


class _Stage:
    """A NIC and how far its story is."""

    def __init__(self, nic: Nic):
        self.nic = nic
        #: first cycles of the parts
        self.begins: dict[str, int] = {}

    def begin(self, part: str) -> None:
        self.nic.run(self.nic.cycle + _PAUSE)
        self.begins[part] = self.nic.cycle

    def offer(self, frame: bytes, queue: int) -> None:
        self.nic.offer(Port.HOST, frame, cycle=self.nic.cycle, queue=queue)

    def wait(self, frames: int) -> list[Departure]:
        """Runs until so many frames have left."""
        left: list[Departure] = []
        end = self.nic.cycle + _LIMIT
        while len(left) < frames and self.nic.cycle < end:
            left += self.nic.run(self.nic.cycle + 1)
        _expect(len(left) == frames, f"{len(left)} frames left in {_LIMIT} cycles, not {frames}")
        return left


def tell(waves: Path) -> list[Moment]:
    """Plays the story, writes the waveform to ``waves`` and a save file beside it; its moments, in order.

    Raises ``StoryError`` when the hardware does something else.
    """
    nic = AmaranthNic(CONFIG, waves=waves)
    try:
        begins = play(nic)
    finally:
        nic.close()
    moments = _find(waves, begins, nic.cycle)
    write_save(waves, [Marker(each.cycle, each.text) for each in moments], cycles=nic.cycle)
    return moments


def _expect(condition: bool, otherwise: str) -> None:
    if not condition:
        raise StoryError(otherwise)


def play(nic: _NicWithRegisters) -> dict[str, int]:
    """Plays the story on a NIC of configuration ``CONFIG``, fresh from reset; the first cycles of its parts.

    Raises ``StoryError`` when the NIC does something else.
    """
    stage = _Stage(nic)
    nic_address = Address(mac=0x02_00_00_00_00_01, ip=0x0A_00_00_01, port=CONFIG.udp_port)
    leaders = [Leader(_address(index), nic_address, COMM_ID, KEY, index) for index in range(2)]

    stage.begin("registration")
    for leader in leaders:
        stage.offer(leader.register(ranks=24, leaders=2, window=CONFIG.window), leader.address.queue)
    _hear(stage, leaders)
    _expect(all(leader.ranks == 48 for leader in leaders), "the leaders heard another size than 24 + 24 ranks")

    stage.begin("regular frame")
    stage.offer(REGULAR, 5)
    left = stage.wait(1)[0]
    _expect((left.port, left.frame, left.queue) == (Port.NET, REGULAR, 5), "the regular frame did not pass unchanged")

    stage.begin("all-reduce")
    for leader, vector in zip(leaders, VECTORS, strict=True):
        frame = leader.allreduce(struct.pack("<4f", *vector), Operator.SUM, DataType.FLOAT32)
        stage.offer(frame, leader.address.queue)
    for payload in _hear(stage, leaders):
        _expect(struct.unpack("<4f", payload) == SUM, "the sum is wrong")

    stage.begin("stranger")
    stranger = Leader(_address(3), nic_address, COMM_ID, KEY, 0, coll_tag=2)
    stage.offer(stranger.allreduce(bytes(16), Operator.SUM, DataType.FLOAT32), stranger.address.queue)
    _expect(not nic.run(nic.cycle + 100), "the stranger got an answer")

    stage.begin("deregistration")
    for leader in leaders:
        stage.offer(leader.deregister(), leader.address.queue)
    _hear(stage, leaders)

    stage.begin("counter")
    registers = by_name(CONFIG)
    nic.write_register(registers["snapshot"].address, 1)
    count = nic.read_register(registers[counter(refused(Status.WRONG_SOURCE))].address)
    _expect(count == 1, f"{count} packets were refused as of a wrong source, not 1")
    nic.run(nic.cycle + _PAUSE)
    return stage.begins


def _address(index: int) -> Address:
    return Address(mac=0x02_00_00_00_01_00 + index, ip=0x0A_00_01_00 + index, port=50000 + index, queue=index)


def _hear(stage: _Stage, leaders: list[Leader]) -> list[bytes]:
    """What the NIC answers to each leader; all must be well."""
    payloads = []
    for leader, departure in zip(leaders, stage.wait(len(leaders)), strict=True):
        answer = leader.hear(departure.frame)
        if answer is None or not answer.ok:
            raise StoryError(f"leader {leader.index} was not answered well")
        payloads.append(answer.payload)
    return payloads


def _find(waves: Path, begins: dict[str, int], end: int) -> list[Moment]:
    """When each sight is to be seen, from the waveform itself."""
    finder = Finder(read_header(waves)[1])
    found = {sight: finder.find(sight.scope, sight.signal) for sight in SIGHTS}
    variables = {sight: variable for sight, variable in found.items() if variable is not None}
    changes = Changes(waves, variables.values(), CYCLE_FS)
    moments = []
    for sight in SIGHTS:
        try:
            cycle = changes.first(variables[sight], sight.value, begins[sight.part], end)
        except LookupError as error:
            raise StoryError(f"it does not show that {sight.text}: {error}") from None
        moments.append(Moment(cycle, sight.text, sight.look))
    return moments
