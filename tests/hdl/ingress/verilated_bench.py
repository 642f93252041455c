"""The ingress as Verilog against the reference: many frames at once."""

from functools import cache

import pytest
from ingress_bench import OPENED, RECEIVER, configured, head_of, is_open

from fanfold.codes import Port
from fanfold_sim.bench import Stall
from fanfold_sim.reference.classify import classify
from fanfold_sim.simulators.ingress import Offered, VerilatedIngress

__all__ = ["SOME_WIDTHS", "check"]

#: building a model takes some seconds: two of them, unless there is time
SOME_WIDTHS = [8, pytest.param(16, marks=pytest.mark.long), pytest.param(32, marks=pytest.mark.long), 64]


@cache
def verilated(width: int) -> VerilatedIngress:
    return VerilatedIngress(configured(width), OPENED, local_mac=RECEIVER.mac)


def check(width: int, offered: list[Offered], stall: Stall = Stall.NONE, seed: int = 1):
    """Sends frames and compares all that comes out with the reference, packet for packet."""
    config = configured(width)
    emerged = verilated(width).run(offered, stall, seed)
    counts = dict.fromkeys(("regular", "tagged", "damaged", "unmatched"), 0)
    regular, tagged = [], []
    for frame in offered:
        verdict = classify(
            frame.raw, config.udp_port, is_open, local_mac=RECEIVER.mac, queue=frame.queue, bad=frame.bad
        )
        found = verdict.packet
        counts["tagged" if found else "regular"] += 1
        counts["unmatched"] += verdict.unmatched
        if found:
            counts["damaged"] += bool(found.damage)
            tagged.append(found)
        else:
            regular.append(frame)
    assert emerged.events == counts, f"{emerged.events} counted, but it should be {counts}"
    if stall is Stall.NONE:
        beats = sum(-(-len(frame.raw) // width) for frame in offered)
        assert beats < emerged.cycles < beats + 40, "a cycle was lost"
    for number, (ours, theirs) in enumerate(zip(regular, emerged.regular, strict=True)):
        assert ours == theirs, f"regular frame {number}"
    for number, (found, head, (payload, bad)) in enumerate(zip(tagged, emerged.heads, emerged.payloads, strict=True)):
        assert head | {"header.flags": head["header.flags"] & ~7} == head_of(found, Port.HOST), (
            f"tagged packet {number}"
        )
        assert bad == bool(found.damage), f"tagged packet {number}: {found}"
        due = width * max(1, -(-found.length // width))
        cut = len(found.payload) < found.length
        assert len(payload) == due or (cut and len(payload) <= due), f"tagged packet {number}: {len(payload)} bytes"
        assert payload[: len(found.payload)] == found.payload, f"tagged packet {number}: {found}"
    return emerged
