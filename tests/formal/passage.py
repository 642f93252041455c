"""What goes in comes out: any one item is followed from the input to the output, whatever it becomes on the way."""

from amaranth import *

__all__ = ["Passage"]


class Passage:
    """As ``Followed``, for a component whose output offers something else than what its input takes.

    In a cycle in which ``entered`` is high, the output owes one ``item`` more, after those that it owes already. When
    it is an item's turn, ``offered`` must be that item. ``capacity`` bounds the items ``inside``; the output may offer
    nothing while something is inside for ``patience`` cycles in a row. In a cycle with ``recalled``, the ``part``
    newest items are owed no more; nothing enters then.
    """

    def __init__(self, proof, entered, item, offered, *, capacity, patience, recalled=0, part=0):
        m, sink = proof.m, proof.dut.o
        chosen_now = proof.free(1, "chosen_now")
        item = Value.cast(item)
        self.inside = inside = Signal(range(2 * capacity + 2), name="inside")
        self.waiting = waiting = Signal(name="waiting")  # the followed item is inside
        self.ahead = ahead = Signal(range(2 * capacity + 2), name="ahead")
        self.value = value = Signal(len(item), name="value")
        self.left = left = Signal(name="left")
        self.next = Signal(name="next")  # it is the followed item's turn
        dry = Signal(range(patience + 2), name="dry")
        m.d.comb += [left.eq(sink.valid & sink.ready), self.next.eq(waiting & (ahead == 0))]
        m.d.sync += [
            inside.eq(inside + entered - left - Mux(recalled, part, 0)),
            dry.eq(Mux((inside != 0) & ~sink.valid, dry + 1, 0)),
        ]
        with m.If(entered & chosen_now & ~waiting):
            m.d.sync += [waiting.eq(1), value.eq(item), ahead.eq(inside - left)]
        with m.Elif(waiting & left):
            m.d.sync += [waiting.eq(ahead != 0), ahead.eq(ahead - 1)]
        with m.If(waiting & recalled & (ahead + part >= inside)):
            m.d.sync += waiting.eq(0)
        proof.require((inside != 0) | ~sink.valid, "nothing is offered that did not come in")
        proof.require(inside <= capacity, "no more inside than there is room")
        proof.lemma(~waiting | (ahead < inside), "the followed item is inside")
        proof.require(~(self.next & sink.valid) | (Value.cast(offered) == value), "the followed item is next")
        proof.require((inside == 0) | sink.valid | (dry < patience), "what is inside is offered")
        proof.cover(self.next & left, "the followed item leaves")
        proof.cover(inside == capacity, "it fills up")
