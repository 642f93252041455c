"""The fold spine: a contribution streams through the levels of a fixed binary tree, and what leaves is the result.

Beats come from ``admission``, which decides at which levels a packet meets its siblings and where it is kept; results
go to ``results``.
"""

from itertools import pairwise

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import Config
from ..wire import fold_layout, result_layout
from .stage import Stage, stage_latency

__all__ = ["Spine", "spine_latency"]


def spine_latency(config: Config) -> int:
    """Cycles from a beat into the spine to the beat out."""
    return config.levels * stage_latency(config)


class Spine(wiring.Component):
    """``config.levels`` stages in a chain.

    The packet that completes a subtree carries its result on; one that is kept at some level never leaves. Packets
    must not be mixed beat by beat, and the plan of a packet must be the same in all its beats. The order in which
    contributions come changes nothing in the bits of the result.

    Latency: ``latency``. Throughput: 1. Ready path: none, it never stalls. Order: kept. On error: ``bad`` travels on
    with the beat.
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "i": In(stream.Signature(fold_layout(config), always_ready=True)),
                "o": Out(stream.Signature(result_layout(config), always_ready=True)),
            }
        )
        self._config = config
        #: cycles from a beat into one level to the beat out
        self.stage_latency = stage_latency(config)
        #: cycles from a beat in to the beat out
        self.latency = spine_latency(config)

    def elaborate(self, platform):
        m = Module()
        stages = [Stage(self._config, level) for level in range(self._config.levels)]
        first, last = stages[0], stages[-1]
        for level, stage in enumerate(stages):
            m.submodules[f"stage_{level}"] = stage
        for before, after in pairwise(stages):
            wiring.connect(m, before.o, after.i)

        i, o = self.i.payload, self.o.payload
        m.d.comb += [first.i.valid.eq(self.i.valid), self.o.valid.eq(last.o.valid)]
        for name in first.i.payload.shape().members:
            m.d.comb += first.i.payload[name].eq(i["leaf" if name == "node" else name])
        for name in last.o.payload.shape().members:
            m.d.comb += o[name].eq(last.o.payload[name])
        return m
