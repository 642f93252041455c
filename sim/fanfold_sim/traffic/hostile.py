"""Hostile traffic at both ports at once: lawful segments among everything that links carry and an enemy would send.

One number makes one *act*, so a stream is a list of numbers, and any shorter list is a stream too. Frames come in
*batches*: all of one batch are offered at once, and the NIC is done with them before the next one comes. What both
ports send at a time goes to different communicators, or is refused for what it is; a packet for which it makes a
difference what the other port does is alone in its batch. So the reference, which does not know the hardware's cycles,
knows what must leave, and in which order.
"""

import random
from collections.abc import Iterable
from dataclasses import replace

from fanfold.codes import Collective, Direction, Port
from fanfold.config import Config

from ..frames import Packet, build
from ..reference.classify import classify
from .mutations import mutated
from .ordinary import ordinary
from .party import Party
from .writer import Arrival

__all__ = ["hostile"]

_OTHER = {Port.HOST: Port.NET, Port.NET: Port.HOST}


def hostile(config: Config, numbers: Iterable[int]) -> list[list[Arrival]]:
    """The batches of a stream; cycles count from the beginning of each. At first two communicators register."""
    stream = _Stream(config)
    for number in numbers:
        stream.act(number)
    stream.fence()
    return stream.batches


class _Stream:
    def __init__(self, config: Config):
        self._config = config
        self.batches: list[list[Arrival]] = []
        self._batch: list[Arrival] = []
        self._cycles = dict.fromkeys(Port, 0)
        self._parties_made = 0
        self._parties = [self._party(side) for side in range(2)]
        start = random.Random("start")
        for party in self._parties:
            self._all_due(party, start)

    def _party(self, side: int) -> Party:
        """Side 0 has leaders alone and is a root; side 1 has children as well, and a parent."""
        number, config = self._parties_made, self._config
        self._parties_made += 1
        comm_id = (config.contexts * (1 + number % 99) + side) % 0x10000
        if side == 0:
            return Party(config, number, comm_id, min(2, config.contributors), min(2, config.contributors), False)
        return Party(config, number, comm_id, 1, min(3, config.contributors), True)

    # ------------------------------------------------------------------------------------------------------- the acts

    def act(self, number: int) -> None:
        """Something that ``number`` stands for happens."""
        choices = random.Random(number)
        acts = (self._lawful, self._changed, self._again, self._reflected, self._other, self._enrol, self._renew)
        choices.choices(acts, _WEIGHTS)[0](choices)

    def _lawful(self, choices) -> None:
        """The next packet that is due."""
        party, packet = self._due(choices)
        self._put(choices, party.port, build(packet), packet.sender.queue)
        party.sent()

    def _changed(self, choices) -> None:
        """A packet that is due, but not as it should be; the right one can still come."""
        party, packet = self._due(choices)
        if choices.random() < 0.6:
            packet = _with_other_fields(choices, packet, self._config)
        frame = build(packet)
        for _ in range(choices.choice((0, 1, 1, 2, 3))):
            frame = mutated(choices, frame, self._config.beat_bytes)
        port = _OTHER[party.port] if choices.random() < 0.1 else party.port
        queue = packet.sender.queue if choices.random() < 0.9 else self._queue(choices)
        self._put(choices, port, frame, queue, bad=choices.random() < 0.1)

    def _again(self, choices) -> None:
        """A packet twice."""
        party, packet = self._due(choices)
        for _ in range(2):
            self._put(choices, party.port, build(packet), packet.sender.queue)
        party.sent()

    def _reflected(self, choices) -> None:
        """A packet of our own that comes back, from a switch or from a host, perhaps not quite as it left."""
        party = choices.choice(self._parties)
        frame = build(party.copy(choices))
        if choices.random() < 0.3:
            frame = mutated(choices, frame, self._config.beat_bytes)
        self._put(choices, choices.choice(list(Port)), frame, self._queue(choices))

    def _other(self, choices) -> None:
        """A frame that is none of the NIC's business."""
        frame = ordinary(choices, self._config)
        self._put(choices, choices.choice(list(Port)), frame, self._queue(choices), bad=choices.random() < 0.2)

    def _enrol(self, choices) -> None:
        """A registration, or the answer to one, that nobody asked for: of this communicator or one in its place."""
        packet = choices.choice(choices.choice(self._parties).registrations)
        for _ in range(choices.choice((0, 1, 1, 2))):
            packet = choices.choice(_REGISTRATION_FIELDS)(choices, packet, self._config)
        port = choices.choice(list(Port))
        queue = packet.sender.queue if choices.random() < 0.7 else self._queue(choices)
        self._put(choices, port, build(packet), queue, bad=choices.random() < 0.1)

    def _renew(self, choices) -> None:
        """One communicator finishes its window and leaves; another registers in its place."""
        side = choices.randrange(2)
        self._all_due(self._parties[side], choices)
        self._parties[side].go_on(choices, leave=True)
        self._all_due(self._parties[side], choices)
        self._parties[side] = self._party(side)
        self._all_due(self._parties[side], choices)

    def _due(self, choices) -> tuple[Party, Packet]:
        """Some communicator and its next packet."""
        party = choices.choice(self._parties)
        while party.due is None:
            self.fence()
            party.go_on(choices)
        return party, party.due

    def _all_due(self, party: Party, choices) -> None:
        """All packets of ``party`` up to the end of its window, or of its registration."""
        while True:
            while (packet := party.due) is not None:
                self._put(choices, party.port, build(packet), packet.sender.queue)
                party.sent()
            self.fence()
            if not party.stages_left:
                return
            party.go_on(choices)

    # ------------------------------------------------------------------------------------------------------ the frames

    def _queue(self, choices) -> int:
        return choices.randrange(1 << self._config.queue_bits)

    def _put(self, choices, port: Port, frame: bytes, queue: int, bad: bool = False) -> None:
        """A frame for the batch, or for a batch of its own."""
        beats = -(-len(frame) // self._config.beat_bytes)
        alone = self._alone(port, frame, queue, bad)
        # what comes in at once finds room in the network port's buffer, whatever the host does
        if alone or self._cycles[port] + beats > self._config.frame_beats:
            self.fence()
        gap = choices.choice((0, 0, 0, 0, 1, 5))
        self._batch.append(Arrival(self._cycles[port] + gap, port, frame, queue, bad))
        self._cycles[port] += gap + beats
        if alone:
            self.fence()

    def _alone(self, port: Port, frame: bytes, queue: int, bad: bool) -> bool:
        packet = classify(frame, self._config.udp_port, lambda *_: True, queue=queue, bad=bad).packet
        if packet is None or packet.damage:
            return False
        return packet.collective is Collective.REGISTER or any(one.minds_order(port, packet) for one in self._parties)

    def fence(self) -> None:
        """The batch is complete."""
        if self._batch:
            self.batches.append(self._batch)
        self._batch = []
        self._cycles = dict.fromkeys(Port, 0)


_WEIGHTS = (40, 30, 3, 7, 20, 2, 1)


def _with_other_fields(choices: random.Random, packet: Packet, config: Config) -> Packet:
    """One field or two that are not as they should be; lengths and checksums fit them all the same."""
    for _ in range(choices.choice((1, 1, 2))):
        packet = choices.choice(_FIELDS)(choices, packet, config)
    return packet


def _field(name, draw):
    return lambda choices, packet, config: replace(packet, **{name: draw(choices, packet, config)})


def _sender(**changes):
    def change(choices, packet, _):
        fields = {name: getattr(packet.sender, name) ^ 1 << choices.randrange(bits) for name, bits in changes.items()}
        return replace(packet, sender=replace(packet.sender, **fields))

    return change


_FIELDS = (
    _field("version", lambda choices, *_: choices.randrange(4)),
    _field("direction", lambda choices, *_: choices.choice(list(Direction))),
    _field("source", lambda choices, packet, config: choices.choice((packet.source ^ 1, choices.randrange(1 << 16)))),
    _field(
        "coll_tag", lambda choices, packet, config: (packet.coll_tag + choices.choice((-1, 1, config.window))) % 2**32
    ),
    _field("coll_tag", lambda choices, *_: choices.getrandbits(32)),
    _field("coll_tag_high32", lambda choices, packet, _: packet.coll_tag_high32 ^ 1 << choices.randrange(32)),
    _field("comm_id", lambda choices, packet, _: packet.comm_id ^ 1 << choices.randrange(16)),
    _field("collective", lambda choices, *_: choices.choice((*Collective, choices.randrange(256)))),
    _field("opt_code", lambda choices, *_: choices.choice((choices.randrange(16), choices.randrange(256)))),
    _field("data_type", lambda choices, *_: choices.choice((choices.randrange(16), choices.randrange(256)))),
    _field("root", lambda choices, *_: choices.getrandbits(16)),
    _field("status", lambda choices, *_: choices.choice((1, choices.randrange(16), choices.getrandbits(16)))),
    _field("repeat", lambda *_: 1),
    _field("length", lambda choices, packet, _: max(0, len(packet.payload) + choices.choice((-1, 1, 64, 30000)))),
    _field("payload", lambda choices, packet, config: choices.randbytes(choices.randrange(config.segment_bytes + 80))),
    _field("udp_checksum", lambda choices, *_: choices.choice(("correct", 0xFFFF, choices.getrandbits(16)))),
    _field("fragment", lambda choices, *_: choices.choice((0, 0x2000, 1, 0x8000))),
    _field("service", lambda choices, *_: choices.getrandbits(8)),
    _field("ip_options", lambda choices, *_: choices.randbytes(4 * choices.randrange(11))),
    _field("tags", lambda choices, *_: ((0x8100, choices.getrandbits(16)),) * choices.randrange(4)),
    _field("trailer", lambda choices, *_: choices.randbytes(choices.randrange(80))),
    _sender(mac=48),
    _sender(ip=32),
    _sender(port=16),
)


def _other_record(choices: random.Random, packet: Packet, _: Config) -> Packet:
    """One bit of the record, or of the total, is another."""
    at = choices.randrange(len(packet.payload))
    payload = bytearray(packet.payload)
    payload[at] ^= 1 << choices.randrange(8)
    return replace(packet, payload=bytes(payload))


_REGISTRATION_FIELDS = (
    _other_record,
    _field("comm_id", lambda choices, packet, config: (packet.comm_id + config.contexts) % (1 << 16)),
    _field("payload", lambda choices, packet, _: packet.payload[:-1] or b"abc"),
    *_FIELDS,
)
