"""What the ingress tests share: a registry that answers, frames as beats, and the check against plain Python."""

import random
from dataclasses import dataclass

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from fanfold.codes import Collective, Port
from fanfold.config import Config
from fanfold.ingress import Ingress
from fanfold.wire import frame_layout, head_layout, payload_layout
from fanfold_sim.bench import Stall, cycle, receive, receive_packet, run, send
from fanfold_sim.frames import Address, Packet, build, flags_byte
from fanfold_sim.reference.classify import classify

KEY = 0xC0FFEE01
COMM_ID = 0x1234
OTHER_COMM_ID = 0x1235

SENDER = Address(mac=0x0200_5E10_0001, ip=0x0A00_0001, port=50001)
RECEIVER = Address(mac=0x0200_5E10_0002, ip=0x0A00_0002, port=49169)
#: the open context: communicator, key, and the NIC's address in it
OPENED = (COMM_ID, KEY, RECEIVER.mac, RECEIVER.ip)
TAGS = ((0x88A8, 0x2064), (0x8100, 0x0007))


def configured(beat_bytes: int) -> Config:
    return Config(beat_bytes=beat_bytes, contributors=4, contexts=2, window=2, segment_bytes=128)


def packet(payload=b"", *, tags=0, option_words=0, options=None, trailer=b"", **changes) -> bytes:
    """A collective frame to an open context; ``options`` are the given ones, or so many words of no meaning."""
    options = bytes((7 * at + 3) % 256 for at in range(4 * option_words)) if options is None else options
    values = dict(
        receiver=RECEIVER, coll_tag_high32=KEY, comm_id=COMM_ID, coll_tag=77, collective=Collective.ALLREDUCE, source=1
    )
    return build(
        Packet(
            sender=SENDER,
            tags=TAGS[:tags],
            ip_options=options,
            payload=payload,
            trailer=trailer,
            **(values | changes),
        )
    )


def content(length: int, seed: int = 0) -> bytes:
    """Bytes of no meaning, the same every time."""
    return random.Random(f"{length} {seed}").randbytes(length)


def head_of(found: Packet, port: Port) -> dict[str, int]:
    """The head that belongs to a packet, each member by its path; the flags without the bits of no meaning."""
    sender, tags = found.sender, [protocol << 16 | control for protocol, control in found.tags]
    outer, inner = [*tags, 0, 0][:2]
    codes = {name: getattr(found, name) for name in ("opt_code", "data_type", "collective", "status")}
    return {
        **{f"header.{name}": getattr(found, name) for name in ("coll_tag_high32", "coll_tag", "comm_id")},
        **{f"header.{name}": getattr(found, name) for name in ("source", "root", "length")},
        **{f"header.{name}": code if isinstance(code, int) else code.value for name, code in codes.items()},
        "header.flags": flags_byte(found.direction, found.repeat, found.error, found.version),
        "remote.mac": sender.mac,
        "remote.ip": sender.ip,
        "remote.port": sender.port,
        "remote.tags": len(tags),
        "remote.outer": outer,
        "remote.inner": inner,
        "remote.queue": sender.queue if port is Port.HOST else 0,
        "local_mac": found.receiver.mac,
        "local_ip": found.receiver.ip,
    }


@dataclass(frozen=True)
class Frame:
    """A frame to send: its bytes, mark and queue."""

    raw: bytes
    bad: bool = False
    queue: int = 0

    def beats(self, width: int) -> list[dict]:
        chunks = [self.raw[at : at + width] for at in range(0, len(self.raw), width)]
        return [
            {
                # what follows the last byte is rubbish
                "data": int.from_bytes(chunk + bytes(0x5A ^ at for at in range(width - len(chunk))), "little"),
                "count": len(chunk),
                "last": number == len(chunks) - 1,
                "bad": self.bad if number == len(chunks) - 1 else number % 2,
                "queue": self.queue,
            }
            for number, chunk in enumerate(chunks)
        ]


class Bench(wiring.Component):
    """An ingress with a registry that has one open context; registrations are taken at ``local_mac``."""

    def __init__(self, config: Config, port: Port = Port.HOST, local_mac: int = RECEIVER.mac):
        super().__init__(
            {
                "i": In(stream.Signature(frame_layout(config))),
                "regular": Out(stream.Signature(frame_layout(config))),
                "head": Out(stream.Signature(head_layout(config))),
                "payload": Out(stream.Signature(payload_layout(config))),
            }
        )
        self.config = config
        self.local_mac = local_mac
        self.ingress = Ingress(config, port)

    def elaborate(self, platform):
        m = Module()
        m.submodules.ingress = ingress = self.ingress
        for name in ("i", "regular", "head", "payload"):
            outer, inner = getattr(self, name), getattr(ingress, name)
            wiring.connect(m, wiring.flipped(outer), inner)
        request, response = ingress.lookup.request, ingress.lookup.response
        known, here = Signal(), Signal()
        m.d.sync += [
            known.eq(request.valid & (request.p.names.comm_id == COMM_ID) & (request.p.names.key == KEY)),
            here.eq((request.p.local_mac == RECEIVER.mac) & (request.p.local_ip == RECEIVER.ip)),
            response.p.open.eq(known),
            response.p.here.eq(here),
        ]
        m.d.comb += ingress.local_mac.eq(self.local_mac)
        return m


def is_open(*asked: int) -> bool:
    return asked == OPENED


def expectation(config: Config, frames: list[Frame], local_mac: int = RECEIVER.mac):
    """By the rules: regular frames, heads with payload and damage of the tagged ones, and event counts."""
    regular, tagged, counts = [], [], dict.fromkeys(("regular", "tagged", "damaged", "unmatched"), 0)
    for frame in frames:
        verdict = classify(frame.raw, config.udp_port, is_open, local_mac=local_mac, queue=frame.queue, bad=frame.bad)
        found = verdict.packet
        counts["tagged" if found else "regular"] += 1
        counts["unmatched"] += verdict.unmatched
        if found:
            counts["damaged"] += bool(found.damage)
            tagged.append((found, frame.raw, bool(found.damage)))
        else:
            regular.append(frame)
    return regular, tagged, counts


def check(frames: list[Frame], width: int, stall: Stall = Stall.NONE, port: Port = Port.HOST, seed: int = 1, dut=None):
    """Sends ``frames`` without a gap (but for ``stall``) and checks all that comes out; the monitors of the run."""
    config = configured(width)
    dut = dut or Bench(config, port)
    regular, tagged, counts = expectation(config, frames, dut.local_mac)
    beats = [beat for frame in frames for beat in frame.beats(width)]
    counted = dict.fromkeys(counts, 0)

    async def source(ctx):
        await send(ctx, dut.i, beats, stall, seed)

    async def regular_sink(ctx):
        for number, frame in enumerate(regular):
            got = await receive_packet(ctx, dut.regular, stall, seed + number)
            assert [beat.queue for beat in got] == [frame.queue] * len(got)
            assert all(beat.count == width for beat in got[:-1])
            raw = b"".join(beat.data.to_bytes(width, "little")[: beat.count] for beat in got)
            assert (raw, bool(got[-1].bad)) == (frame.raw, frame.bad), f"regular frame {number}"

    async def head_sink(ctx):
        for number, (found, raw, _) in enumerate(tagged):
            (head,) = await receive(ctx, dut.head, 1, stall, seed + 1000 + number)
            check_head(head, found, raw, port)

    async def payload_sink(ctx):
        for number, (found, _, damaged) in enumerate(tagged):
            got = await receive_packet(ctx, dut.payload, stall, seed + 2000 + number)
            data = b"".join(beat.data.to_bytes(width, "little") for beat in got)
            assert bool(got[-1].bad) == damaged, f"tagged packet {number}: {found}"
            due = max(1, -(-found.length // width))
            assert len(got) == due or (found.damage == "cut short" and len(got) <= due), f"tagged packet {number}"
            assert data[: len(found.payload)] == found.payload, f"tagged packet {number}: {found}"

    async def events(ctx):
        quiet = 0
        names = list(counts)
        signals = [getattr(dut.ingress.events, name) for name in names]
        while quiet < 60:  # the damage of the last packet may come late
            *seen, moving = await cycle(ctx, *signals, dut.i.valid | dut.payload.valid | dut.regular.valid)
            quiet = 0 if moving else quiet + 1
            for name, value in zip(names, seen, strict=True):
                counted[name] += value

    monitors = run(dut, source, regular_sink, head_sink, payload_sink, events, cycles=20 * len(beats) + 2000)
    assert counted == counts
    return monitors


def check_head(head, found: Packet, raw: bytes, port: Port) -> None:
    header = head.header
    for name in ("coll_tag_high32", "coll_tag", "comm_id", "source", "root", "length"):
        assert getattr(header, name) == getattr(found, name), name
    at = len(raw) - len(found.trailer) - len(found.payload) - 22
    codes = tuple(raw[at + offset] for offset in (10, 11, 12, 13))
    assert (header.opt_code, header.data_type, header.collective, header.flags) == codes
    assert header.status == int.from_bytes(raw[at + 18 : at + 20], "big")
    sender, tags = found.sender, [protocol << 16 | control for protocol, control in found.tags]
    outer, inner = [*tags, 0, 0][:2]
    remote = head.remote
    assert (remote.mac, remote.ip, remote.port) == (sender.mac, sender.ip, sender.port)
    assert (remote.tags, remote.outer, remote.inner) == (len(tags), outer, inner)
    assert remote.queue == (sender.queue if port is Port.HOST else 0)
    assert (head.local_mac, head.local_ip) == (found.receiver.mac, found.receiver.ip)
