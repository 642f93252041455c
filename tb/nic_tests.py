"""Testbench of the whole NIC: regular traffic, registers, and collectives, against the reference model."""

import random
import struct

import cocotb
from cocotbext.axi import AxiResp
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from bench import Bench, Scoreboard, bench_seed
from fanfold.codes import DataType, Operator, Port
from fanfold_sim.frames import Address
from fanfold_sim.leader import Leader

HESITATION = [0.0, 0.4]
NIC = Address(0x02000000FF00, 0x0A0000FE, 49169)
KEY, COMM = 0xC0FFEE00, 4


def regular_frames(rng: random.Random, count: int, udp_port: int) -> list[bytes]:
    """Everyday frames of all lengths, and some that look like collective traffic for a moment."""
    frames = []
    for number in range(count):
        ether = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
        data = Raw(number.to_bytes(4, "big") + rng.randbytes(rng.choice([0, 1, 7, 8, 9, 60, 200, 1400])))
        ip = IP(src="10.0.0.1", dst="10.0.0.2", id=number)
        made = rng.choice(
            [
                ether / ip / TCP(sport=80, dport=rng.randrange(65536)) / data,
                ether / ip / UDP(sport=53, dport=rng.randrange(1024)) / data,
                ether / ip / UDP(sport=1, dport=udp_port) / data,
                ether / Dot1Q(vlan=7) / Dot1Q(vlan=9) / ip / UDP(sport=1, dport=udp_port) / data,
                ether / IPv6(src="fe80::1", dst="fe80::2") / UDP(sport=1, dport=udp_port) / data,
                ether / ARP(psrc="10.0.0.1", pdst="10.0.0.2") / data,
                ether / data,
            ]
        )
        frames.append(bytes(made))
    return frames


def leaders_of(count: int, udp_port: int) -> list[Leader]:
    nic = Address(NIC.mac, NIC.ip, udp_port)
    return [
        Leader(
            Address(0x020000000100 + index, 0x0A000001 + index, 5000 + index, queue=10 + index), nic, COMM, KEY, index
        )
        for index in range(count)
    ]


async def ready(dut, hesitate: float = 0.0) -> tuple[Bench, Scoreboard, random.Random]:
    bench = Bench(dut, hesitate)
    await bench.start()
    return bench, Scoreboard(bench), random.Random(bench_seed())


async def give(board: Scoreboard, leaders: list[Leader], frames: list[bytes]) -> None:
    for leader, frame in zip(leaders, frames, strict=True):
        await board.send(Port.HOST, frame, queue=leader.address.queue)


async def opened(board: Scoreboard, leaders: list[Leader], window: int) -> None:
    """Registers the leaders, each for one rank."""
    await give(board, leaders, [one.register(ranks=1, leaders=len(leaders), window=window) for one in leaders])
    came = await board.compare()
    assert [answer.ranks for answer in hear(leaders, came[Port.HOST])] == [len(leaders)] * len(leaders)


def hear(leaders: list[Leader], items) -> list:
    """What the leaders understand of what came, by leader's index."""
    answers = [(leader.index, said) for item in items for leader in leaders if (said := leader.hear(item[0]))]
    return [said for _, said in sorted(answers, key=lambda answer: answer[0])]


def check_with_scapy(frame: bytes, leader: Leader) -> None:
    """Another reader of the headers: lengths, checksums and addresses as scapy computes them."""
    packet = Ether(frame)
    assert packet[UDP].dport == leader.address.port and packet[UDP].sport == leader.nic_address.port
    assert packet[UDP].chksum == 0
    assert packet[UDP].len == packet[IP].len - 20 == len(packet[UDP])
    again = packet[IP].copy()
    del again.chksum
    assert IP(bytes(again)).chksum == packet[IP].chksum


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(hesitate=HESITATION)
async def regular_traffic_passes_both_ways(dut, hesitate):
    bench, board, rng = await ready(dut, hesitate)
    for port in Port:
        for frame in regular_frames(rng, 40, bench.config.udp_port):
            queue = rng.randrange(1 << bench.config.queue_bits)
            await board.send(port, frame, queue=queue, bad=rng.random() < 0.2, regular=True)
    await board.compare()
    await board.compare_counters()


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(hesitate=HESITATION)
async def segments_are_folded_among_regular_traffic(dut, hesitate):
    bench, board, rng = await ready(dut, hesitate)
    config = bench.config
    leaders = leaders_of(config.contributors, config.udp_port)
    await opened(board, leaders, config.window)
    for _ in range(4):
        frames = []
        for _ in range(config.window):
            elements = rng.randrange(1, config.segment_bytes // 4 + 1)
            for leader in leaders:
                values = struct.pack(f"<{elements}f", *(rng.uniform(-1e9, 1e9) for _ in range(elements)))
                frames.append((leader, leader.allreduce(values, Operator.SUM, DataType.FLOAT32)))
        for leader, frame in frames:
            await board.send(Port.HOST, frame, queue=leader.address.queue)
        for port in Port:
            for frame in regular_frames(rng, 5, config.udp_port):
                await board.send(port, frame, regular=True)
        came = await board.compare()
        answers = hear(leaders, came[Port.HOST])
        assert len(answers) == config.window * len(leaders) and all(answer.ok for answer in answers)
        for frame, queue, _ in came[Port.HOST]:
            for leader in leaders:
                if queue == leader.address.queue and len(frame) > 64 and frame[:6] == leader.address.mac.to_bytes(6):
                    check_with_scapy(frame, leader)
    await give(board, leaders, [one.deregister() for one in leaders])
    assert all(answer.ok for answer in hear(leaders, (await board.compare())[Port.HOST]))
    assert await bench.read("open_contexts_0") == 0
    await board.compare_counters()


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def what_may_not_be_is_refused_and_counted(dut):
    bench, board, _ = await ready(dut)
    leaders = leaders_of(2, bench.config.udp_port)
    await opened(board, leaders, 1)
    assert await bench.read("open_contexts_0") == 1 << COMM % bench.config.contexts
    frame = leaders[0].allreduce(bytes(16), Operator.SUM, DataType.INT32)
    await board.send(Port.HOST, frame, queue=77)  # from another queue than registered
    await board.send(Port.NET, frame)  # at the other port
    await board.send(Port.HOST, frame, queue=leaders[0].address.queue, bad=True)
    await board.send(Port.HOST, frame[:-3], queue=leaders[0].address.queue)
    await board.send(Port.HOST, frame, queue=leaders[0].address.queue)
    await board.send(Port.HOST, frame, queue=leaders[0].address.queue)  # twice
    await board.compare()
    partner = leaders[1].allreduce(bytes(16), Operator.MAX, DataType.INT32)  # not the same operator
    await board.send(Port.HOST, partner, queue=leaders[1].address.queue)
    came = await board.compare()
    assert {answer.status.name for answer in hear(leaders, came[Port.HOST])} == {"MISMATCH"}
    await board.compare_counters()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_answer(dut):
    bench, _, _ = await ready(dut)
    assert await bench.read("magic") == int.from_bytes(b"FOLD", "big")
    assert await bench.read("beat_bytes") == bench.config.beat_bytes
    await bench.write("scratch", 0x12345678)
    assert await bench.read("scratch") == 0x12345678
    assert (await bench.registers.read(0xFFC, 4)).resp == AxiResp.SLVERR
    assert (await bench.registers.write(0, bytes(4))).resp == AxiResp.SLVERR
    assert await bench.counters() == {}
