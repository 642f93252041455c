"""The checks that do not need the slot: context, contributor, source, and what this instance can fold."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Collective, Direction, Origin, Port, Status, known
from ..config import Config
from ..registry.ports import screen_signature
from ..wire import FLAGS, tagged_layout
from .layouts import screened_layout
from .reductions import foldable, part_of_element, small

__all__ = ["Screen"]


class Screen(wiring.Component):
    """Asks the registry about each packet's context and contributor, and names the first cause against it.

    Packets of a timer name their context by its number; their header leaves with the names that it has.

    Latency: 3. Throughput: 1. Ready path: always ready. Order: kept. On error: none; the causes travel with the beats.
    """

    latency = 3

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(tagged_layout(config), always_ready=True)),
                "screen": Out(screen_signature(config)),
                #: contexts of which a beat is on its way through
                "inside": Out(config.contexts),
                "o": Out(stream.Signature(screened_layout(config), always_ready=True)),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        context_bits = (config.contexts - 1).bit_length()

        # rank 1: the registry's answer arrives beside the beat
        arrived = self.i.p
        beat = Signal(tagged_layout(config), reset_less=True)
        valid = Signal()
        m.d.comb += [
            self.screen.question.context.eq(arrived.head.header.comm_id[:context_bits]),
            self.screen.question.index.eq(arrived.head.header.source),
        ]
        m.d.sync += [beat.eq(self.i.payload), valid.eq(self.i.valid)]

        # rank 2: every check on its own
        header, remote, answer = beat.head.header, beat.head.remote, self.screen.answer
        geometry = answer.geometry
        down = FLAGS(header.flags).direction == Direction.DOWN.value
        at_host = beat.port == Port.HOST
        checks = {
            "open": answer.open,
            "named": (answer.open | answer.lingering)
            & (Value.cast(answer.names) == Cat(header.comm_id, header.coll_tag_high32)),
            "is_leader": header.source < geometry.leaders,
            "is_child": (header.source >= geometry.leaders) & (header.source < geometry.leaders + geometry.children),
            "mac": remote.mac == Mux(down, answer.parent.mac, answer.member.mac),
            "ip": remote.ip == Mux(down, answer.parent.ip, answer.member.ip),
            "port": remote.port == Mux(down, answer.parent.port, answer.member.port),
            "queue": down | (remote.queue == answer.member.queue),
            "child_of_parent": ~geometry.root,
            "too_long": header.length > config.segment_bytes,
            "no_whole": part_of_element(config, header.data_type, header.length),
            "small": small(header.opt_code) & small(header.data_type),
            "foldable": foldable(config, header.opt_code, header.data_type),
            "reduces": header.collective == Collective.ALLREDUCE.value,
            "synchronises": known(header.collective, (Collective.BARRIER, Collective.DEREGISTER)),
            "reported": header.status != 0,
        }
        found = {name: Signal(name=name) for name in checks}
        m.d.sync += [found[name].eq(check) for name, check in checks.items()]
        late = Signal(screened_layout(config), reset_less=True)
        late_valid = Signal()
        late_at_host = Signal()
        m.d.sync += [
            late.data.eq(beat.data),
            late.first.eq(beat.first),
            late.last.eq(beat.last),
            late.bad.eq(beat.bad),
            late.port.eq(beat.port),
            late.origin.eq(beat.origin),
            late.sole.eq(beat.sole),
            late.down.eq(down),
            late.header.eq(header),
            late.context.eq(header.comm_id[:context_bits]),
            late.geometry.eq(geometry),
            late.lingering.eq(answer.lingering),
            late_at_host.eq(at_host),
            late_valid.eq(valid),
        ]

        timed = Signal()
        m.d.comb += timed.eq((beat.origin != Origin.RECEIVED) & (beat.origin != Origin.ANNOUNCED))
        with m.If(timed):
            m.d.sync += [
                late.header.comm_id.eq(answer.names.comm_id),
                late.header.coll_tag_high32.eq(answer.names.key),
            ]

        # rank 3: the first cause
        source = found["mac"] & found["ip"] & found["port"] & found["queue"]
        supported = Signal()
        m.d.comb += supported.eq(Mux(found["reduces"], found["small"] & found["foldable"], found["synchronises"]))
        refusal = Signal(Status)
        failing = Signal(Status)
        with m.If(late.origin == Origin.ANNOUNCED):
            m.d.comb += refusal.eq(Status.OK)
        with m.Elif(late.origin != Origin.RECEIVED):
            m.d.comb += refusal.eq(Mux(found["open"], Status.OK, Status.NOT_OPEN))
        with m.Elif(late.down & late_at_host):
            m.d.comb += refusal.eq(Status.WRONG_SOURCE)
        with m.Elif(~found["named"] | (late.lingering & (late.down | late_at_host | ~FLAGS(late.header.flags).repeat))):
            m.d.comb += refusal.eq(Status.NOT_OPEN)
        with m.Elif(~late.down & ~Mux(late_at_host, found["is_leader"], found["is_child"])):
            m.d.comb += refusal.eq(Status.OUT_OF_RANGE)
        with m.Elif(~source | (late.down & ~found["child_of_parent"])):
            m.d.comb += refusal.eq(Status.WRONG_SOURCE)

        with m.If(found["reported"]):
            m.d.comb += Value.cast(failing).eq(late.header.status)
        with m.Elif(~supported):
            m.d.comb += failing.eq(Status.UNSUPPORTED)
        with m.Elif(Mux(found["reduces"], found["too_long"] | found["no_whole"], late.header.length != 0)):
            m.d.comb += failing.eq(Status.BAD_LENGTH)
        m.d.sync += [self.o.payload.eq(late), self.o.valid.eq(late_valid)]
        m.d.sync += [
            self.o.p.refusal.eq(refusal),
            self.o.p.failing.eq(failing),
            self.o.p.too_long.eq(found["too_long"]),
        ]
        ranks_inside = []
        ranks = ((valid, beat.head.header.comm_id), (late_valid, late.context), (self.o.valid, self.o.p.context))
        for number, (used, context) in enumerate(ranks):
            here = Signal(config.contexts, name=f"inside_{number + 1}")
            m.d.comb += here.eq(Mux(used, 1 << context[:context_bits], 0))
            ranks_inside.append(here)
        m.d.comb += self.inside.eq(reduce(or_, ranks_inside))
        return m
