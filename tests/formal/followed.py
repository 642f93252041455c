"""Order, no loss and no duplication, as properties of one item that the solver chooses."""

from amaranth import *

__all__ = ["Followed"]


class Followed:
    """Counts the items inside a component with one input and one output, and follows any one of them through it.

    An item may be chosen when it moves in. From then on ``ahead`` counts those before it that are still ``inside``, and
    when it is its turn the output must offer ``value``, as it came in. Since the choice is free, that holds for every
    item: none is lost, none comes twice, none changes, and their order stays. ``capacity`` bounds those inside; an
    output may offer nothing while something is inside for ``patience`` cycles in a row; an empty component
    takes the next item.
    """

    def __init__(self, proof, *, capacity: int, patience: int):
        m, source, sink = proof.m, proof.dut.i, proof.dut.o
        width = Value.cast(source.payload).shape()
        chosen_now = proof.free(1, "chosen_now")
        self.inside = inside = Signal(range(2 * capacity + 2))
        self.waiting = waiting = Signal()  # the chosen item is inside
        self.ahead = ahead = Signal(range(2 * capacity + 2))
        self.value = value = Signal(width)
        dry = Signal(range(patience + 2))
        entered, left = Signal(), Signal()
        m.d.comb += [entered.eq(source.valid & source.ready), left.eq(sink.valid & sink.ready)]
        m.d.sync += [inside.eq(inside + entered - left), dry.eq(Mux((inside != 0) & ~sink.valid, dry + 1, 0))]
        with m.If(entered & chosen_now & ~waiting):
            m.d.sync += [waiting.eq(1), value.eq(source.payload), ahead.eq(inside - left)]
        with m.Elif(waiting & left):
            m.d.sync += [waiting.eq(ahead != 0), ahead.eq(ahead - 1)]
        proof.require((inside != 0) | ~sink.valid, "nothing is offered that did not come in")
        proof.require(inside <= capacity, "no more inside than there is room")
        proof.lemma(~waiting | (ahead < inside), "the followed item is inside")
        offered = Value.cast(sink.payload)
        proof.require(~(waiting & (ahead == 0) & sink.valid) | (offered == value), "the followed item is next")
        proof.require((inside == 0) | sink.valid | (dry < patience), "what is inside is offered")
        proof.require((inside != 0) | source.ready, "what is empty takes an item")
        proof.cover(waiting & (ahead == 0) & left, "the followed item leaves")
        proof.cover(inside == capacity, "it fills up")
