"""The ingress as Verilog, with all that would take too long elsewhere: every length, every header, every cut."""

import pytest
from decisions import DECISIONS, frames
from ingress_bench import COMM_ID, OTHER_COMM_ID, content, packet
from verilated_bench import SOME_WIDTHS, check

from fanfold_sim import toolchain
from fanfold_sim.bench import STALLS
from fanfold_sim.simulators.ingress import Offered

pytestmark = pytest.mark.skipif(not toolchain.has_compiler(), reason="no C++ compiler for Verilator")
WIDTHS = (8, 16, 32, 64)


def every_packet(width: int, lengths, words) -> list[Offered]:
    """Payloads of all ``lengths`` behind all headers; checksums and other communicators take turns."""
    return [
        Offered(
            packet(
                content(length),
                tags=tags,
                option_words=more,
                coll_tag=length,
                comm_id=OTHER_COMM_ID if (length + more) % 7 == 6 else COMM_ID,
                udp_checksum="correct" if (length + tags + more) % 2 else None,
                trailer=b"\xee" * ((length + more) % 5),
            ),
            queue=(length + more) % 256,
        )
        for more in words
        for tags in range(3)
        for length in lengths
    ]


@pytest.mark.parametrize("width", SOME_WIDTHS)
def test_every_row_of_the_tables(width):
    offered = [Offered(frame.raw, frame.bad, frame.queue) for row in DECISIONS for frame in frames(row)]
    for stall in STALLS:
        check(width, offered, stall)


@pytest.mark.parametrize("width", SOME_WIDTHS)
def test_lengths_around_beats_behind_every_header(width):
    boundary = 128
    lengths = {0, 1, width - 1, width, width + 1, boundary - 1, boundary, boundary + 1, boundary + 3 * width}
    offered = every_packet(width, sorted(lengths), range(11))
    for stall in STALLS:
        check(width, offered, stall)


@pytest.mark.long
@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_length_behind_every_header(width, stall):
    """Up to three beats beyond the largest segment, which is twice the widest beat."""
    check(width, every_packet(width, range(128 + 3 * width + 1), range(11)), stall)


def cut_everywhere(words, tags) -> list[Offered]:
    """Frames that end at every byte, each with a good one behind it; some have a checksum, or a mark as well."""
    offered = []
    for more in words:
        for number in tags:
            raw = packet(content(70), tags=number, option_words=more, udp_checksum="correct" if more % 2 else None)
            good = Offered(packet(content(9 + more), tags=more % 3, coll_tag=more, udp_checksum="correct"))
            for length in range(1, len(raw) + 1):
                offered += [Offered(raw[:length], bad=length % 11 == 0, queue=length % 256), good]
    return offered


@pytest.mark.parametrize("width", SOME_WIDTHS)
def test_cut_at_every_byte_with_a_good_frame_behind(width):
    check(width, cut_everywhere((0, 7), range(3)))


@pytest.mark.long
@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.parametrize("width", WIDTHS)
def test_cut_at_every_byte_of_every_header(width, stall):
    check(width, cut_everywhere(range(11), range(3)), stall)
