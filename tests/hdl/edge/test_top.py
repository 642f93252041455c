"""The top: its flat ports, and that every one of them leads where its name says. The engine is a stand-in."""

from dataclasses import replace

import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanfold.config import PRESETS
from fanfold.control import by_name, events_layout, report_layout, timing_layout
from fanfold.edge import Fanfold, axi_layout, axi_lite_signature
from fanfold.streams import Slice
from fanfold.wire import frame_layout
from fanfold_sim.bench import STALLS, Stall, cycle, receive, run, send

TINY = PRESETS["tiny"]
STREAMS = {"s_axis_host": "tid", "m_axis_host": "tdest", "s_axis_net": "tdest", "m_axis_net": "tid"}


class StandIn(wiring.Component):
    """Lets everything through, and has context 1 open until it is released."""

    def __init__(self, config=TINY):
        frames = stream.Signature(frame_layout(config))
        super().__init__(
            {
                "host_i": In(frames),
                "net_i": In(frames),
                "host_o": Out(frames),
                "net_o": Out(frames),
                "events": Out(events_layout()),
                "timed": Out(1),
                "reports": Out(stream.Signature(report_layout(TINY), always_ready=True)),
                "opened": Out(stream.Signature(range(TINY.contexts), always_ready=True)),
                "now": Out(32),
                "open_contexts": Out(TINY.contexts, init=2),
                "release": In(stream.Signature(range(TINY.contexts))),
                "local_mac": In(48),
                "timing": In(timing_layout()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for name, i, o in (("up", self.host_i, self.net_o), ("down", self.net_i, self.host_o)):
            m.submodules[name] = way = Slice(frame_layout(TINY))
            wiring.connect(m, wiring.flipped(i), way.i)
            wiring.connect(m, way.o, wiring.flipped(o))
        m.d.comb += [
            self.events.host_regular.eq(self.host_i.valid & self.host_i.ready & self.host_i.payload.last),
            self.release.ready.eq(1),
        ]
        with m.If(self.release.valid):
            m.d.sync += self.open_contexts.bit_select(self.release.payload, 1).eq(0)
        return m


class Streams(wiring.Component):
    """The top with its flat ports gathered into streams again."""

    def __init__(self, config=TINY):
        self.top = Fanfold(config, engine=StandIn(config))
        ports = {
            prefix: (In if prefix.startswith("s_") else Out)(stream.Signature(axi_layout(TINY, queue)))
            for prefix, queue in STREAMS.items()
        }
        super().__init__(ports | {"s_axil": In(axi_lite_signature())})

    def elaborate(self, platform):
        m = Module()
        m.submodules.top = top = self.top
        for prefix, queue in STREAMS.items():
            port = getattr(self, prefix)
            pairs = [(port.payload[name], name) for name in ("tdata", "tkeep", "tlast", "tuser", queue)]
            for signal, name in [*pairs, (port.valid, "tvalid"), (port.ready, "tready")]:
                flat = getattr(top, f"{prefix}_{name}")
                inwards = prefix.startswith("s_") != (name == "tready")
                m.d.comb += flat.eq(signal) if inwards else signal.eq(flat)
        for name, member in axi_lite_signature().members.items():
            flat, signal = getattr(top, f"s_axil_{name}"), getattr(self.s_axil, name)
            m.d.comb += flat.eq(signal) if member.flow is Out else signal.eq(flat)
        return m


def test_the_ports_have_the_names_that_vendors_expect():
    top = Fanfold(TINY, engine=StandIn())
    ports = {name: (member.flow, Shape.cast(member.shape).width) for name, member in top.signature.members.items()}
    Fragment.get(top, None)
    expected = {}
    for prefix, queue in STREAMS.items():
        forth, back = (In, Out) if prefix.startswith("s_") else (Out, In)
        widths = {"tdata": 64, "tkeep": 8, "tlast": 1, "tuser": 1, queue: 8, "tvalid": 1}
        expected |= {f"{prefix}_{name}": (forth, width) for name, width in widths.items()}
        expected[f"{prefix}_tready"] = (back, 1)
    for names, flow in (
        ("awaddr:12 awprot:3 awvalid:1 wdata:32 wstrb:4 wvalid:1 bready:1 araddr:12 arprot:3 arvalid:1 rready:1", In),
        ("awready:1 wready:1 bresp:2 bvalid:1 arready:1 rdata:32 rresp:2 rvalid:1", Out),
    ):
        for item in names.split():
            name, width = item.split(":")
            expected[f"s_axil_{name}"] = (flow, int(width))
    assert ports == expected


@pytest.mark.parametrize("stall", STALLS)
def test_frames_cross_both_ways(stall):
    dut = Streams()

    def transfers(start, queue_name):
        """Frames of three beats, every other one bad; ``start`` tells the two ways apart."""
        beats = [
            {"tkeep": 0xFF, "tlast": 0, "tuser": 0} if at % 3 < 2 else {"tkeep": 0x1F, "tlast": 1, "tuser": at % 2}
            for at in range(30)
        ]
        return [beat | {"tdata": start + at, queue_name: start} for at, beat in enumerate(beats)]

    async def host_in(ctx):
        await send(ctx, dut.s_axis_host, transfers(100, "tid"), stall, seed=1)

    async def net_in(ctx):
        await send(ctx, dut.s_axis_net, transfers(200, "tdest"), stall, seed=2)

    async def net_out(ctx):
        expected = transfers(100, "tid")
        taken = await receive(ctx, dut.m_axis_net, len(expected), stall, seed=3)
        assert [{name: int(beat[name]) for name in expected[0]} for beat in taken] == expected

    async def host_out(ctx):
        expected = transfers(200, "tdest")
        taken = await receive(ctx, dut.m_axis_host, len(expected), stall, seed=4)
        assert [{name: int(beat[name]) for name in expected[0]} for beat in taken] == expected

    monitors = run(dut, host_in, net_in, net_out, host_out, cycles=1000)
    if stall is Stall.NONE:
        added = monitors["m_axis_net"].taken[0] - monitors["s_axis_host"].taken[0] - 1
        assert added == dut.top.latency


async def access(ctx, axil, address, value=None):
    """One read, or one write of ``value``: what was read."""
    for name in ("awaddr", "araddr"):
        ctx.set(getattr(axil, name), address)
    if value is not None:
        ctx.set(axil.wdata, value)
        ctx.set(axil.wstrb, 0xF)
    incoming, outgoing = (["ar"], "r") if value is None else (["aw", "w"], "b")
    for channel in incoming:
        ctx.set(getattr(axil, f"{channel}valid"), 1)
    await cycle(ctx)
    for channel in incoming:
        ctx.set(getattr(axil, f"{channel}valid"), 0)
    ctx.set(getattr(axil, f"{outgoing}ready"), 1)
    while True:
        valid, resp, data = await cycle(
            ctx, getattr(axil, f"{outgoing}valid"), getattr(axil, f"{outgoing}resp"), axil.rdata
        )
        if valid:
            ctx.set(getattr(axil, f"{outgoing}ready"), 0)
            assert resp == 0
            return data


def test_the_registers_see_the_engine():
    dut = Streams()
    at = {name: register.address for name, register in by_name(TINY).items()}

    async def host(ctx):
        ctx.set(dut.m_axis_net.ready, 1)
        frame = {"tdata": 1, "tkeep": 1, "tlast": 1, "tuser": 0, "tid": 3}
        await send(ctx, dut.s_axis_host, [frame] * 5)
        assert await access(ctx, dut.s_axil, at["contributors"]) == TINY.contributors
        await access(ctx, dut.s_axil, at["snapshot"], 1)
        assert await access(ctx, dut.s_axil, at["count_host_regular"]) == 5
        assert await access(ctx, dut.s_axil, at["count_net_regular"]) == 0
        assert await access(ctx, dut.s_axil, at["open_contexts_0"]) == 0b10
        await access(ctx, dut.s_axil, at["release"], 1)
        assert await access(ctx, dut.s_axil, at["open_contexts_0"]) == 0

    run(dut, host, cycles=500)


def test_frames_from_the_network_that_find_no_room_are_dropped_whole_and_counted():
    """The host takes nothing; when it does again, what had room is there, whole, and so is what comes after."""
    dut = Streams(replace(TINY, frame_bytes=256))
    at = {name: register.address for name, register in by_name(TINY).items()}
    sent, beats = 20, 25

    def frame(number):
        return [
            {"tdata": 100 * number + beat, "tkeep": 0xFF, "tlast": beat == beats - 1, "tuser": 0, "tdest": number}
            for beat in range(beats)
        ]

    async def network(ctx):
        for number in range(sent):
            await send(ctx, dut.s_axis_net, frame(number))
        await access(ctx, dut.s_axil, at["snapshot"], 1)
        dropped = await access(ctx, dut.s_axil, at["count_net_dropped"])
        assert 0 < dropped < sent
        for number in range(sent - dropped):
            taken = await receive(ctx, dut.m_axis_host, beats)
            assert [beat.tdata for beat in taken] == [beat["tdata"] for beat in frame(number)]
        await send(ctx, dut.s_axis_net, frame(99))
        assert [beat.tdest for beat in await receive(ctx, dut.m_axis_host, beats)] == [99] * beats
        assert await access(ctx, dut.s_axil, at["count_net_cut"]) == 0

    monitors = run(dut, network, cycles=3000)
    taken = monitors["s_axis_net"].taken
    assert taken[: sent * beats] == list(range(taken[0], taken[0] + sent * beats)), "the network had to wait"
