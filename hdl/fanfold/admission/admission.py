"""Which packets enter the fold, and with what plan. Only connects."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..codes import Port, Status
from ..config import Config
from ..control.events import refused
from ..control.reports import report_layout
from ..control.timing import timing_layout
from ..registry.ports import screen_signature, slots_signature
from ..wire import fold_layout, head_layout, payload_layout, segment_layout, tagged_layout
from .account import DECISIONS
from .decide import Decide
from .merge import Merge
from .plan import Plan
from .screen import Screen
from .timers import Timers, patience_layout
from .waiting import WaitingRoom

__all__ = ["Admission"]


class Admission(wiring.Component):
    """Packets of both ports in; those accepted go to the fold, with a segment for each that will leave it.

    A packet waits until it is whole, then for its turn; at the host port the next one waits until there is room, at the
    network port it is then dropped whole and counted (``net_overrun``).

    Latency: ``latency`` from a packet's last payload beat to its first fold beat. Throughput: 1. Ready path: registered
    for payload; the fold is always ready. Order: kept within each port. On error: what is refused changes nothing and
    is counted by cause.
    """

    def __init__(self, config: Config):
        head, payload = stream.Signature(head_layout(config)), stream.Signature(payload_layout(config))
        tagged = stream.Signature(tagged_layout(config))
        names = [refused(status) for status in Status if status is not Status.OK]
        super().__init__(
            {
                "host_head": In(head),
                "host_payload": In(payload),
                "net_head": In(head),
                "net_payload": In(payload),
                "announcements": In(tagged),
                #: what the timers need: what they are told, the time, the contexts that open and those that end
                "timing": In(timing_layout()),
                "now": In(32),
                "timed": Out(1),
                "patience": In(stream.Signature(patience_layout(config), always_ready=True)),
                "freed": In(config.contexts),
                "registrations": Out(tagged),
                "screen": Out(screen_signature(config)),
                "slots": Out(slots_signature(config)),
                "host_done": In(config.contexts),
                "net_done": In(config.contexts),
                "host_single_done": In(config.contexts),
                "net_single_done": In(config.contexts),
                "undelivered": Out(config.contexts),
                "o": Out(stream.Signature(fold_layout(config), always_ready=True)),
                "segments": Out(stream.Signature(segment_layout(config), always_ready=True)),
                "reports": Out(stream.Signature(report_layout(config), always_ready=True)),
                "events": Out(data.StructLayout(dict.fromkeys([*names, *DECISIONS, "net_overrun"], 1))),
            }
        )
        self._config = config

    #: cycles from a packet's last payload beat taken to its first fold beat
    latency = WaitingRoom.latency + 1 + Screen.latency + Decide.latency + Plan.latency

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge = merge = Merge(self._config)
        m.submodules.screen = screen = Screen(self._config)
        m.submodules.decide = decide = Decide(self._config)
        m.submodules.plan = plan = Plan(self._config)
        m.submodules.timers = timers = Timers(self._config)
        for port in Port:
            name = port.name.lower()
            m.submodules[f"{name}_waiting"] = room = WaitingRoom(self._config, lossy=port is Port.NET)
            for part in ("head", "payload"):
                connect(m, flipped(getattr(self, f"{name}_{part}")), getattr(room, f"i_{part}"))
                connect(m, getattr(room, f"o_{part}"), getattr(merge, f"{name}_{part}"))
            m.d.comb += [merge.pressed[port.value].eq(room.pressed), merge.coming[port.value].eq(room.coming)]
            if port is Port.NET:
                m.d.comb += self.events.net_overrun.eq(room.dropped)
        connect(m, flipped(self.announcements), merge.announcements)
        connect(m, timers.o, merge.reminders)
        connect(m, merge.registrations, flipped(self.registrations))
        connect(m, merge.o, screen.i)
        connect(m, screen.screen, flipped(self.screen))
        connect(m, screen.o, decide.i)
        connect(m, decide.slots, flipped(self.slots))
        connect(m, flipped(self.patience), timers.describe)
        connect(m, decide.reports, flipped(self.reports))
        connect(m, decide.o, plan.i)
        connect(m, plan.o, flipped(self.o))
        connect(m, plan.segments, flipped(self.segments))
        m.d.comb += [
            decide.host_done.eq(self.host_done),
            decide.net_done.eq(self.net_done),
            decide.host_single_done.eq(self.host_single_done),
            decide.net_single_done.eq(self.net_single_done),
            self.undelivered.eq(decide.undelivered | screen.inside | timers.busy),
            timers.timing.eq(self.timing),
            timers.now.eq(self.now),
            timers.commit.valid.eq(decide.slots.commit.valid),
            timers.commit.payload.eq(decide.slots.commit.payload),
            timers.forget.eq(self.freed),
            timers.sending.eq(decide.sending),
            self.timed.eq(timers.timed),
        ]
        for name in DECISIONS:
            m.d.comb += self.events[name].eq(decide.events[name])
        for status in Status:
            if status is not Status.OK:
                m.d.comb += self.events[refused(status)].eq(decide.events[status.name])
        return m
