"""One communicator's contributors at a NIC, and its parent: what they send, right and wrong."""

from collections.abc import Iterator
from dataclasses import replace

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status

from ..frames import Address, Packet, build
from ..leader import Leader
from ..records import record, total
from .payloads import corner_payload
from .writer import Writer

__all__ = ["Communicator"]

_TAGS = ((0x8100, 0x0064), (0x88A8, 0x2003))


class Communicator:
    """One communicator's contributors at the NIC, and its parent."""

    def __init__(self, writer: Writer, comm_id: int, number: int):
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
            "parent_total": len(self._members),
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
                fields = self._filled(shape)
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
        operator, data_type = choices.choice(config.pairs)
        length = choices.choice((0, 1, 2, 4, 8, 12, 60, 64, 68, 120, config.segment_bytes - 4, config.segment_bytes))
        if choices.random() < 0.9:
            length = max(length - length % data_type.element_bytes, data_type.element_bytes if length else 0)
        if choices.random() < 0.1:
            operator, data_type = choices.choice(list(Operator)), choices.choice(list(DataType))
        return {
            "collective": Collective.ALLREDUCE,
            "opt_code": operator,
            "data_type": data_type,
            "payload": bytes(min(length, config.segment_bytes)),
        }

    def _filled(self, shape: dict) -> dict:
        """A segment's fields with a payload of one contributor."""
        payload = corner_payload(self._choices, shape.get("data_type", DataType.UINT8), len(shape["payload"]))
        return {**shape, "payload": payload}

    def _contribute(self, member: Leader, shape: dict, lawful: bool) -> None:
        """One contribution, perhaps a faulty one, among packets that must change nothing."""
        choices = self._choices
        good = member.packet(**self._filled(shape), udp_checksum=choices.choice((None, "correct")))
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
        """Contributions that fail by themselves, or are unlike the others'."""
        yield replace(good, opt_code=self._another(good.opt_code, [*Operator, 12, 255]))
        yield replace(good, data_type=self._another(good.data_type, [*DataType, 15, 200]))
        yield replace(good, collective=Collective.ALLTOALL)
        yield replace(good, collective=Collective.ALLREDUCE, payload=good.payload[:-1] or b"abc")
        yield replace(good, collective=Collective.ALLREDUCE, payload=bytes(self._config.segment_bytes + 4))
        yield replace(good, root=3)
        yield replace(good, status=Status.TOO_LARGE)

    def _another(self, code, codes):
        """One of ``codes`` that is not ``code``."""
        return self._choices.choice([each for each in codes if each != code])
