"""The story of ``fanfold waves``, and that save files show what is in the waveforms, whoever wrote them."""

import gzip
import re

import pytest

from fanfold.codes import Collective, Direction, Port
from fanfold_sim import story
from fanfold_sim.cli import main
from fanfold_sim.simulators.verilator import VerilatorNic
from fanfold_sim.waveforms import CYCLE_FS, ROOMS, Changes, Finder, Marker, read_header, write_save
from fanfold_sim.waveforms.codes import code_of, names

TITLES = [
    "host ingress", "net ingress", "admission", "registry", "fold", "results", "delivery", "host egress", "net egress",
    "edge",
]  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The waveform of the story, and its moments."""
    waves = tmp_path_factory.mktemp("amaranth") / "fanfold.vcd"
    return waves, story.tell(waves)


@pytest.fixture(scope="module")
def verilated(tmp_path_factory):
    """The waveform of the same story from Verilator."""
    waves = tmp_path_factory.mktemp("verilator") / "fanfold.vcd"
    nic = VerilatorNic(story.CONFIG, waves=waves)
    story.play(nic)
    nic.close()
    return waves


def declared(waves) -> set[str]:
    """Every variable of a VCD, as GTKWave names them: with the range of a vector, and a backslash before dots."""
    scope, found = [], set()
    for line in waves.read_text().partition("$enddefinitions")[0].splitlines():
        words = line.split()
        if words[:1] == ["$scope"]:
            scope.append(words[2])
        elif words[:1] == ["$upscope"]:
            scope.pop()
        elif words[:1] == ["$var"]:
            kind, width, name = words[1], int(words[2]), words[4]
            name = name if name.startswith("\\") or "." not in name else f"\\{name}"
            found.add(".".join([*scope, name]) + (f"[{width - 1}:0]" if width > 1 and kind != "string" else ""))
    return found


def shown(save) -> list[str]:
    """The signals that a save file shows."""
    lines = [line for line in save.read_text().splitlines() if line and line[0] not in "[@*-^"]
    return [line.rpartition("} ")[2] for line in lines]


@pytest.mark.parametrize("waveform", ["told", "verilated"])
def test_every_signal_of_the_save_file_is_in_the_waveform(waveform, request):
    waves = request.getfixturevalue(waveform)
    waves = waves[0] if waveform == "told" else waves
    signals = shown(waves.with_suffix(".gtkw"))
    assert len(signals) > 400 and len(set(signals)) == len(signals)
    assert set(signals) <= declared(waves)
    finder = Finder(read_header(waves)[1])
    absent = [
        (room.title, label)
        for room in ROOMS
        for look in room.looks
        for label, variable in finder.signals(room, look)
        if variable is None
    ]
    assert absent == [], "the save file looks for what the hardware does not have any more"


@pytest.mark.parametrize("waveform", ["told", "verilated"])
def test_the_groups_are_the_rooms_in_order_of_flow(waveform, request):
    waves = request.getfixturevalue(waveform)
    waves = waves[0] if waveform == "told" else waves
    text = waves.with_suffix(".gtkw").read_text()
    begins = [line for line in re.findall(r"^@800200\n-(.*)$", text, re.M)]
    ends = [line for line in re.findall(r"^@1000200\n-(.*)$", text, re.M)]
    assert begins == ends == TITLES


def test_codes_read_as_text(told, verilated):
    for waves in (told[0], verilated):
        files = set(re.findall(r"^\^\d+ (.*)$", waves.with_suffix(".gtkw").read_text(), re.M))
        kinds = {path.stem for path in (waves.parent / "fanfold.codes").iterdir()}
        assert files == {str((waves.parent / "fanfold.codes" / f"{kind}.txt").resolve()) for kind in kinds}
        collectives = (waves.parent / "fanfold.codes" / "collective.txt").read_text().splitlines()
        assert collectives == [f"{each.value:02X} {each.name}" for each in Collective]
        assert "60 DOWN\n" in (waves.parent / "fanfold.codes" / "flags.txt").read_text()
    states = {"0 COLLECT", "1 READ", "2 CHECK", "3 APPLY", "4 DISMISS", "5 ANNOUNCE", "6 PREPARE"}
    assert states == set((verilated.parent / "fanfold.codes" / "enrolment.txt").read_text().splitlines())


def meaning(variable) -> dict[int, str]:
    """The names of the codes that ``variable`` holds as numbers."""
    last = variable.name.rpartition(".")[2]
    if last in ("port", "direction"):
        return {each.value: each.name for each in {"port": Port, "direction": Direction}[last]}
    return names()[code_of(variable)]


def test_both_simulators_show_the_same_in_every_cycle(told, verilated):
    """So the save file shows the same signals in both, and each cycle is where it should be.

    What has no meaning, fields of a stream that is not valid, may differ: reset takes a different time in both. The
    last moment is left out: registers are read at a pace of the simulator's own.
    """
    finders = [Finder(read_header(waves)[1]) for waves in (told[0], verilated)]
    looks = [[finder.signals(room, look) for room in ROOMS for look in room.looks] for finder in finders]
    ours, theirs = (
        Changes(waves, [variable for look in found for _, variable in look], CYCLE_FS)
        for waves, found in zip((told[0], verilated), looks, strict=True)
    )
    compared = 0
    for here, there in zip(*looks, strict=True):
        assert [label for label, _ in here] == [label for label, _ in there]
        valid = here[0][1] if here[0][0].endswith("valid") else None
        for cycle in range(1, told[1][-2].cycle):
            means = valid is None or ours.at(valid, cycle)
            for (label, text), (_, number) in zip(here, there, strict=True):
                if means or text is valid:
                    value = theirs.at(number, cycle)
                    expected = str(ours.at(text, cycle)).partition("/")[0] if text.text else ours.at(text, cycle)
                    assert (meaning(number)[value] if text.text else value) == expected, f"{label} in cycle {cycle}"
                    compared += 1
    assert compared > 10_000


def test_the_command_tells_what_to_look_at(tmp_path, capsys):
    assert main(["waves", "-o", str(tmp_path / "here")]) == 0
    lines = capsys.readouterr().out.splitlines()
    waves = tmp_path / "here" / "fanfold.vcd"
    assert lines[0].startswith(f"{waves}: ") and lines[1].endswith(f"gtkwave {waves.with_suffix('.gtkw')}")
    assert waves.stat().st_size < 6e6
    rows = [re.match(r"([A-Z]) +(\d+)  \S", line) for line in lines[5:]]
    assert [row[1] for row in rows] == [chr(ord("A") + at) for at in range(len(story.SIGHTS))]
    cycles = [int(row[2]) for row in rows]
    assert cycles == sorted(cycles)
    save = waves.with_suffix(".gtkw").read_text()
    marked = re.search(r"^\*\S+ -1 (.*)$", save, re.M)[1].split()
    assert [int(each) // CYCLE_FS for each in marked if each != "-1"] == cycles
    assert "[markername] Aleader 0's registration arrives\n" in save


def test_bad_output(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["waves", "-o", str(tmp_path / "file" / "deeper")]) == 2
    assert capsys.readouterr().err.startswith("fanfold waves: --output ")


def test_a_story_that_goes_wrong_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(story, "SUM", (0.0, 0.0, 0.0, 0.0))
    assert main(["waves", "-o", str(tmp_path)]) == 1
    assert "the sum is wrong" in capsys.readouterr().out
    assert (tmp_path / "fanfold.gtkw").exists()


def test_no_waveform_and_too_many_markers(tmp_path):
    waves = tmp_path / "none.vcd"
    waves.write_text("nothing\n")
    with pytest.raises(ValueError, match="is no VCD"):
        write_save(waves)
    with pytest.raises(ValueError, match="27 markers"):
        write_save(waves, [Marker(0, "")] * 27)
    (tmp_path / "none.fst").write_bytes(b"")
    with pytest.raises(ValueError, match="no finished FST"):
        read_header(tmp_path / "none.fst")


def fst(tmp_path, kind: int, hierarchy: bytes):
    """An FST file of a header, picoseconds, and a hierarchy."""

    def block(number: int, content: bytes) -> bytes:
        return bytes([number]) + (len(content) + 8).to_bytes(8, "big") + content

    header = bytearray(321)
    header[64] = 256 - 12
    path = tmp_path / "some.fst"
    path.write_bytes(block(0, header) + block(4 + kind, hierarchy))
    return path


def test_fst_hierarchies(tmp_path):
    raw = b"\xfe\x00top\0\0" + b"\x10\x01" + b"i__payload.data [255:0]\0" + b"\x80\x02" + b"\x00"
    raw += b"\xfc\x00\x00note\0\x05" + b"\xfd" + b"\xfe\x00top\0\0" + b"\x15\x00state\0\x00\x00"
    raw += b"\x10\x01again\0" + b"\x80\x02" + b"\x01" + b"\xff\xff"
    size = len(raw).to_bytes(8, "big")
    # LZ4: new bytes, a copy of the six bytes of the first scope, new bytes
    at = raw.rindex(b"\xfe\x00top\0\0")
    first, last = raw[:at], raw[at + 7 :]
    packed = bytes([0xF3, len(first) - 15]) + first + at.to_bytes(2, "little")
    packed += bytes([0xF0, len(last) - 15]) + last
    twice = bytes([0xF0, len(packed) - 15]) + packed
    for kind, content in (
        (0, gzip.compress(raw)),
        (2, packed),
        (3, len(packed).to_bytes(8, "big") + twice),
    ):
        unit, variables = read_header(fst(tmp_path, kind, size + content))
        assert unit == 1000
        assert [(each.viewer_name, each.identifier, each.text) for each in variables] == [
            ("top.i__payload.data[255:0]", "1", False),
            ("top.top.state", "2", True),
            ("top.top.again[255:0]", "1", False),
        ]
