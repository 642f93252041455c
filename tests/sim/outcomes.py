"""All ways in which a segment can end, as scenes for one NIC, whoever plays it: each is played on the next turn of one
and the same slot, and says exactly what leaves the NIC, byte for byte, and what it counts.

The NIC has leaders 0 and 1 at its host port and child NIC 2 at the network; it is the root, or has a parent that the
scene plays. Packets are spaced so that none races another.
"""

import dataclasses
import struct
from collections import Counter
from collections.abc import Callable

from fanfold.codes import Collective, DataType, Direction, Operator, Port, Status
from fanfold.config import PRESETS
from fanfold.control.events import refused
from fanfold_sim.frames import Address, Packet, build, parse
from fanfold_sim.nic import Departure, Nic, Timing
from fanfold_sim.records import record, total

__all__ = ["CONFIG", "OUTCOMES", "TIMING", "Scene", "play"]

#: a tick is 16 cycles
CONFIG = dataclasses.replace(PRESETS["tiny"], tick_bits=4)
TIMING = Timing(abort_ticks=70, retry_ticks=50, retry_limit=2, linger_ticks=80)

NIC = Address(0x0200_0000_FF00, 0x0A00_00FE, CONFIG.udp_port)
PARENT = Address(0x0200_0000_EE00, 0x0A00_00EE, CONFIG.udp_port, ((0x8100, 7),))
PLACES = (
    Address(0x0200_0000_0001, 0x0A00_0001, 5000, queue=1),
    Address(0x0200_0000_0002, 0x0A00_0002, 5001, queue=2),
    Address(0x0200_0000_0003, 0x0A00_0003, CONFIG.udp_port, ((0x8100, 9),)),
)
NODE, PARENT_INDEX, COMM = 0x0BEE, 3, 4

#: one element that shows who is in the sum, how often, and one that shows the segment
PARTS = tuple(struct.pack("<II", 1 << 8 * index, 1) for index in range(3))
SUM = struct.pack("<II", 0x010101, 3)
SUM_ABOVE = struct.pack("<II", 0x01010101, 4)
#: node, contributor, how many, and the bits of those that are missing
FAULT_OF_1 = struct.pack("<IHH", NODE, 1, 1)
ABSENCE_OF_1 = FAULT_OF_1 + (1 << 1).to_bytes(16, "little")
ABSENCE_OF_PARENT = struct.pack("<IHH", NODE, 0xFFFF, 1) + bytes(16)
ABSENCE_ABOVE = struct.pack("<IHH", 77, 5, 2) + (0b1100000).to_bytes(16, "little")

#: cycles between packets that must not race; how long a frame is waited for that must come, or must not
_SPACING, _PATIENCE, _SILENCE = 48, 4000, 200


class Scene:
    """A NIC and all that it talks to. What was sent to whom and what must be counted is checked as it goes on."""

    def __init__(self, nic: Nic, *, parent: bool):
        self.nic = nic
        self.parent = parent
        self.key = 0xC0FFEE
        #: of the next segment; the registration's was a window before, so all segments fall on one slot
        self.tag = 0xFFFFFFFE
        self._gone: list[Departure] = []
        self._counts: Counter = Counter()
        nic.set_timing(TIMING)

    # ----------------------------------------------------------------------------------------------- what is sent to it

    def send(self, index: int, *, port: Port | None = None, **fields) -> None:
        """A packet of contributor ``index``: its part of the segment, unless ``fields`` say otherwise."""
        place = PLACES[min(index, 2)]
        port = port or (Port.HOST if index < 2 else Port.NET)
        payload = PARTS[index] if index < 3 else b""
        base = dict(sender=place, source=index, opt_code=Operator.SUM, data_type=DataType.UINT32, payload=payload)
        self._offer(port, {**base, **fields}, queue=place.queue)

    def answer(self, **fields) -> None:
        """A packet of the parent."""
        base = dict(sender=PARENT, source=PARENT_INDEX, direction=Direction.DOWN, data_type=DataType.UINT32)
        self._offer(Port.NET, {**base, **fields})

    def _offer(self, port: Port, fields: dict, queue: int = 0) -> None:
        base = dict(receiver=NIC, comm_id=COMM, coll_tag_high32=self.key, coll_tag=self.tag % (1 << 32))
        packet = Packet(**{**base, **fields})
        packet.coll_tag %= 1 << 32
        self.nic.offer(port, build(packet), cycle=self.nic.cycle, queue=queue)
        self._counts["host_tagged" if port is Port.HOST else "net_tagged"] += 1
        self._gone += self.nic.run(self.nic.cycle + _SPACING)

    def count(self, **events: int) -> None:
        """What the NIC must have counted besides packets in and out; refusals by the names of their causes."""
        for name, times in events.items():
            self._counts[refused(Status[name]) if name.isupper() else name] += times

    # ------------------------------------------------------------------------------------------------- what comes of it

    def _receive(self, number: int) -> list[tuple[int, Packet]]:
        """The next packets that leave, each with the contributor that it is for; -1: the parent."""
        deadline = self.nic.cycle + _PATIENCE
        while len(self._gone) < number and self.nic.cycle < deadline:
            self._gone += self.nic.run(self.nic.cycle + 16)
        assert len(self._gone) >= number, f"{len(self._gone)} frames of {number}"
        taken, self._gone = self._gone[:number], self._gone[number:]
        found = []
        for departure in taken:
            self._counts["host_copies" if departure.port is Port.HOST else "net_copies"] += 1
            everyone = {place.mac: index for index, place in enumerate((*PLACES, PARENT))}
            who = everyone[int.from_bytes(departure.frame[:6], "big")]
            place = (*PLACES, PARENT)[who]
            packet = parse(departure.frame, place.port)
            assert packet is not None and not packet.damage and not departure.bad
            assert departure.queue == place.queue and departure.port is (Port.HOST if who < 2 else Port.NET)
            assert (packet.receiver.ip, packet.tags) == (place.ip, place.tags) and packet.sender.ip == NIC.ip
            assert (packet.comm_id, packet.coll_tag_high32) == (COMM, self.key)
            assert packet.direction is (Direction.UP if who == 3 else Direction.DOWN)
            assert packet.source == (PARENT_INDEX if who == 3 else who)
            assert packet.error == (packet.status is not Status.OK) and packet.length == len(packet.payload)
            found.append((-1 if who == 3 else who, packet))
        return found

    def nothing(self) -> None:
        """Nothing comes out for a while."""
        self._gone += self.nic.run(self.nic.cycle + _SILENCE)
        assert not self._gone, f"{len(self._gone)} frames that nobody waits for"

    def everyone_hears(self, status: Status, payload: bytes, **fields) -> None:
        """All contributors get a copy."""
        heard = self._receive(3)
        assert sorted(who for who, _ in heard) == [0, 1, 2]
        for _, packet in heard:
            self._is(packet, status, payload, **fields)

    def only(self, index: int, status: Status, payload: bytes, **fields) -> None:
        """One contributor alone gets something, and nobody anything else."""
        [(who, packet)] = self._receive(1)
        assert who == index
        self._is(packet, status, payload, **fields)
        self.nothing()

    def up(self, status: Status, payload: bytes, **fields) -> None:
        """The parent gets a packet."""
        [(who, packet)] = self._receive(1)
        assert who == -1
        self._is(packet, status, payload, **fields)

    def _is(self, packet: Packet, status: Status, payload: bytes, **fields) -> None:
        whole = dict(
            collective=Collective.ALLREDUCE,
            opt_code=Operator.SUM,
            data_type=DataType.UINT32,
            root=0,
            repeat=0,
            coll_tag=self.tag % (1 << 32),
        )
        for name, value in {**whole, **fields}.items():
            assert getattr(packet, name) == value, f"{name} is {getattr(packet, name)}, not {value}"
        assert (packet.status, packet.payload.hex()) == (status, payload.hex())

    def agree(self) -> None:
        """The NIC counted what it must, and nothing else."""
        counted = {name: times for name, times in self.nic.counters().items() if times}
        assert counted == {name: times for name, times in self._counts.items() if times}

    # ------------------------------------------------------------------------------------------- parts of the outcomes

    def register(self) -> None:
        """Everyone registers, with the sequence number a window before the next segment."""
        codes = dict(collective=Collective.REGISTER, opt_code=Operator.SUM, data_type=DataType.UINT32)
        self.tag -= CONFIG.window
        says = dict(node=NODE, leaders=2, children=1, window=CONFIG.window)
        if self.parent:
            says.update(parent=PARENT, parent_index=PARENT_INDEX, parent_total=4)
        for index in range(3):
            mine = says if index < 2 else {**says, "parent_total": 3}
            self.send(index, payload=record(ranks=10 + index, **mine), **codes)
        ranks = 33
        if self.parent:
            self.up(Status.OK, record(ranks=33, **says), collective=Collective.REGISTER)
            ranks = 99
            self.answer(payload=total(99), **codes)
        self.everyone_hears(Status.OK, total(ranks), collective=Collective.REGISTER)
        self.count(opened=1)
        self.tag += CONFIG.window

    def everyone_sends(self, **fields) -> None:
        """All contribute."""
        for index in range(3):
            self.send(index, **fields)
        self.count(contributions=3, folded=1)

    def end(
        self, status: Status = Status.OK, here: bytes = SUM, above: bytes = SUM_ABOVE, asked: bool = False, **codes
    ) -> None:
        """All contributors are told: ``here`` is what the NIC folded, ``above`` what its parent says of it; with
        ``asked`` the parent has heard it already."""
        if self.parent:
            if not asked:
                self.up(status, here, **codes)
            self.answer(status=status, payload=above, **codes)
            self.count(results=1)
        self.everyone_hears(status, above if self.parent else here, **codes)
        self.tag += CONFIG.window

    def asks(self, index: int, status: Status, payload: bytes, *, back: int = 1, repeat: int = 1, **codes) -> None:
        """Contributor ``index`` has not heard of a segment so many windows ``back``, and is told."""
        tag = (self.tag - back * CONFIG.window) % (1 << 32)
        self.send(index, coll_tag=tag, repeat=repeat, **codes)
        self.only(index, status, payload, coll_tag=tag, **codes)
        self.count(answered=1)

    # ---------------------------------------------------------------------------------------------------- the outcomes

    def completed(self) -> None:
        """Everyone comes once."""
        self.everyone_sends()
        self.end()

    def refused(self) -> None:
        """Among the contributions are some that must change nothing."""
        self.send(0)
        self.send(0, payload=bytes(8))
        self.send(1, sender=PLACES[0])
        self.send(1, sender=dataclasses.replace(PLACES[1], port=1))
        self.send(2, coll_tag=self.tag + CONFIG.window)
        self.send(2, coll_tag=self.tag - 2 * CONFIG.window)
        self.send(3, port=Port.NET)
        self.send(1, direction=Direction.DOWN)
        self.nothing()
        self.count(DUPLICATE=2, WRONG_SOURCE=3, OUT_OF_WINDOW=1, OUT_OF_RANGE=1, contributions=3, folded=1)
        self.send(1)
        self.send(2)
        self.end()

    def mismatched(self) -> None:
        """Contributor 1 wants another operator; what it says to that again is answered."""
        self.send(0)
        self.send(1, opt_code=Operator.MIN)
        self.send(2)
        self.count(contributions=3, folded=1, failed_segments=1)
        self.end(Status.MISMATCH, FAULT_OF_1, FAULT_OF_1)
        self.asks(1, Status.MISMATCH, FAULT_OF_1, repeat=0)

    def aborted(self) -> None:
        """Contributor 1 does not come in time."""
        self.send(2)
        self.send(0)
        self.count(contributions=2, aborted=1)
        above = ABSENCE_ABOVE
        if self.parent:
            self.up(Status.TIMED_OUT, ABSENCE_OF_1)
            self.send(1)
            self.send(0, repeat=1)
            self.nothing()
            self.count(EXPIRED=1, DUPLICATE=1)
        self.end(Status.TIMED_OUT, ABSENCE_OF_1, above, asked=True)
        self.asks(1, Status.TIMED_OUT, above if self.parent else ABSENCE_OF_1, repeat=0)

    def retried(self) -> None:
        """What does not arrive is sent again, in both directions."""
        self.everyone_sends()
        if self.parent:
            self.up(Status.OK, SUM)
            for _ in range(TIMING.retry_limit):
                self.up(Status.OK, SUM, repeat=1)
            self.count(repeats=TIMING.retry_limit)
        self.end(asked=True)
        self.asks(2, Status.OK, SUM_ABOVE if self.parent else SUM)
        self.asks(0, Status.OK, SUM_ABOVE if self.parent else SUM)
        self.asks(1, Status.EXPIRED, b"", back=2, opt_code=Operator.MAX, data_type=DataType.INT32)
        self.send(0, coll_tag=self.tag - CONFIG.window)
        self.nothing()
        self.count(DUPLICATE=1)

    def deregistered(self) -> None:
        """The communicator ends, its child asks again, and another one with its number begins in the same slot."""
        leave = dict(collective=Collective.DEREGISTER, payload=b"")
        self.everyone_sends(**leave)
        self.end(here=b"", above=b"", collective=Collective.DEREGISTER)
        self.send(2, coll_tag=self.tag - CONFIG.window, repeat=1, **leave)
        self.only(2, Status.OK, b"", coll_tag=(self.tag - CONFIG.window) % (1 << 32), collective=Collective.DEREGISTER)
        self.send(0, coll_tag=self.tag - CONFIG.window, repeat=1, **leave)
        self.send(2, coll_tag=self.tag - CONFIG.window, **leave)
        self.send(2)
        self.nothing()
        self.count(answered=1, NOT_OPEN=3, closed=1)
        self.key += 1
        self.tag += 7 * CONFIG.window
        self.register()

    def given_up(self) -> None:
        """The parent does not answer any more."""
        self.everyone_sends()
        self.up(Status.OK, SUM)
        for _ in range(TIMING.retry_limit):
            self.up(Status.OK, SUM, repeat=1)
        self.everyone_hears(Status.PEER_GONE, ABSENCE_OF_PARENT)
        self.count(repeats=TIMING.retry_limit, given_up=1)
        self.tag += CONFIG.window
        self.asks(2, Status.PEER_GONE, ABSENCE_OF_PARENT, repeat=0)
        self.answer(coll_tag=self.tag - CONFIG.window, payload=SUM_ABOVE)
        self.nothing()
        self.count(DUPLICATE=1)

    def ended_above(self) -> None:
        """The parent ends the segment before everyone is in."""
        self.send(0)
        self.answer(payload=SUM_ABOVE)
        self.nothing()
        self.count(contributions=1, OUT_OF_WINDOW=1, results=1)
        self.answer(status=Status.TIMED_OUT, payload=ABSENCE_ABOVE)
        self.everyone_hears(Status.TIMED_OUT, ABSENCE_ABOVE)
        self.tag += CONFIG.window
        self.asks(1, Status.TIMED_OUT, ABSENCE_ABOVE, repeat=0)

    def finish(self) -> None:
        """The communicator ends, and nothing is left of it when its time is over."""
        self.everyone_sends(collective=Collective.DEREGISTER, payload=b"")
        self.end(here=b"", above=b"", collective=Collective.DEREGISTER)
        self.count(closed=1)
        limit = self.nic.cycle + _PATIENCE
        while not self.nic.quiet and self.nic.cycle < limit:
            self._gone += self.nic.run(self.nic.cycle + 64)
        assert self.nic.quiet and not self._gone


_EVERYWHERE: tuple[Callable[[Scene], None], ...] = (
    Scene.completed,
    Scene.refused,
    Scene.mismatched,
    Scene.aborted,
    Scene.retried,
    Scene.deregistered,
)
#: by name: what a NIC with a parent can meet, and what a root can
OUTCOMES: dict[bool, dict[str, Callable[[Scene], None]]] = {
    False: {each.__name__: each for each in _EVERYWHERE},
    True: {each.__name__: each for each in (*_EVERYWHERE, Scene.given_up, Scene.ended_above)},
}


def play(nic: Nic, *names: str, parent: bool) -> None:
    """Plays the named outcomes one after the other in the same slot of ``nic``, which is new; with whole segments
    before and behind. Raises ``AssertionError`` at the first thing that is not as it must be."""
    scene = Scene(nic, parent=parent)
    scene.register()
    scene.completed()
    for name in names:
        OUTCOMES[parent][name](scene)
        scene.nothing()
        scene.agree()
    scene.completed()
    scene.finish()
    scene.agree()
