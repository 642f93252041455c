"""One level of the fold's tree: a beat passes, meets what its sibling subtree stored, or is stored itself."""

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import DataType, Operator
from ..config import Config
from .lane import LANE_BYTES, Lane, lane_latency, splits_pairs
from .registers import delayed

__all__ = ["Stage", "level_layout", "stage_latency"]

#: cycles from a beat in to its operands at the lanes: the address, the memory, and the register behind it
_READ = 3
#: cycles from a beat in to its order at the lanes
_ORDER = _READ - 1


def stage_latency(config: Config) -> int:
    """Cycles from a beat into a stage to the beat out."""
    return _READ + lane_latency(config)


def level_layout(config: Config, level: int) -> data.StructLayout:
    """A beat on its way into ``level`` (``config.levels``: out of the last one): what this and later levels need.

    ``combine`` and ``keep`` have a bit for each level from this one on; ``node`` is the node of this level's tree that
    the beat comes from.
    """
    fields: dict = {
        "data": 8 * config.beat_bytes,
        "first": 1,
        "last": 1,
        "bad": 1,
        "beat": range(config.segment_beats),
    }
    left = config.levels - level
    if left:
        fields |= {
            "slot": range(config.fold_slots),
            "node": left,
            "operator": Operator,
            "type": DataType,
            "combine": left,
            "keep": left,
        }
    return data.StructLayout(fields)


class Stage(wiring.Component):
    """Level ``level`` of the tree.

    A beat with its ``keep`` bit is written to the parent node's place for its slot and beat, and stops; one with its
    ``combine`` bit reads that place and leaves combined with it; any other leaves as it is. Each place is written once
    and read once a segment. Writes and reads happen at the same rank of the pipeline, so a beat that was kept can be
    read in the very next cycle.

    Latency: ``latency``. Throughput: 1. Ready path: none, it never stalls. Order: kept. On error: ``bad`` travels on; a
    bad packet writes only what its repetition writes again.
    """

    def __init__(self, config: Config, level: int):
        if not 0 <= level < config.levels:
            raise ValueError(f"level is {level}: it must be from 0 to {config.levels - 1}")
        super().__init__(
            {
                "i": In(stream.Signature(level_layout(config, level), always_ready=True)),
                "o": Out(stream.Signature(level_layout(config, level + 1), always_ready=True)),
            }
        )
        self._config = config
        self._level = level
        #: places of the store: one a node, slot and beat
        self.depth = (config.leaves >> (level + 1)) * config.fold_slots * config.segment_beats
        #: cycles from a beat in to the beat out
        self.latency = stage_latency(config)

    def elaborate(self, platform):
        m = Module()
        config, beat = self._config, self.i.payload
        bits = 8 * config.beat_bytes

        m.submodules.store = store = memory.Memory(shape=bits, depth=self.depth, init=[])
        write, read = store.write_port(), store.read_port()

        # rank 1: address and enables
        arrived = Signal(beat.shape(), reset_less=True)
        valid = Signal()
        keeps = Signal()
        reads = Signal()
        address = Signal(range(self.depth), reset_less=True)
        m.d.sync += [
            arrived.eq(beat),
            valid.eq(self.i.valid & ~beat.keep[0]),
            keeps.eq(self.i.valid & beat.keep[0]),
            reads.eq(self.i.valid & beat.combine[0] & ~beat.keep[0]),
            # the beat is the highest part: it need not be a power of two
            address.eq(Cat(beat.slot, beat.node[1:], beat.beat)),
        ]
        m.d.comb += [
            write.addr.eq(address),
            write.data.eq(arrived.data),
            write.en.eq(keeps),
            read.addr.eq(address),
            read.en.eq(reads),
        ]

        # rank 2: the memory's own register; rank 3: a register behind it
        stored = Signal(bits, reset_less=True)
        m.d.sync += stored.eq(read.data)
        operand = delayed(m, arrived.data, 2, "operand")
        valid = delayed(m, valid, _READ - 1, "valid", reset=True)

        # what the lanes are to do, a cycle before the operands: registers of its own for one or two of them
        order = Cat(beat.operator, beat.type, beat.combine[0])
        lanes = [Lane(config) for _ in range(config.beat_bytes // LANE_BYTES)]
        orders = _copied(m, order, min(len(lanes), 1 << _ORDER), _ORDER, "order")
        for index, lane in enumerate(lanes):
            m.submodules[f"lane_{index}"] = lane
            order = orders[index * len(orders) // len(lanes)]
            m.d.comb += [
                lane.a.eq(operand.word_select(index, 8 * LANE_BYTES)),
                lane.b.eq(stored.word_select(index, 8 * LANE_BYTES)),
                Cat(lane.operator, lane.type, lane.combine).eq(order),
            ]
        if splits_pairs(config):
            self._join_halves(m, lanes, arrived.beat[0], valid)

        # beside the store and the lanes: what later levels and the result need
        m.d.comb += self.o.payload.data.eq(Cat(lane.o for lane in lanes))
        onward = self.o.payload
        for name in onward.shape().members:
            if name == "data":
                continue
            value = Value.cast(arrived[name])
            if name in ("node", "combine", "keep"):
                value = value[1:]
            m.d.comb += Value.cast(onward[name]).eq(delayed(m, value, self.latency - 1, name))
        m.d.comb += self.o.valid.eq(delayed(m, valid, self.latency - _READ, "result_valid", reset=True))
        return m

    def _join_halves(self, m: Module, lanes: list[Lane], odd: Value, valid: Value):
        """Hands each lane with the index of a 16-byte pair how the pair's value compared: in the lane before it, or,
        where a beat is one lane, in the beat before. ``odd`` is that of the beat at rank 1, ``valid`` at rank 3."""
        if len(lanes) > 1:
            for index, lane in enumerate(lanes):
                m.d.comb += lane.half.eq(index & 1)
            for lane, after in zip(lanes[::2], lanes[1::2], strict=True):
                m.d.comb += after.before.eq(lane.decided)
            return
        (lane,) = lanes
        half = delayed(m, odd, _ORDER - 1, "half")
        is_value = delayed(m, valid & ~delayed(m, half, 1, "operand_half"), lane.decided_after, "is_value")
        held = Signal(2, reset_less=True)
        with m.If(is_value):
            m.d.sync += held.eq(lane.decided)
        m.d.comb += [lane.half.eq(half), lane.before.eq(held)]


def _copied(m: Module, value: Value, copies: int, cycles: int, name: str) -> list[Value]:
    """``copies`` (at most 2 to the power of ``cycles``) of ``value`` after ``cycles`` registers.

    A tree: every register feeds two, which begin with different values. Registers that begin alike and are fed alike
    would be merged by synthesis, and one would drive all lanes again.
    """
    copied = [value]
    for cycle in range(1, cycles + 1):
        fed = []
        for index in range(min(1 << cycle, copies)):
            begin = -(index & 1) & (1 << len(value)) - 1
            register = Signal(len(value), name=f"{name}_{cycle}_{index}", init=begin, reset_less=True)
            m.d.sync += register.eq(copied[index >> 1 if len(copied) < copies else index])
            fed.append(register)
        copied = fed
    return copied
