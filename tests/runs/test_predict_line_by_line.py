"""Who sends a line to `predict` and waits for its answer gets it."""

import os
import subprocess
import threading

import numpy as np
import pytest

from dwindle import DataError
from dwindle._base.threads import ordered_map
from dwindle.data import pipes
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from dwindle.runs.predict import predict
from helpers.commands import command, dwindle

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
ROWS = [(i % 2, i % 7, i % 5) for i in range(400)]
FORMATS = {
    "vw": [f"{y} 'id{i} | w{a} x:{b}\n" for i, (y, a, b) in enumerate(ROWS)],
    "svm": [f"{y} {a + 1}:1 9:{b}\n" for y, a, b in ROWS],
    "jsonl": [f'{{"label": {y}, "features": {{"w": "{a}", "x": {b}}}}}\n' for y, a, b in ROWS],
}


@pytest.fixture
def pipe():
    """The two ends of a pipe: a path to read from, and a file to write to."""
    out, into = os.pipe()
    with os.fdopen(out), os.fdopen(into, "wb", 0) as file:
        yield f"/dev/fd/{out}", file


def trained(folder, form):
    (folder / f"a.{form}").write_text("".join(FORMATS[form]))
    dwindle("train", folder / f"a.{form}", "-m", folder / "m", "-q")
    return folder / "m"


def numbers(parts):
    return np.concatenate([part.prediction for part in parts])


HEADER = "y,w,x\n"
CELLS = [f"{y},{'abcdefg'[a]},{b}\n" for y, a, b in ROWS]
QUOTED = [*CELLS[:3], '1,"a\n', 'b ""c"" d\n', 'e",2\n', *CELLS[6:]]


@pytest.mark.parametrize("rows", [CELLS, QUOTED])
def test_rows_of_csv_are_answered_too_whole_rows_only(tmp_path, pipe, rows):
    (tmp_path / "a.csv").write_text(HEADER + "".join(rows))
    dwindle("train", tmp_path / "a.csv", "-m", tmp_path / "m", "-q", "--label-column", "y")
    whole = numbers(predict(tmp_path / "m", [str(tmp_path / "a.csv")]))
    path, file = pipe
    answers, found = predict(tmp_path / "m", [path], ReadOptions(format="csv")), []
    file.write(HEADER.encode())
    for row in rows[:8]:
        file.write(row.encode())
        if row in CELLS or row == 'e",2\n':
            found.append(next(answers))
    file.write("".join(rows[8:]).encode())
    file.close()
    assert [len(part.prediction) for part in found] == [1] * len(found)
    assert np.array_equal(numbers([*found, *answers]), whole)


def test_the_header_and_a_row_that_come_at_once_are_enough(tmp_path, pipe):
    (tmp_path / "a.csv").write_text(HEADER + "".join(CELLS))
    dwindle("train", tmp_path / "a.csv", "-m", tmp_path / "m", "-q", "--label-column", "y")
    path, file = pipe
    answers = predict(tmp_path / "m", [path])  # its first line tells the format
    file.write((HEADER + CELLS[0]).encode())
    assert len(next(answers).prediction) == 1
    file.close()
    assert list(answers) == []


def test_a_bad_row_has_the_number_of_its_line_however_it_came(tmp_path, pipe):
    (tmp_path / "a.csv").write_text(HEADER + "".join(CELLS))
    dwindle("train", tmp_path / "a.csv", "-m", tmp_path / "m", "-q", "--label-column", "y")
    path, file = pipe
    answers = predict(tmp_path / "m", [path], ReadOptions(format="csv"))
    file.write((HEADER + CELLS[0]).encode())
    next(answers)
    file.write((CELLS[1] + CELLS[2]).encode())
    next(answers)
    file.write(f"1,a\n{CELLS[3]}".encode())
    file.close()
    with pytest.raises(DataError, match=":5: expected 3 cells, got 2"):
        list(answers)


@pytest.mark.parametrize("form", FORMATS)
def test_each_line_is_answered_before_the_next_one_is_written(form, tmp_path, pipe):
    model, (path, file), lines = trained(tmp_path, form), pipe, FORMATS[form]
    whole = numbers(predict(model, [str(tmp_path / f"a.{form}")]))
    kind = {"svm": "svmlight"}.get(form, form)
    answers = predict(model, [path], ReadOptions(format=kind))
    found = []
    for line in lines[:5]:
        file.write(line.encode())
        found.append(next(answers))
    file.write("".join(lines[5:]).encode())
    file.close()
    assert [len(part.prediction) for part in found] == [1] * 5
    assert np.array_equal(numbers([*found, *answers]), whole)


def test_half_a_line_waits_for_its_other_half(tmp_path, pipe):
    model, (path, file) = trained(tmp_path, "vw"), pipe
    answers = predict(model, [path], ReadOptions(format="vw"))
    file.write(b"1 'a | w1 x:2\n1 'b | w")
    assert list(next(answers).tags) == ["a"]
    file.write(b"3\n")
    file.close()
    [last] = answers
    assert list(last.tags) == ["b"]


def test_the_format_of_the_first_lines_is_told_without_waiting_for_more(tmp_path, pipe):
    model, (path, file) = trained(tmp_path, "vw"), pipe
    answers = predict(model, [path])
    file.write(b"|a\n")
    assert len(next(answers).prediction) == 1
    file.close()
    assert list(answers) == []


def test_a_steady_trickle_is_not_collected_for_long(tmp_path, pipe, monkeypatch):
    monkeypatch.setattr(pipes, "PAUSE", 60.0)  # never idle
    model, (path, file) = trained(tmp_path, "vw"), pipe
    answers = predict(model, [path], ReadOptions(format="vw"))
    stop = threading.Event()

    def trickle():
        while not stop.wait(0.001):
            file.write(b"| w1\n")
        file.close()

    writing = threading.Thread(target=trickle)
    writing.start()
    assert 1 <= len(next(answers).prediction) < 10_000
    stop.set()
    writing.join()
    list(answers)


def test_training_reads_a_slow_pipe_in_whole_blocks_since_the_first_decides(pipe):
    path, file = pipe
    file.write(b"1 | a\n")
    threading.Timer(0.1, lambda: (file.write(b"1 | b\n"), file.close())).start()
    [parsed] = read([path], ReadOptions(format="vw"))
    assert parsed.batch.n_examples == 2


def test_a_map_gives_a_result_before_the_next_item_is_there():
    asked = threading.Event()

    def items():
        yield 1
        assert asked.wait(10)
        yield 2
        raise ValueError("three")

    results = ordered_map(lambda i: 10 * i, items(), 2)
    assert next(results) == 10
    asked.set()
    assert next(results) == 20
    with pytest.raises(ValueError, match="three"):
        next(results)


@pytest.mark.slow
def test_the_command_answers_line_by_line_through_pipes(tmp_path):
    model = trained(tmp_path, "vw")
    expected = dwindle("predict", model, tmp_path / "a.vw", "--tags").stdout.splitlines(
        keepends=True
    )
    with subprocess.Popen(
        command("predict", model, "-", "--tags"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        for line, answer in zip(FORMATS["vw"][:3], expected, strict=False):
            running.stdin.write(line.encode())
            running.stdin.flush()
            assert running.stdout.readline() == answer
        running.stdin.close()
        assert running.stdout.read() == b""
    assert running.returncode == 0
