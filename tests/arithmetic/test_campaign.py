"""The long tier's machinery, with parts that take no time: what is done counts, what is wrong is told."""

from dataclasses import replace

import campaign
import exhaust
import numpy as np
import pytest
from campaign import Campaign
from judges import Wrong, check
from lanes import COMPLETE, DEFAULT, HALVES, verilated
from parts import Part, parts_of

from fanfold.codes import DataType, Operator

SUM = Part(Operator.SUM, DataType.FLOAT32, every=False, chunks=6, size=1000)
LEAST = Part(Operator.MIN, DataType.UINT32, every=False, chunks=3, size=64)


@pytest.fixture(autouse=True)
def one_lane(monkeypatch):
    monkeypatch.setattr(campaign, "VerilatedLane", verilated)


class Worse:
    """A lane with one wrong bit in one place."""

    def __init__(self, lane):
        self._lane = lane

    def fold(self, operator, data_type, a, b):
        folded = self._lane.fold(operator, data_type, a, b)
        if operator is Operator.SUM:
            folded[len(folded) // 2] ^= 1
        return folded


def test_runs_all_once(tmp_path):
    both = Campaign(DEFAULT, [SUM, LEAST], tmp_path)
    chunks = list(both.run(1))
    assert {(chunk.part, chunk.number) for chunk in chunks} == {
        *((SUM, number) for number in range(6)),
        *((LEAST, number) for number in range(3)),
    }
    assert not any(chunk.wrong for chunk in chunks)
    assert list(both.run(1)) == []
    both.forget()
    assert len(list(both.run(1))) == 9


def test_goes_on_where_it_was_interrupted(tmp_path):
    running = Campaign(DEFAULT, [SUM], tmp_path).run(1)
    first = {next(running).number, next(running).number}
    running.close()
    again = Campaign(DEFAULT, [SUM], tmp_path)
    assert {chunk.number for chunk in again.done(SUM)} == first
    (notes,) = tmp_path.rglob("float32-sum*")
    notes.write_text(notes.read_text() + "5 0.")  # cut short
    assert {chunk.number for chunk in again.run(1)} == set(range(6)) - first


def test_other_pairs_or_another_lane_begin_anew(tmp_path):
    assert len(list(Campaign(DEFAULT, [SUM], tmp_path).run(1))) == 6
    assert len(list(Campaign(DEFAULT, [replace(SUM, size=500)], tmp_path).run(1))) == 6
    assert Campaign(HALVES, [SUM], tmp_path).done(SUM) == []


def test_what_is_wrong_is_told_and_not_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "_lane", lambda config: Worse(verilated(config)))
    both = Campaign(DEFAULT, [SUM, LEAST], tmp_path)
    chunks = list(both.run(1))
    wrong = [chunk for chunk in chunks if chunk.wrong]
    assert [chunk.part for chunk in wrong] == [SUM], "a part is given up when it is wrong, others are not"
    assert "1 of 1000 wrong: SUM of FLOAT32" in wrong[0].wrong
    assert both.done(SUM) == [] and len(both.done(LEAST)) == 3


def test_in_processes(tmp_path):
    both = Campaign(DEFAULT, [SUM, LEAST], tmp_path)
    assert sorted(chunk.number for chunk in both.run(2)) == [0, 0, 1, 1, 2, 2, 3, 4, 5]
    assert len(both.done(SUM)) == 6 and len(both.done(LEAST)) == 3


def test_parts_keep_their_promise():
    """All pairs of 16-bit floating-point numbers, 10^8 of the larger, and nothing that is configured is left out."""
    parts = {(part.operator, part.data_type): part for part in parts_of(COMPLETE)}
    for operator in (Operator.SUM, Operator.MIN, Operator.MAX):
        for data_type in (DataType.FLOAT16, DataType.BFLOAT16):
            part = parts[operator, data_type]
            assert part.every and part.pairs == 1 << 32
        for data_type in (DataType.FLOAT32, DataType.FLOAT64):
            assert parts[operator, data_type].pairs >= 10**8
    assert set(parts) == {pair for pair in COMPLETE.pairs if pair[1].element_bytes > 1}
    (a, b), _ = replace(parts[Operator.SUM, DataType.FLOAT16], chunks=1 << 14, size=1 << 18).operands(3)
    assert set(a.tolist()) == {12, 13, 14, 15} and len(set(zip(a.tolist(), b.tolist(), strict=True))) == 1 << 18


def test_operands_are_the_same_every_time():
    first, second = (SUM.operands(2)[0] for _ in range(2))
    other = SUM.operands(3)[0]
    assert all(map(np.array_equal, first, second)) and not any(map(np.array_equal, first, other))


def test_judges_that_disagree(monkeypatch):
    monkeypatch.setattr("judges.second_judge", lambda operator, data_type, a, b: 1)
    (a, b), rng = LEAST.operands(0)
    with pytest.raises(Wrong, match="judges disagree"):
        check(verilated(DEFAULT), LEAST.operator, LEAST.data_type, a, b, sample=10, rng=rng)


def test_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(exhaust, "parts_of", lambda config: [SUM, LEAST])
    monkeypatch.setattr(exhaust.toolchain, "build_directory", lambda: tmp_path)
    arguments = ["--lane", "default", "--processes", "1"]
    assert exhaust.main([*arguments, "float32"]) == 0
    assert "float32-sum" in (text := capsys.readouterr().out) and "uint32-min" not in text
    assert "6,000           6,000" in text and "right" in text
    monkeypatch.setattr(campaign, "_lane", lambda config: Worse(verilated(config)))
    assert exhaust.main(arguments) == 0, "what is done is not done again"
    assert exhaust.main([*arguments, "--afresh"]) == 1
    text = capsys.readouterr().out
    assert "WRONG" in text and "float32-sum: 1 of 1000 wrong" in text
    with pytest.raises(SystemExit):
        exhaust.main(["float33"])
    assert "no part float33: known are float32, float32-sum, uint32, uint32-min" in capsys.readouterr().err


def test_interrupted_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(exhaust, "parts_of", lambda config: [SUM])
    monkeypatch.setattr(exhaust.toolchain, "build_directory", lambda: tmp_path)
    chunks = iter([False, False, True])

    def tried(config, part, number, run=campaign._try):
        if next(chunks):
            raise KeyboardInterrupt
        return run(config, part, number)

    monkeypatch.setattr(campaign, "_try", tried)
    assert exhaust.main(["--lane", "default", "--processes", "1"]) == 130
    out, err = capsys.readouterr()
    assert "2,000           6,000" in out and "not finished" in out
    assert "the same command goes on from here" in err
