"""The tables of docs/ingress.md row by row: what the reference says of each frame, and that the hardware does it."""

import pytest
from decisions import DECISIONS, documented, frames
from ingress_bench import Frame, check, configured, expectation, packet

GOOD = Frame(packet(bytes(range(20)), udp_checksum="correct"))


def test_every_documented_row_has_its_frames():
    assert list(DECISIONS) == list(documented())


@pytest.mark.parametrize("row", DECISIONS)
def test_the_reference_decides_as_documented(row):
    decision, counted = documented()[row]
    for number, frame in enumerate(frames(row)):
        regular, tagged, counts = expectation(configured(8), [frame])
        found = "regular" if regular else "dropped" if tagged[0][-1] else "tagged"
        assert found == decision, f"{row}, frame {number}"
        assert [f"`{name}`" for name, count in counts.items() if count] == counted.split(", "), f"{row}, frame {number}"


@pytest.mark.parametrize("width", (8, 16, 32, 64))
def test_the_hardware_decides_as_the_reference(width):
    """A frame of every row or more, no long ones, in one stream without a gap; a good frame behind every third."""
    stream = []
    for number, row in enumerate(DECISIONS):
        short = [frame for frame in frames(row) if len(frame.raw) < 600]
        start = (width // 8 + number) % max(1, min(6, len(short)))
        stream += [*short[start::6], GOOD] if number % 3 == 0 else short[start::6]
    check(stream, width)
