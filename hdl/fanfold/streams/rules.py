"""The stream's rules as properties: what inputs assume, outputs assert, in simulation and in the formal tier."""

from amaranth import *
from amaranth.hdl import Assert, Assume, Cover

__all__ = ["assume_or_assert"]


def assume_or_assert(m: Module, stream, *, name: str, assume: bool = False, last: int | None = None) -> None:
    """Adds the rules of ``stream`` to ``m``: assumed where ``assume`` (a component's inputs), else asserted.

    The rules: ``valid`` is low right after reset; while stalled, ``valid`` stays and the payload stands still. With
    ``last``, a number of beats, the payload is a packet's beat with a member ``last``, and no packet is longer. Each
    stream also covers an item that moves, and one that moves after a stall, so that no proof is vacuous.
    """
    rule = Assume if assume else Assert
    bits = Value.cast(stream.payload)
    fresh = Signal(init=1, name=f"{name}_fresh")  # right after reset
    stalled = Signal(name=f"{name}_stalled")  # the last cycle's offer was not taken
    standing = Signal(bits.shape(), reset_less=True, name=f"{name}_standing")
    m.d.sync += [
        fresh.eq(0),
        stalled.eq(stream.valid & ~stream.ready),
        standing.eq(bits),
        rule(~(fresh & stream.valid), f"{name}: valid in reset"),
        rule(~stalled | stream.valid, f"{name}: valid fell while stalled"),
        rule(~stalled | (bits == standing), f"{name}: payload changed while stalled"),
        Cover(stream.valid & stream.ready, f"{name}: an item moves"),
        Cover(stream.valid & stream.ready & stalled, f"{name}: an item moves after a stall"),
    ]
    if last is not None:
        before = Signal(range(last + 1), name=f"{name}_before")  # beats of this packet that have moved
        with m.If(stream.valid & stream.ready):
            m.d.sync += before.eq(Mux(stream.payload.last, 0, before + 1))
        m.d.sync += rule(
            ~stream.valid | stream.payload.last | (before < last - 1), f"{name}: a packet of more than {last} beats"
        )
