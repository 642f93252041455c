"""The reference NIC: the exact function of ``core``, with the time that its rooms take.

Function is exact: for the same order of acceptance the same frames leave, each port's in the same order, and the
counters are the same. Time is an approximation, to within a few cycles where nothing queues for long: each room takes
one beat per cycle and adds its latency (``timing``), and what waits for a room waits in a queue without limit, so an
input port always takes one beat per cycle.

Events lie on a heap by cycle; within a cycle, what arrives at a room comes before what the room begins, and both
before what is due. What is timed is no event: its alarm is set anew whenever something changes.
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from pathlib import Path

from fanfold.codes import Collective, Port
from fanfold.config import Config

from ..frames import Packet
from ..nic import Departure, Timing
from .classify import headers_end
from .core import Core
from .outgoing import Envelopes, Outgoing
from .timing import Latencies, Ticks

__all__ = ["ReferenceNic"]

_OTHER = {Port.HOST: Port.NET, Port.NET: Port.HOST}
_ARRIVES, _BEGINS = 0, 1


class _Server:
    """A room that serves one item at a time, from one queue a side in turn.

    ``serve(item, cycle)`` begins an item and returns the cycle in which the room is free again.
    """

    def __init__(self, schedule: Callable, serve: Callable, sides: int):
        self._schedule = schedule
        self._serve = serve
        self._queues: tuple[deque, ...] = tuple(deque() for _ in range(sides))
        self._next = 0
        self._free = 0
        self._due = False

    def push(self, side: int, item, cycle: int) -> None:
        """``item`` is at the door in ``cycle``, which is now."""
        self._queues[side].append(item)
        self._plan(cycle)

    def _plan(self, cycle: int) -> None:
        if not self._due:
            self._due = True
            self._schedule(max(cycle, self._free), _BEGINS, self._begin)

    def _begin(self, cycle: int) -> None:
        self._due = False
        side = self._next
        while not self._queues[side]:
            side = (side + 1) % len(self._queues)
        self._next = (side + 1) % len(self._queues)
        self._free = self._serve(self._queues[side].popleft(), cycle)
        if any(self._queues):
            self._plan(self._free)


class ReferenceNic:
    """One NIC (``fanfold_sim.nic.Nic``); raises ``ValueError`` for ``waves``: a model without signals has none."""

    def __init__(self, config: Config, waves: Path | None = None, *, latencies: Latencies | None = None):
        if waves is not None:
            raise ValueError(f"waves is {str(waves)!r}: the reference model has no waveforms, only RTL simulators do")
        self.config = config
        self.latencies = latencies or Latencies.of(config)
        self._fold_latency = self.latencies.through_fold(config)
        self._core = Core(config)
        self._ticks = Ticks(config.tick_bits)
        self._alarm: int | None = None
        self._envelopes = Envelopes(config.udp_port)
        self._now = 0
        self._events: list[tuple] = []
        self._event_count = 0
        self._input_free = {Port.HOST: 0, Port.NET: 0}
        self._accepted: list[tuple[Port, int, int]] = []
        self._whole = {Port.HOST: 0, Port.NET: 0}
        self._copies_free = {Port.HOST: 0, Port.NET: 0}
        self._departures: dict[Port, deque[Departure]] = {Port.HOST: deque(), Port.NET: deque()}
        self._spine = _Server(self._schedule, self._admit, 4)
        self._registry = _Server(self._schedule, self._collect, 2)
        self._egress = {
            Port.HOST: _Server(self._schedule, self._send_at_host, 2),
            Port.NET: _Server(self._schedule, self._send_at_net, 2),
        }

    # -------------------------------------------------------------------------------------------------- the interface

    @property
    def cycle(self) -> int:
        """The next cycle to be run."""
        return self._now

    def offer(self, port: Port, frame: bytes, *, cycle: int, queue: int = 0, bad: bool = False) -> None:
        """Gives ``frame`` to ``port``; see ``Nic.offer``."""
        if cycle < self._now:
            raise ValueError(f"cycle is {cycle}: the NIC has already run to {self._now}")
        if not frame:
            raise ValueError("the frame is empty: it must be 1 byte or more")
        if not 0 <= queue < 1 << self.config.queue_bits:
            raise ValueError(f"queue is {queue}: it must be from 0 to {(1 << self.config.queue_bits) - 1}")
        first = max(cycle, self._input_free[port])
        last = first + self._beats(len(frame)) - 1
        self._input_free[port] = last + 1
        self._accepted.append((port, first, last))
        self._schedule(first, _ARRIVES, self._enter, port, bytes(frame), queue, bad)

    def set_local_mac(self, mac: int) -> None:
        """See ``Nic.set_local_mac``; counts for verdicts from now on."""
        self._core.local_mac = mac

    def set_timing(self, timing: Timing) -> None:
        """See ``Nic.set_timing``."""
        self._core.deadlines.timing = timing
        self._wind(self._now)

    def release(self, context: int) -> None:
        """The host frees an entry of the context table, now."""
        self._tell_time(self._now)
        self._core.release(context)
        self._wind(self._now)

    def run(self, until: int) -> list[Departure]:
        """Runs the cycles before ``until``; see ``Nic.run``."""
        events = self._events
        while True:
            alarm = until if self._alarm is None else self._alarm
            if events and events[0][0] < until and events[0][0] <= alarm:
                cycle, _, _, action, arguments = heappop(events)
                action(*arguments, cycle)
            elif alarm < until:
                self._ring(alarm)
            else:
                break
        self._now = max(self._now, until)
        gone = []
        for queue in self._departures.values():
            while queue and queue[0].last_cycle < until:
                gone.append(queue.popleft())
        gone.sort(key=lambda departure: (departure.last_cycle, departure.port.value))
        return gone

    @property
    def quiet(self) -> bool:
        """Nothing is waiting to go in, nothing is timed, and nothing can come out any more without a new frame."""
        return not self._events and not any(self._departures.values()) and not self._ticks.running

    def accepted_cycles(self) -> list[tuple[Port, int, int]]:
        """For each offered frame completely in since the last call: port, cycles of its first and last beat."""
        gone = [one for one in self._accepted if one[2] < self._now]
        self._accepted = [one for one in self._accepted if one[2] >= self._now]
        return sorted(gone, key=lambda one: (one[2], one[0].value))

    def counters(self) -> dict[str, int]:
        """Every counter by name."""
        return self._core.counters()

    def close(self) -> None:
        """Frees what the NIC holds: nothing."""

    # --------------------------------------------------------------------------------------------------- the clockwork

    def _schedule(self, cycle: int, phase: int, action: Callable, *arguments) -> None:
        """``action(*arguments, cycle)`` is due in ``cycle``; equals happen in the order of these calls."""
        self._event_count += 1
        heappush(self._events, (cycle, phase, self._event_count, action, arguments))

    def _beats(self, length: int) -> int:
        return max(1, -(-length // self.config.beat_bytes))

    # ------------------------------------------------------------------------------------- the rooms, in order of flow

    def _enter(self, port: Port, frame: bytes, queue: int, bad: bool, cycle: int) -> None:
        """Ingress: the first beat is in; the question about the context is asked when the headers are."""
        headers = headers_end(frame)
        headers_in = cycle + self.latencies.edge_in + self._beats(headers) - 1
        verdict = headers_in + self.latencies.verdict
        last = cycle + self._beats(len(frame)) - 1
        self._schedule(verdict, _ARRIVES, self._judge, port, frame, queue, bad, headers, last)

    def _judge(self, port: Port, frame: bytes, queue: int, bad: bool, headers: int, last: int, cycle: int) -> None:
        """Ingress: the frame is tagged and goes to the spine or the registry, or regular and goes to the other port."""
        packet = self._core.classify(port, frame, queue=queue, bad=bad).packet
        latencies = self.latencies
        door = cycle - latencies.verdict + latencies.ingress
        if packet is None:
            self._schedule(
                door + latencies.egress_regular,
                _ARRIVES,
                self._egress[_OTHER[port]].push,
                1,
                Departure(_OTHER[port], frame, queue, bad, 0, 0),
            )
            return
        # the last payload beat leaves realigned, one beat after the frame's end if the frame has no more bytes for it
        width = self.config.beat_bytes
        wanted = headers + width * self._beats(len(packet.payload))
        late = wanted > width * self._beats(len(frame))
        check = latencies.checksum if packet.udp_checksum else 0
        last_in = max(door, last + late + latencies.edge_in + latencies.payload + check)
        # nothing overtakes: a packet's beats come after those of the one before, and go on once all of them are here
        self._whole[port] = max(last_in, self._whole[port] + self._beats(len(packet.payload)))
        room = self._registry if packet.collective is Collective.REGISTER else self._spine
        self._schedule(self._whole[port] + latencies.waiting, _ARRIVES, room.push, port.value, (port, packet))

    def _admit(self, item: tuple[Port, Packet] | list[Outgoing], cycle: int) -> int:
        """Admission: a whole packet's beats pass, then it is decided upon."""
        if isinstance(item, list):  # the NIC's own, from the registry
            last = cycle + self._beats(len(item[0].segment.payload)) - 1
            self._schedule(
                last + self.latencies.decide + self._fold_latency + self.latencies.delivery,
                _ARRIVES,
                self._deliver,
                item,
            )
            return last + 1
        port, packet = item
        last = cycle + min(self._beats(len(packet.payload)), self.config.segment_beats) - 1
        self._schedule(last + self.latencies.decide, _ARRIVES, self._decide, port, packet)
        return last + 1

    def _decide(self, port: Port, packet: Packet, cycle: int) -> None:
        """Admission, fold, results: what the packet causes is ready for delivery when it went through them."""
        outgoing = self._accept(port, packet, cycle)
        if outgoing:
            self._schedule(cycle + self._fold_latency + self.latencies.delivery, _ARRIVES, self._deliver, outgoing)

    def _collect(self, item: tuple[Port, Packet], cycle: int) -> int:
        """Registry: takes a registration's beats and decides; it is free again when it has said what comes of it."""
        port, packet = item
        last = cycle + min(self._beats(len(packet.payload)), self.config.segment_beats) - 1
        decided = last + self.latencies.enrol
        self._schedule(decided, _ARRIVES, self._enrol, port, packet)
        return decided - 1  # the next one is collected while this one is applied

    def _enrol(self, port: Port, packet: Packet, cycle: int) -> None:
        """Registry: a refusal goes straight to the egress, everything else goes the way of the results."""
        opened = self._core.opened
        outgoing = self._accept(port, packet, cycle)
        if not outgoing:
            return
        said = cycle + self.latencies.announce
        if outgoing[0].delivery is None:
            self._refuse(outgoing, said)
            return
        if self._core.opened != opened:
            said += self.latencies.prepare
        self._schedule(said, _ARRIVES, self._spine.push, 2, outgoing)

    def _refuse(self, refusals: list[Outgoing], cycle: int) -> None:
        """Refusals at an egress's door."""
        for each in refusals:
            self._schedule(cycle + self.latencies.egress, _ARRIVES, self._egress[each.port].push, 0, each)

    def _deliver(self, outgoing: list[Outgoing], cycle: int) -> None:
        """Delivery: one copy per cycle and port."""
        for copy in outgoing:
            door = max(cycle, self._copies_free[copy.port])
            self._copies_free[copy.port] = door + 1
            self._schedule(door + self.latencies.egress, _ARRIVES, self._egress[copy.port].push, 0, copy)

    def _send_at_host(self, item, cycle: int) -> int:
        return self._send(Port.HOST, item, cycle)

    def _send_at_net(self, item, cycle: int) -> int:
        return self._send(Port.NET, item, cycle)

    def _send(self, port: Port, item: Outgoing | Departure, cycle: int) -> int:
        """Egress: a frame's beats leave one after another."""
        if isinstance(item, Outgoing):
            frame, queue, bad = self._envelopes.frame(item), item.remote.queue, False
        else:
            frame, queue, bad = item.frame, item.queue, item.bad
        beats = self._beats(len(frame))
        first = cycle + self.latencies.edge_out
        if isinstance(item, Outgoing):
            self._schedule(cycle + beats - 1, _ARRIVES, self._left, item)
        self._departures[port].append(Departure(port, frame, queue, bad, first, first + beats - 1))
        return cycle + beats

    def _left(self, item: Outgoing, cycle: int) -> None:
        self._tell_time(cycle)
        self._core.sent(item)
        self._wind(cycle)

    # -------------------------------------------------------------------------------------------------- what is timed

    def _accept(self, port: Port, packet: Packet, cycle: int) -> list[Outgoing]:
        self._tell_time(cycle)
        outgoing = self._core.accept(port, packet)
        self._wind(cycle)
        return outgoing

    def _tell_time(self, cycle: int) -> None:
        self._core.deadlines.now = self._ticks.now(cycle)

    def _wind(self, cycle: int) -> None:
        """Runs the ticks while something is timed, and sets the alarm to the first that is due."""
        deadlines = self._core.deadlines
        self._ticks.run(deadlines.running, cycle)
        self._alarm = None if deadlines.next is None else self._ticks.cycle_of(deadlines.next)

    def _ring(self, cycle: int) -> None:
        """Something is due: what the NIC sends of its own goes the way of the contributions."""
        self._tell_time(cycle)
        for outgoing in self._core.overdue():
            if outgoing[0].delivery is None:
                self._refuse(outgoing, cycle)
            else:
                self._spine.push(3, outgoing, cycle)
        self._wind(cycle)
