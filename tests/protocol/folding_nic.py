"""A NIC: fold slots, result store, answers, timers, and its leaders. The root, or with a parent a middle one."""

from typing import NamedTuple

from slot_rules import EXPIRED, FAILED, JUNK, OK, PEER_GONE, TIMED_OUT, Down, Size, Step, Up, put, say

__all__ = ["Nic", "NicState"]


class Copies(NamedTuple):
    """A result or an answer under way at one port; ``place`` in the result store, read as each copy leaves, or None."""

    tag: int
    status: str
    place: int | None
    to: tuple[int, ...]
    answer: bool


class Header(NamedTuple):
    """A packet UP that has not left; its payload is read from its slot as it leaves."""

    tag: int
    repeat: bool
    failed: bool


class Waiting(NamedTuple):
    """A slot that waits for the parent."""

    failed: bool
    repeats: int


class NicState(NamedTuple):
    """By slot: turn, contributors in, failing, waiting, last result's status, payload UP.

    ``store`` by result slot. ``leaving``, ``host`` and ``net``: what has not left, UP and DOWN. ``wanted`` by leader
    and slot: the number whose result it waits for. ``down`` by child and ``up``: all that was ever sent. ``ends`` by
    segment.
    """

    turn: tuple[int, ...]
    inside: tuple[tuple[int, ...], ...]
    failed: tuple[bool, ...]
    waiting: tuple[Waiting | None, ...]
    last: tuple[str | None, ...]
    leaving: tuple[Header, ...]
    up_store: tuple
    store: tuple
    host: tuple[Copies, ...]
    net: tuple[Copies, ...]
    wanted: tuple[tuple[int, ...], ...]
    down: tuple[frozenset[Down], ...]
    up: frozenset[Up]
    ends: tuple[str | None, ...]


class Nic:
    """The steps of a NIC with ``size.leaders`` and ``size.children``; contributors are leaders, then children."""

    def __init__(self, size: Size, *, parent: bool = False, name: str = "NIC"):
        self.size, self.parent, self.name = size, parent, name
        self.total = size.leaders + size.children
        self._results = size.window * size.rules.result_windows

    def start(self) -> NicState:
        size, slots = self.size, self.size.window
        return NicState(
            turn=size.first_turns(),
            inside=((),) * slots,
            failed=(False,) * slots,
            waiting=(None,) * slots,
            last=(None,) * slots,
            leaving=(),
            up_store=(None,) * slots,
            store=(None,) * self._results,
            host=(),
            net=(),
            wanted=(size.first_turns(),) * size.leaders,
            down=(frozenset(),) * size.children,
            up=frozenset(),
            ends=(None,) * size.segments * size.history,
        )

    def done(self, s: NicState) -> bool:
        """Whether every leader has the result of every segment, and nothing is under way."""
        over = all(not self.size.runs(tag) for wanted in s.wanted for tag in wanted)
        return over and not self._undelivered(s)

    # ------------------------------------------------------------------------------------------- what it does by itself

    def local(self, s: NicState) -> list[Step]:
        steps = [*self._leaders(s), *self._timers(s), *self._leave(s)]
        return [self._settled(step) for step in steps]

    def _leaders(self, s: NicState):
        """A leader contributes to what it waits for; or, late, to the segment before, as if it had not heard."""
        size = self.size
        for leader, wanted in enumerate(s.wanted):
            for tag in wanted:
                if size.runs(tag):
                    for failed in (False, True)[: 1 + size.failing]:
                        yield from self._contribution(s, leader, Up(tag, False, failed, size.segment(tag)), "host")
                before = size.plus(tag, -1)
                if size.late_leaders and size.runs(before):
                    yield from self._contribution(s, leader, Up(before, False, False, size.segment(before)), "host")

    def _leave(self, s: NicState) -> list[Step]:
        return [*self._copies_leave(s, "host"), *self._copies_leave(s, "net"), *self._ups_leave(s)]

    def _settled(self, step: Step) -> Step:
        """With what leaves at once, at the ports that never stall."""
        stalls = self.size.stalls
        while True:
            s = step.after
            at_once = [
                *(leaving for port in ("host", "net") if port not in stalls for leaving in self._copies_leave(s, port)),
                *(self._ups_leave(s) if "up" not in stalls else ()),
            ]
            if not at_once:
                return step
            step = Step(step.what, step.kind, at_once[0].after, step.wrong or at_once[0].wrong)

    def _copies_leave(self, s: NicState, port: str):
        """Results and answers leave each port in their order, the copies of one by index."""
        queue = getattr(s, port)
        if queue:
            tag, status, place, (receiver, *others), answer = queue[0]
            rest = (queue[0]._replace(to=tuple(others)), *queue[1:]) if others else queue[1:]
            content = self.size.segment(tag) if place is None else s.store[place]
            packet = Down(tag, status, content)
            yield self._to(s._replace(**{port: rest}), receiver, packet, "the answer" if answer else "a copy")

    def _to(self, s: NicState, receiver: int, packet: Down, what: str) -> Step:
        """``packet`` leaves: into the network, or to a leader, which takes it if it waits for it."""
        size = self.size
        what = f"{self.name}: {what} for {self._name(receiver)} leaves: {say(packet, self.size)}"
        wrong = None
        if receiver >= size.leaders:
            child = receiver - size.leaders
            return Step(what, "send", s._replace(down=put(s.down, child, s.down[child] | {packet})), wrong)
        slot = packet.tag % size.window
        if s.wanted[receiver][slot] == packet.tag:
            if packet.content != size.segment(packet.tag):
                wrong = "a leader takes a result with the payload of another segment"
            elif packet.status == EXPIRED and not self.parent:
                wrong = "a leader at the host port is told EXPIRED for a result that it waits for"
            s = s._replace(wanted=put(s.wanted, receiver, put(s.wanted[receiver], slot, size.plus(packet.tag))))
        return Step(what, "send", s, wrong)

    def _timers(self, s: NicState):
        rules = self.size.rules
        for slot, turn in enumerate(s.turn):
            waiting = s.waiting[slot]
            if waiting is None:
                if s.inside[slot] and not (rules.abort_waits and self._undelivered(s)):
                    what = f"{self.name}: abort of {self.size.segment(turn)}"
                    if self.parent:
                        yield Step(what, "timer", self._send_up(s, slot, failed=True))
                    else:
                        yield self._end(s, slot, FAILED if s.failed[slot] else TIMED_OUT, what, "timer")
                continue
            under_way = any(header.tag == turn for header in s.leaving)
            if waiting.repeats < self.size.repeats:
                if not under_way:
                    again = s._replace(
                        waiting=put(s.waiting, slot, waiting._replace(repeats=waiting.repeats + 1)),
                        leaving=(*s.leaving, Header(turn, True, waiting.failed)),
                    )
                    yield Step(f"{self.name}: repeats {self.size.segment(turn)} to its parent", "timer", again)
            elif not (rules.give_up_waits and (under_way or self._undelivered(s))):
                yield self._end(s, slot, PEER_GONE, f"{self.name}: gives up {self.size.segment(turn)}", "timer")

    def _ups_leave(self, s: NicState):
        """The first packet UP leaves; what it carries is read now."""
        if s.leaving:
            packet = Up(*s.leaving[0], s.up_store[s.leaving[0].tag % self.size.window])
            what = f"{self.name}: the contribution for its parent leaves: {say(packet, self.size)}"
            yield Step(what, "send", s._replace(leaving=s.leaving[1:], up=s.up | {packet}))

    # ------------------------------------------------------------------------------------------------- what it receives

    def packet_up(self, s: NicState, child: int, packet: Up) -> list[Step]:
        """A packet of a child comes in."""
        steps = self._contribution(s, self.size.leaders + child, packet, "packet")
        return [self._settled(step) for step in steps]

    def _contribution(self, s: NicState, source: int, packet: Up, kind: str) -> list[Step]:
        size, rules = self.size, self.size.rules
        slot = packet.tag % size.window
        turn, inside = s.turn[slot], s.inside[slot]
        what = f"{self.name}: from {self._name(source)} comes {say(packet, self.size)}: "
        if size.before(packet.tag, turn) and rules.turn_checked:
            return self._asked(s, source, packet, what, kind)
        if rules.turn_checked and packet.tag != turn:
            return []
        if s.waiting[slot] is not None or (source in inside and rules.members_once):
            return []
        wrong = None
        if source in inside:
            wrong = "a contribution enters a segment twice"
        elif packet.content != size.segment(turn):
            wrong = "a segment takes a contribution with the payload of another segment"
        steps = []
        complete = len(inside) + 1 >= self.total
        if complete and not self.parent and self._crowded(s):
            return []
        if size.damage and complete and kind == "packet":
            steps.append(Step(f"{what}damaged", kind, self._scribble(s, slot)))
        s = s._replace(
            inside=put(s.inside, slot, tuple(sorted((*inside, source)))),
            failed=put(s.failed, slot, s.failed[slot] or packet.failed),
        )
        if not complete:
            steps.append(Step(f"{what}enters", kind, s, wrong))
        elif self.parent:
            steps.append(Step(f"{what}completes it", kind, self._send_up(s, slot, s.failed[slot]), wrong))
        else:
            status = FAILED if s.failed[slot] else OK
            steps.append(self._end(s, slot, status, f"{what}completes it", kind, wrong))
        return steps

    def _asked(self, s: NicState, source: int, packet: Up, what: str, kind: str) -> list[Step]:
        """A packet of a segment that is over: answered, or a duplicate."""
        size = self.size
        slot = packet.tag % size.window
        last = s.last[slot] if packet.tag == size.plus(s.turn[slot], -1) else None
        under_way = any(copies.answer for copies in (*s.host, *s.net))
        if under_way or not (packet.repeat or last not in (None, OK)):
            return []
        place = None
        if last is not None:
            place = (packet.tag if size.rules.answers_own_slot else s.turn[slot]) % self._results
        answer = Copies(packet.tag, last or EXPIRED, place, (source,), True)
        port = "host" if source < size.leaders else "net"
        return [Step(f"{what}is answered", kind, s._replace(**{port: (*getattr(s, port), answer)}))]

    def packet_down(self, s: NicState, packet: Down) -> list[Step]:
        """A packet of the parent comes in."""
        size = self.size
        slot = packet.tag % size.window
        if packet.tag != s.turn[slot]:
            return []
        early = s.waiting[slot] is None
        if self._crowded(s):
            return []
        if early and (packet.status == OK or (size.rules.early_end_waits and self._undelivered(s))):
            return []
        what = f"{self.name}: from its parent comes {say(packet, self.size)}"
        wrong = None
        if packet.content != size.segment(packet.tag):
            wrong = "a NIC takes a result with the payload of another segment"
        steps = [self._end(s, slot, packet.status, what, "packet", wrong)]
        if size.damage:
            store = put(s.store, packet.tag % self._results, JUNK)
            steps.append(Step(f"{what}, damaged", "packet", s._replace(store=store)))
        return [self._settled(step) for step in steps]

    # -------------------------------------------------------------------------------------------------------- its parts

    def _send_up(self, s: NicState, slot: int, failed: bool) -> NicState:
        """The slot is complete or aborted, and waits for the parent."""
        tag = s.turn[slot]
        return s._replace(
            waiting=put(s.waiting, slot, Waiting(failed, 0)),
            leaving=(*s.leaving, Header(tag, False, failed)),
            up_store=put(s.up_store, slot, self.size.segment(tag)),
        )

    def _end(self, s: NicState, slot: int, status: str, what: str, kind: str, wrong: str | None = None) -> Step:
        """The slot's segment ends: its result is stored and goes to all, and the turn moves on."""
        size = self.size
        tag = s.turn[slot]
        segment, place = size.segment(tag), tag % self._results
        leaders, children = tuple(range(size.leaders)), tuple(range(size.leaders, self.total))
        if status == OK and not self.parent and s.inside[slot] != tuple(range(self.total)):
            wrong = wrong or "a segment succeeds without exactly one contribution of each"
        after = s._replace(
            turn=put(s.turn, slot, size.plus(tag)),
            inside=put(s.inside, slot, ()),
            failed=put(s.failed, slot, False),
            waiting=put(s.waiting, slot, None),
            last=put(s.last, slot, status),
            store=put(s.store, place, segment),
            host=(*s.host, Copies(tag, status, place, leaders, False)) if leaders else s.host,
            net=(*s.net, Copies(tag, status, place, children, False)) if children else s.net,
            ends=put(s.ends, segment, status) if size.history else s.ends,
        )
        return Step(f"{what}: {segment} ends with {status}", kind, after, wrong)

    def _scribble(self, s: NicState, slot: int) -> NicState:
        """A damaged contribution that would complete the segment: its sum is written before its end is known."""
        if self.parent:
            return s._replace(up_store=put(s.up_store, slot, JUNK))
        return s._replace(store=put(s.store, s.turn[slot] % self._results, JUNK))

    def _undelivered(self, s: NicState) -> bool:
        return bool(s.host or s.net)

    def _crowded(self, s: NicState) -> bool:
        """A window of results is under way at a port: one more is refused."""
        return any(sum(not copies.answer for copies in queue) >= self.size.window for queue in (s.host, s.net))

    def _name(self, contributor: int) -> str:
        leaders = self.size.leaders
        return f"leader {contributor}" if contributor < leaders else f"child {contributor}"

    def wrong(self, s: NicState) -> str | None:
        """What must hold in every state: the result that an answer would be read from is still there."""
        size = self.size
        if any(sum(not copies.answer for copies in queue) > size.window for queue in (s.host, s.net)):
            return "more than a window of results is under way at a port"
        for slot, turn in enumerate(s.turn):
            tag = size.plus(turn, -1)
            if s.last[slot] is not None and s.store[tag % self._results] != size.segment(tag):
                return f"the result of {size.segment(tag)} can still be asked for and is overwritten"
        return None
