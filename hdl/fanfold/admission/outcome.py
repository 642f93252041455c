"""What an accepted packet does: the record after it, and the segment that it sends on. No state."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Direction, Status
from ..config import Config
from ..registry.ports import slot_layout
from ..wire import FAULT, FAULT_OF_ONE_BYTES, FLAGS, VERSION, segment_layout
from .judge import verdict_layout
from .layouts import screened_layout

__all__ = ["Outcome", "effect_layout"]


def effect_layout(config: Config) -> data.StructLayout:
    """What a packet does besides going on.

    ``changes``: the record is written. ``folds``: it is combined with the others. ``leaves``: it leaves the fold, as
    ``segment`` says. ``short``: only its last beat goes on, in place of the first. ``faulty``: that beat says that the
    contributor is at fault. ``full``: it is the last contribution. ``ends``: the slot's turn is over. ``result``: all
    contributors get something, ``single``: one of them or the parent does.
    """
    names = ("changes", "folds", "leaves", "short", "faulty", "full", "ends", "result", "single")
    return data.StructLayout({**dict.fromkeys(names, 1), "segment": segment_layout(config)})


class Outcome(wiring.Component):
    """Says what ``packet``, judged as in ``verdict``, does to its slot's ``record``: ``after`` and ``effect``.

    Latency: 0. Throughput: 1. On error: none; for an empty verdict the outputs mean nothing but ``changes`` and
    ``leaves``, which are 0.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "packet": In(screened_layout(config)),
                "record": In(slot_layout(config)),
                "verdict": In(verdict_layout()),
                "after": Out(slot_layout(config)),
                "effect": Out(effect_layout(config)),
                "status": Out(Status),
            }
        )
        self._config = config

    def elaborate(self, platform):
        m = Module()
        config = self._config
        packet, record, verdict, effect = self.packet, self.record, self.verdict, self.effect
        header, geometry = packet.header, packet.geometry
        root = geometry.root
        total = Signal(range(config.contributors + 1))
        m.d.comb += total.eq(geometry.leaders + geometry.children)

        # how the segment stands after a contribution: the first that fails it decides what it ends with
        told, told_first = (
            Cat(each.collective, each.opt_code, each.data_type, each.root, each.length) for each in (header, record)
        )
        mine = Signal(Status)
        failed = Signal()  # before this packet
        fails = Signal()  # with it
        reported = Signal()
        fault_bytes = Signal(range(FAULT.bytes + 1))  # of a status that came with its payload
        m.d.comb += [
            mine.eq(packet.failing),
            failed.eq(record.begun & (record.status != Status.OK)),
            fails.eq(~failed & (mine != Status.OK)),
            reported.eq(header.status != 0),
            fault_bytes.eq(Mux(header.length > FAULT.bytes, FAULT.bytes, header.length)),
            effect.full.eq(verdict.up & (record.missing == 1)),
        ]
        with m.If((packet.failing == Status.OK) & record.begun & (told != told_first)):
            m.d.comb += mine.eq(Status.MISMATCH)

        # what the segment is from now on
        now = data.StructLayout(
            {"status": Status, "collective": 8, "opt_code": 8, "data_type": 8, "root": 16, "length": 16}
        )
        kept, new = Signal(now, name="kept"), Signal(now, name="new")
        said = Signal(now)
        for part in ("status", "collective", "opt_code", "data_type", "root", "length"):
            m.d.comb += [kept[part].eq(record[part]), Value.cast(new[part]).eq(header[part])]
        with m.If(verdict.up & ~record.begun | verdict.down | verdict.announced):
            m.d.comb += said.eq(new)
        with m.Else():
            m.d.comb += said.eq(kept)
        with m.If(verdict.up):
            m.d.comb += said.status.eq(Mux(failed, Value.cast(record.status), Value.cast(mine)))
            with m.If(fails):
                m.d.comb += said.length.eq(Mux(reported, fault_bytes, FAULT_OF_ONE_BYTES))
        with m.Elif(verdict.down & reported):
            m.d.comb += said.length.eq(fault_bytes)
        with m.Elif(verdict.overdue & ~failed):
            m.d.comb += [said.status.eq(Status.TIMED_OUT), said.length.eq(FAULT.bytes)]
        with m.Elif(verdict.given_up):
            m.d.comb += [said.status.eq(Status.PEER_GONE), said.length.eq(FAULT.bytes)]
        m.d.comb += self.status.eq(said.status)

        upward = Signal()  # to the parent
        completes = Signal()
        m.d.comb += [
            upward.eq(
                ((effect.full | verdict.overdue) & ~root) | verdict.repeated | (verdict.announced & ~packet.down)
            ),
            effect.ends.eq(verdict.down | verdict.given_up | ((effect.full | verdict.overdue) & root)),
            effect.changes.eq(verdict.up | verdict.down | verdict.overdue | verdict.given_up),
            effect.folds.eq(verdict.up & (said.status == Status.OK)),
            completes.eq(~verdict.up | effect.full),
            effect.result.eq(effect.ends | (verdict.announced & packet.down & ~packet.sole)),
            effect.single.eq(upward | verdict.answered | (verdict.announced & packet.sole)),
            effect.faulty.eq(verdict.up & fails & ~reported),
        ]
        self._change(m, total, upward, said)

        segment = effect.segment
        m.d.comb += [
            segment.context.eq(packet.context),
            segment.slot.eq(header.coll_tag),
            # a fault is kept where the segment will leave from
            segment.direction.eq(Mux(upward | (verdict.up & ~root), Direction.UP, Direction.DOWN)),
            segment.leaders.eq(geometry.leaders),
            segment.children.eq(geometry.children),
            segment.completes.eq(completes),
            segment.sole.eq(verdict.answered | (verdict.announced & packet.sole)),
        ]
        with m.If(verdict.up):
            m.d.comb += [
                segment.writes.eq((said.status == Status.OK) | fails),
                effect.short.eq((said.status != Status.OK) & ~(fails & reported)),
            ]
        with m.Else():
            brief = verdict.repeated | verdict.answered | (verdict.overdue & failed)
            m.d.comb += [segment.writes.eq(~brief), effect.short.eq(brief)]
        accepted = effect.changes | verdict.announced | verdict.repeated | verdict.answered
        m.d.comb += effect.leaves.eq(accepted & (completes | (fails & verdict.up)))
        self._head(m, segment.header, upward, said)
        return m

    def _change(self, m, total, upward, said):
        """The record after the packet; a slot whose segment ended is ready for the next one, a window on."""
        record, after, effect = self.record, self.after, self.effect
        me = Signal(self._config.contributors)
        m.d.comb += [
            me.eq(1 << self.packet.header.source[: self._config.levels]),
            after.eq(record),
            after.begun.eq(1),
            after.waiting.eq(record.waiting | upward),
        ]
        with m.If(self.verdict.up):
            m.d.comb += [after.missing.eq(record.missing - 1), after.present.eq(record.present | me)]
        for part, _ in said.shape():
            m.d.comb += after[part].eq(said[part])
        with m.If(effect.ends):
            m.d.comb += [
                after.turn.eq(record.turn + self._config.window),
                after.missing.eq(total),
                after.present.eq(0),
                after.begun.eq(0),
                after.waiting.eq(0),
                after.last.valid.eq(1),
                *(after.last[part].eq(said[part]) for part, _ in said.shape()),
            ]

    def _head(self, m, sent, upward, said):
        """The header that goes on: the packet's, but for what the segment is."""
        verdict, header, last = self.verdict, self.packet.header, self.record.last
        flags = Signal(FLAGS)
        repeat = FLAGS(header.flags).repeat
        m.d.comb += [
            flags.version.eq(VERSION),
            flags.direction.eq(~upward),
            flags.repeat.eq(verdict.repeated | (verdict.announced & repeat)),
            sent.eq(header),
            sent.flags.eq(flags),
        ]
        for part, _ in said.shape():
            m.d.comb += sent[part].eq(said[part])
        with m.If(upward & ~verdict.announced):
            m.d.comb += sent.source.eq(self.packet.geometry.parent_index)
        with m.If(verdict.answered):
            # what is kept is of one window before; of anything older only that it is over
            kept = last.valid & (header.coll_tag == (self.record.turn - self._config.window)[:32])
            with m.If(kept):
                for part, _ in said.shape():
                    m.d.comb += sent[part].eq(last[part])
            with m.Else():
                m.d.comb += [
                    *(sent[part].eq(header[part]) for part in ("collective", "opt_code", "data_type", "root")),
                    sent.status.eq(Status.EXPIRED),
                    sent.length.eq(0),
                ]
