"""One side of the delivery: from completed segments to the copies that leave at one port.

Segments come from ``delivery``; addresses from the registry's directory; copies go to the egress of the port.
"""

from amaranth import *
from amaranth.hdl import Assert
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codes import Collective, Direction, Port
from ..config import Config
from ..registry.ports import DIRECTORY_LATENCY, directory_signature
from ..streams import Queue
from ..wire import copy_layout, segment_layout

__all__ = ["Walker", "closes"]


def closes(segment) -> Value:
    """Whether ``segment`` ends its context: a deregistration that succeeded, or a registration that failed."""
    header = segment.header
    failed = header.status != 0
    ends = (
        (header.collective == Collective.DEREGISTER.value) & ~failed
        | (header.collective == Collective.REGISTER.value) & failed
    )  # fmt: skip
    return (segment.direction == Direction.DOWN) & ends & ~segment.sole


class Walker(wiring.Component):
    """Walks through the contributors of each segment at ``port`` and makes a copy for every one, in index order.

    A segment that goes DOWN has copies for its leaders at the host port and for its children at the network port, or
    one for its ``sole`` contributor; one that goes UP has one at the network port, for the parent. The last copy of a
    segment that closes its context has ``closing``; where there is no contributor, a ``silent`` copy carries it. Other
    segments without copies at this port take no time here. ``done`` has a bit for each context, high for one cycle for
    each result (a segment that goes DOWN to all) of which nothing is left to do here; ``single_done`` likewise for each
    segment that has one copy in all, at the port where it has it. ``closing`` is high with ``done`` for a result that
    closes its context: the egress will say when it has.

    Latency: ``latency`` to the first copy. Throughput: a copy a cycle, also between segments. Ready path: registered.
    Order: kept. On error: none; the queue holds all segments that the windows allow (``delivery`` asserts it).
    """

    #: copies that may be asked for and not taken yet: as many as keep one a cycle going through the output queue
    _DEPTH = DIRECTORY_LATENCY + 3

    def __init__(self, config: Config, port: Port):
        super().__init__(
            {
                "i": In(stream.Signature(segment_layout(config))),
                "directory": Out(directory_signature(config)),
                "copies": Out(stream.Signature(copy_layout(config))),
                "done": Out(config.contexts),
                "single_done": Out(config.contexts),
                "closing": Out(config.contexts),
            }
        )
        self._config = config
        self._port = port
        self._job = data.StructLayout({"segment": segment_layout(config), "closing": 1})
        # every result slot, every partial result on its way up, and for each context what is said of its registration
        # and an answer
        self._queue = Queue(self._job, config.result_slots + config.fold_slots + 2 * config.contexts)
        self._output = Queue(copy_layout(config), self._DEPTH)

    @property
    def latency(self) -> int:
        """Cycles from a segment's arrival to the offer of its first copy, when idle."""
        return 1 + DIRECTORY_LATENCY + self._output.latency

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = self._queue
        m.submodules.output = self._output
        self._final = Signal()  # the copy asked for is the segment's last
        self._skipped = Signal()  # the result that arrives has no copy at this port
        self._free = Signal()  # the walk can begin with a new segment in this cycle
        arrived, new = self._enqueue(m)
        asked = self._walk(m, arrived, new)
        self._answer(m, asked)
        self._finish(m, asked)
        wiring.connect(m, self._output.o, wiring.flipped(self.copies))
        return m

    def _finish(self, m, asked):
        """A result is done with when its last copy is asked for, or at once where it has none at this port."""
        last = asked.valid & self._final
        single = (asked.segment.direction == Direction.UP) | asked.segment.sole
        for context in range(self._config.contexts):
            mine = Signal(name=f"last_of_{context}")
            walked = Signal(name=f"walked_{context}")
            m.d.comb += [mine.eq(last & (asked.segment.context == context)), walked.eq(mine & ~single)]
            skipped = self._skipped & (self.i.payload.context == context)
            m.d.sync += [
                self.done[context].eq(walked | skipped),
                self.single_done[context].eq(mine & single),
                self.closing[context].eq(mine & asked.closing),
                Assert(~(walked & skipped), "a context's results all have copies at a port, or none has"),
            ]

    def _here(self, segment):
        """How many contributors get a copy of ``segment`` at this port."""
        leader = segment.header.source < segment.leaders
        sole, all_of_them = (leader, segment.leaders) if self._port is Port.HOST else (~leader, segment.children)
        return Mux(segment.sole, sole, all_of_them)

    def _enqueue(self, m):
        """Keeps what has a copy at this port; the rest never enters the queue, so it costs no cycle behind it.

        The next segment to walk through: whether there is one, and its job. It is the one that arrives now, when it
        finds the queue empty.
        """
        segment = self.i.payload
        down = segment.direction == Direction.DOWN
        arriving = Signal(self._job)
        new = Signal(self._job)
        wanted = Signal()
        entering = Signal()
        arrived = Signal()
        passing = Signal(init=1)  # the queue is empty; it may be known a cycle late, which keeps the path short
        m.d.comb += [
            arriving.segment.eq(segment),
            arriving.closing.eq(closes(segment)),
            wanted.eq(down & ((self._here(segment) != 0) | arriving.closing)),
            entering.eq(self.i.valid & wanted & ~(passing & self._free)),
            self._queue.i.payload.eq(arriving),
            self._queue.i.valid.eq(entering),
            self.i.ready.eq(self._queue.i.ready),
            self._queue.o.ready.eq(self._free),
            self._skipped.eq(self.i.valid & down & ~segment.sole & ~wanted),
        ]
        m.d.sync += passing.eq((self._queue.level == 0) & ~entering)
        if self._port is Port.NET:
            with m.If(~down):
                m.d.comb += wanted.eq(1)
        with m.If(passing):
            m.d.comb += [new.eq(arriving), arrived.eq(self.i.valid & wanted)]
        with m.Else():
            m.d.comb += [new.eq(self._queue.o.payload), arrived.eq(self._queue.o.valid)]
        return arrived, new

    def _walk(self, m, arrived, new):
        """One question a cycle while there is room for its answer; what the copy needs besides goes with it."""
        config = self._config
        asked = Signal(
            data.StructLayout({"valid": 1, "segment": segment_layout(config), "silent": 1, "closing": 1}),
            name="asked",
        )
        active = Signal()
        job = Signal(self._job, reset_less=True)
        index = Signal(range(config.contributors), reset_less=True)
        left = Signal(range(config.contributors + 1), reset_less=True)
        silent = Signal(reset_less=True)
        room = Signal()
        final = self._final
        up = job.segment.direction == Direction.UP
        m.d.comb += [
            final.eq(left == 1),
            asked.valid.eq(active & room),
            asked.segment.eq(job.segment),
            asked.silent.eq(silent),
            asked.closing.eq(job.closing & final),
            self.directory.request.valid.eq(asked.valid),
            self.directory.request.payload.context.eq(job.segment.context),
            self.directory.request.payload.index.eq(index),
            self.directory.request.payload.parent.eq(up),
        ]
        with m.If(~up):
            m.d.comb += asked.segment.header.source.eq(index)

        m.d.comb += self._free.eq(~active | (asked.valid & final))
        here = self._here(new.segment)
        new_up = new.segment.direction == Direction.UP
        single = Signal()  # one copy that is for no contributor: to the parent, or to nobody
        m.d.comb += single.eq(new_up | (here == 0))
        with m.If(self._free):
            m.d.sync += [
                active.eq(arrived),
                job.eq(new),
                silent.eq(single & ~new_up),
                left.eq(Mux(single, 1, here)),
                index.eq(0 if self._port is Port.HOST else Mux(single, 0, new.segment.leaders)),
            ]
            with m.If(new.segment.sole):
                m.d.sync += index.eq(new.segment.header.source)
        with m.Elif(asked.valid):
            m.d.sync += [index.eq(index + 1), left.eq(left - 1)]

        outstanding = Signal(range(self._DEPTH + 1))
        left_now = self._output.o.valid & self._output.o.ready
        m.d.comb += room.eq(outstanding != self._DEPTH)
        m.d.sync += outstanding.eq(outstanding + asked.valid - left_now)
        return asked

    def _answer(self, m, asked):
        """Joins each question's segment with the directory's answer, which comes after a fixed time."""
        for rank in range(DIRECTORY_LATENCY):
            later = Signal(asked.shape(), name=f"asked_{rank + 1}", reset_less=True)
            valid = Signal(name=f"asked_{rank + 1}_valid")
            m.d.sync += [later.eq(asked), valid.eq(asked.valid)]
            held = Signal(asked.shape(), name=f"waiting_{rank + 1}")
            m.d.comb += [held.eq(later), held.valid.eq(valid)]
            asked = held
        response = self.directory.response
        copy = self._output.i.payload
        m.d.comb += [
            self._output.i.valid.eq(asked.valid),
            copy.segment.eq(asked.segment),
            copy.silent.eq(asked.silent),
            copy.closing.eq(asked.closing),
            copy.remote.eq(response.payload.remote),
            copy.local_mac.eq(response.payload.local_mac),
            copy.local_ip.eq(response.payload.local_ip),
        ]
        m.d.sync += [
            Assert(response.valid == asked.valid, "the directory answers each question after its latency"),
            Assert(~asked.valid | self._output.i.ready, "there is room for every answer"),
        ]
