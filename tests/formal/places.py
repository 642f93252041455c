"""Where a followed item is inside the queues: what makes the proofs about them inductive."""

from amaranth import *

__all__ = ["fifo_holds", "skid_holds"]


def skid_holds(proof, followed, prefix: str = "") -> None:
    """In a skid, whose two registers count those inside."""
    spare, spare_empty = proof.inside(f"{prefix}spare"), proof.inside(f"{prefix}spare_empty")
    proof.lemma(followed.inside == proof.dut.o.valid + ~spare_empty, "the registers in use count those inside")
    proof.lemma(spare_empty | proof.dut.o.valid, "the spare register is the second to fill")
    second = followed.waiting & (followed.ahead == 1)
    proof.lemma(~second | (Value.cast(spare) == Value.cast(followed.value)), "the second item is in the spare register")


def fifo_holds(proof, followed, depth: int, prefix: str = "") -> Value:
    """In a queue of ``depth``: an output register behind rows of memory. Returns how many items it holds."""
    rows = depth  # one of them is free
    produce, consume = proof.inside(f"{prefix}produce"), proof.inside(f"{prefix}consume")
    stored, offered = proof.inside(f"{prefix}stored"), proof.inside(f"{prefix}offers")
    value = Value.cast(followed.value)
    where = Signal(range(2 * depth))
    proof.m.d.comb += where.eq(consume + followed.ahead - offered)
    row = proof.row(f"{prefix}storage", Mux(where >= rows, where - rows, where), "row")
    proof.lemma((produce < rows) & (consume < rows) & (stored < rows), "positions are those of rows")
    room, more = proof.inside(f"{prefix}has_room"), proof.inside(f"{prefix}has_more")
    proof.lemma((room == (stored != rows - 1)) & (more == (stored != 0)), "there is room, and more, as rows say")
    proof.lemma(proof.inside(f"{prefix}level") == stored + offered, "the level is that of the rows")
    enclosed = (consume + stored == produce) | (consume + stored == produce + rows)
    proof.lemma(enclosed, "positions enclose what is stored")
    held = Signal(range(depth + 1))
    proof.m.d.comb += held.eq(stored + offered)
    in_memory = followed.waiting & (followed.ahead >= offered) & (followed.ahead < held)
    proof.lemma(~in_memory | (row == value), "the followed item is in its row")
    return held
