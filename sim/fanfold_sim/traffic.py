"""Random but lawful and unlawful traffic for one NIC, drawn from a seed: what the tests play to every maker alike.

A script fixes the order in which packets of both ports reach the fold (between bursts of different ports it leaves the
NIC time to be done), so that two makers that follow the protocol send the same packets in the same order.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.config import Config

from .frames import Address, Packet, build, record, total
from .leader import Leader
from .nic import Departure, Nic

__all__ = ["Arrival", "Outcome", "play", "script"]

#: lengths of regular frames around beat boundaries
_REGULAR = (14, 59, 60, 63, 64, 65, 128, 200, 590)
_TAGS = ((0x8100, 0x0064), (0x88A8, 0x2003))


@dataclass(frozen=True)
class Arrival:
    """A frame for a port, not before ``cycle``."""

    cycle: int
    port: Port
    frame: bytes
    queue: int = 0
    bad: bool = False


@dataclass
class Outcome:
    """What a NIC made of a script: frames by port, regular ones and its own apart, and its counters."""

    regular: dict[Port, list[tuple]]
    copies: dict[Port, list[tuple]]
    counters: dict[str, int]
    departures: list[Departure]


class _Writer:
    """Writes arrivals one after another and keeps the time."""

    def __init__(self, config: Config, choices: random.Random):
        self.config = config
        self.choices = choices
        self.arrivals: list[Arrival] = []
        self._cycle = 0
        self._port = Port.HOST
        # longer than the way through the fold and the copies of everything that a burst can complete
        self._pause = (
            400
            + 30 * config.levels
            + config.contributors * (2 * config.window) * ((128 + config.segment_bytes) // config.beat_bytes)
        )

    def put(self, port: Port, frame: bytes, queue: int = 0, bad: bool = False) -> None:
        """The next frame: right behind the one before at the same port, after a pause at the other."""
        if port is not self._port:
            self.pause()
        self._port = port
        self._cycle += self.choices.choice((0, 0, 0, 1, 7))
        self.arrivals.append(Arrival(self._cycle, port, frame, queue, bad))
        self._cycle += -(-len(frame) // self.config.beat_bytes)

    def pause(self) -> None:
        """Leaves the NIC time to be done with everything."""
        self._cycle += self._pause

    def regular(self) -> None:
        """Perhaps a frame that is none of the NIC's business."""
        while self.choices.random() < 0.2:
            body = self.choices.randbytes(self.choices.choice(_REGULAR))
            port = self._port  # at the other one it would cost a pause
            self.put(port, body, self._queue(), self.choices.random() < 0.2)

    def _queue(self) -> int:
        return self.choices.randrange(1 << self.config.queue_bits)


class _Communicator:
    """One communicator's contributors at the NIC, and its parent."""

    def __init__(self, writer: _Writer, comm_id: int, number: int):
        choices, config = writer.choices, writer.config
        self._writer, self._choices, self._config = writer, choices, config
        contributors = choices.randint(1, config.contributors)
        self._leaders = choices.randint(1, contributors)
        self._children = contributors - self._leaders
        self._window = config.window
        base = 0x0A000000 + (number << 12)
        nic = Address(mac=0x02_0000_000000 + base, ip=base, port=config.udp_port)
        self._parent = None
        if choices.random() < 0.5:
            tags = _TAGS[: choices.randint(0, 2)]
            self._parent = Address(mac=0x02_0000_100000 + base, ip=base + 1, port=config.udp_port + 1, tags=tags)
        self._members = []
        tag = choices.choice((0, 1000, 0xFFFFFFFE))
        for index in range(contributors):
            leader = index < self._leaders
            address = Address(
                mac=0x02_0000_200000 + base + index,
                ip=base + 0x100 + index,
                port=6000 + index if leader else config.udp_port,
                tags=_TAGS[: choices.randint(0, 2)],
                queue=choices.randrange(1 << config.queue_bits) if leader else 0,
            )
            key = 0xC0DE0000 + number
            self._members.append(Leader(address, nic, comm_id, key, index, coll_tag=tag))
        self._nic = nic
        self._index = choices.randrange(64)  # of the NIC, at its parent

    def _port(self, member: Leader) -> Port:
        return Port.HOST if member.index < self._leaders else Port.NET

    def _send(self, member: Leader, frame: bytes, bad: bool = False) -> None:
        self._writer.put(self._port(member), frame, member.address.queue, bad)

    def _record(self, member: Leader, **changes) -> Packet:
        fields = {
            "ranks": self._choices.randint(1, 50),
            "node": 7,
            "leaders": self._leaders,
            "children": self._children,
            "window": self._window,
            "parent": self._parent,
            "parent_index": self._index,
        }
        return member.packet(
            collective=Collective.REGISTER,
            opt_code=Operator.SUM,
            data_type=DataType.UINT32,
            payload=record(**{**fields, **changes}),
        )

    def register(self) -> None:
        """Everyone enrols, in any order, among attempts that must be refused."""
        order = list(self._members)
        self._choices.shuffle(order)
        for member in order:
            good = self._record(member)
            for attempt in self._bad_registrations(member, good):
                if self._choices.random() < 0.15:
                    self._send(member, build(attempt))
                    self._writer.pause()
            self._writer.regular()
            self._send(member, build(good))
            self._writer.pause()
            if self._choices.random() < 0.2 and member is not order[-1]:
                self._send(member, build(good))  # once more
                self._writer.pause()
        for member in self._members:
            member.coll_tag = (member.coll_tag + 1) % (1 << 32)
        if self._parent:
            answer = self._answer(self._members[0], self._members[0].coll_tag - 1, Collective.REGISTER, total(999))
            self._down(replace(answer, coll_tag=(answer.coll_tag + 5) % (1 << 32)), 0.3)
            self._down(replace(answer, sender=replace(answer.sender, ip=1)), 0.3)
            self._down(answer)
            self._down(answer, 0.3)
            self._writer.pause()

    def _bad_registrations(self, member: Leader, good: Packet) -> Iterator[Packet]:
        yield replace(good, payload=good.payload[:-2])
        yield self._record(member, window=self._config.window + 1)
        yield self._record(member, leaders=self._config.contributors + 1)
        yield replace(good, source=self._config.contributors)
        yield replace(good, comm_id=good.comm_id + self._config.contexts)  # no room, once another is in
        yield replace(good, sender=replace(good.sender, port=9))

    def _answer(self, member: Leader, tag: int, collective: Collective, payload: bytes = b"", **fields) -> Packet:
        """What the parent sends down for segment ``tag``."""
        assert self._parent
        return Packet(
            sender=self._parent,
            receiver=self._nic,
            coll_tag_high32=member.key,
            coll_tag=tag % (1 << 32),
            comm_id=member.comm_id,
            collective=collective,
            direction=Direction.DOWN,
            source=self._index,
            payload=payload,
            **fields,
        )

    def _down(self, packet: Packet, chance: float = 1.0) -> None:
        if self._choices.random() < chance:
            self._writer.put(Port.NET, build(packet))

    def segments(self, collective: Collective | None = None) -> None:
        """A window of segments: every contributor's packets in order, the contributors interleaved at random."""
        choices = self._choices
        count = 1 if collective else choices.randint(1, self._window)
        first = self._members[0].coll_tag
        shapes = [self._shape(collective) for _ in range(count)]
        left = {member.index: 0 for member in self._members}
        while left:
            # bursts of one port, for every change of port costs a pause
            index = choices.choice(list(left))
            for _ in range(choices.randint(1, count)):
                if left[index] == count:
                    break
                self._contribute(self._members[index], shapes[left[index]], lawful=collective is not None)
                left[index] += 1
            if left[index] == count:
                del left[index]
        self._writer.pause()
        if self._parent:
            for number, shape in enumerate(shapes):
                fields = {**shape, "payload": choices.randbytes(len(shape["payload"]))}
                if collective is None and choices.random() < 0.1:
                    fields |= {"status": Status.MISMATCH, "payload": b""}
                answer = self._answer(self._members[0], first + number, **fields)
                self._down(replace(answer, sender=replace(answer.sender, mac=5)), 0.1)
                self._down(answer)
                self._down(answer, 0.1)
            self._writer.pause()

    def _shape(self, collective: Collective | None) -> dict:
        choices, config = self._choices, self._config
        if collective or choices.random() < 0.2:
            return {"collective": collective or Collective.BARRIER, "payload": b""}
        length = choices.choice((4, 8, 12, 60, 64, 68, config.segment_bytes - 4, config.segment_bytes))
        return {
            "collective": Collective.ALLREDUCE,
            "opt_code": choices.choice(config.operators),
            "data_type": choices.choice(config.types),
            "payload": bytes(min(length, config.segment_bytes)),
        }

    def _contribute(self, member: Leader, shape: dict, lawful: bool) -> None:
        """One contribution, perhaps a faulty one, among packets that must change nothing."""
        choices = self._choices
        fields = {**shape, "payload": choices.randbytes(len(shape["payload"]))}
        good = member.packet(**fields, udp_checksum=choices.choice((None, "correct")))
        self._writer.regular()
        for noise in self._noise(good):
            if choices.random() < 0.04:
                self._send(member, build(noise))
        for damaged in (build(replace(good, udp_checksum=0x1234)), build(good)[:-3]):
            if choices.random() < 0.05 and good.payload:
                self._send(member, damaged)
        if choices.random() < 0.05:
            self._send(member, build(good), bad=True)
        sent = good
        if not lawful and choices.random() < 0.06:
            sent = choices.choice(list(self._faulty(good)))
        self._send(member, build(sent))
        if choices.random() < 0.1:
            self._send(member, build(good))
        member.coll_tag = (member.coll_tag + 1) % (1 << 32)

    def _noise(self, good: Packet) -> Iterator[Packet]:
        """Packets that are refused, or regular."""
        yield replace(good, coll_tag_high32=1)
        yield replace(good, comm_id=good.comm_id ^ 1)
        yield replace(good, source=(good.source + 1) % 300)
        yield replace(good, source=0x7FFF)
        yield replace(good, sender=replace(good.sender, mac=good.sender.mac ^ 1))
        yield replace(good, coll_tag=(good.coll_tag + self._config.window) % (1 << 32))
        yield replace(good, coll_tag=(good.coll_tag - 1) % (1 << 32))
        yield replace(good, direction=Direction.DOWN)
        yield replace(good, version=2)

    def _faulty(self, good: Packet) -> Iterator[Packet]:
        """Contributions that fail their segment."""
        yield replace(good, opt_code=Operator.PROD)
        yield replace(good, data_type=200)
        yield replace(good, collective=Collective.ALLTOALL)
        yield replace(good, collective=Collective.ALLREDUCE, payload=good.payload[:-1] or b"abc")
        yield replace(good, collective=Collective.ALLREDUCE, payload=bytes(self._config.segment_bytes + 4))
        yield replace(good, root=3)
        yield replace(good, status=Status.TOO_LARGE)


def script(config: Config, seed: int, rounds: int = 3) -> list[Arrival]:
    """Traffic of ``rounds`` lives of a communicator, with up to two of them at a time; the same for the same seed."""
    choices = random.Random(seed)
    writer = _Writer(config, choices)
    number = 0
    for _ in range(rounds):
        number += 2
        comm_id = choices.randrange(0, 0xFFFF, 2)
        pair = [_Communicator(writer, comm_id, number), _Communicator(writer, comm_id + 1, number + 1)]
        for one in pair[: choices.randint(1, 2)]:
            one.register()
        for _ in range(choices.randint(1, 4)):
            for one in pair:
                one.segments()  # of one that is not registered: regular traffic
        for one in pair:
            one.segments(Collective.DEREGISTER)
        writer.pause()
    return writer.arrivals


def play(nic: Nic, arrivals: list[Arrival]) -> Outcome:
    """Plays ``arrivals`` to ``nic`` and sorts what leaves: what came in at the other port, and its own packets."""
    for one in arrivals:
        nic.offer(one.port, one.frame, cycle=max(one.cycle, nic.cycle), queue=one.queue, bad=one.bad)
    departures = nic.run(arrivals[-1].cycle + 4000)
    outcome = Outcome({port: [] for port in Port}, {port: [] for port in Port}, {}, departures)
    offered = {(one.port, one.frame) for one in arrivals}
    for left in departures:
        came_in = Port.NET if left.port is Port.HOST else Port.HOST
        kind = outcome.regular if (came_in, left.frame) in offered else outcome.copies
        kind[left.port].append((left.frame, left.queue, left.bad))
    outcome.counters = nic.counters()
    return outcome
