"""What cannot be learned from is told in one line, and leaves what was there before."""

import gzip
import json
import lzma

import pytest

from dwindle import DataError, DivergedError
from dwindle.data.options import ReadOptions
from dwindle.runs.progress import Progress
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle
from helpers.training_text import fitted, lines

TEXT = lines().encode()


def test_a_label_that_the_loss_cannot_use_is_told_with_its_line(tmp_path):
    (tmp_path / "a.vw").write_text("1 | x\n" * 10 + "-1 | x\n")
    done = dwindle(
        "train", tmp_path / "a.vw", "-m", tmp_path / "m", "--loss", "poisson", check=False
    )
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1] == (
        f"dwindle: {tmp_path}/a.vw:11: with Poisson a label must be 0 or more, got -1"
    )


def test_a_third_label_is_an_error_with_its_line(tmp_path):
    (tmp_path / "a.vw").write_text(lines(2000) + "3 | a\n")
    reading = ReadOptions(block_size=1000)
    with pytest.raises(
        DataError, match=r"a\.vw:2001: expected a label of two classes \(-1 and 1\), got 3"
    ):
        train([str(tmp_path / "a.vw")], tmp_path / "m", TrainSettings(reading=reading))


def test_a_second_class_that_comes_too_late_is_explained(tmp_path):
    path = tmp_path / "late.svm"
    path.write_text("1 1:1\n" * 50 + "2 2:1\n")
    reading = ReadOptions(block_size=100)
    with pytest.raises(DataError, match=r"late.svm:51: .* put an example of 2 near the top"):
        train([str(path)], tmp_path / "m.parquet", TrainSettings(reading=reading))


def test_a_bad_line_stops_the_run_and_leaves_the_earlier_model(data, tmp_path):
    out = tmp_path / "m.parquet"
    fitted([data], tmp_path)
    before = out.read_bytes()
    (tmp_path / "bad.vw").write_text(lines(50) + "1|f a\n")
    done = dwindle("train", tmp_path / "bad.vw", "-m", out, check=False)
    assert done.returncode == 1
    assert f"dwindle: {tmp_path}/bad.vw:51: label '1' touches '|'".encode() in done.stderr
    assert out.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir() if "m.parquet" in p.name] == ["m.parquet"]


def test_skip_bad_counts_and_shows_the_first_three(tmp_path):
    (tmp_path / "bad.vw").write_text("1|f a\n" * 5 + lines(50))
    done = dwindle("train", tmp_path / "bad.vw", "-m", tmp_path / "m", "--skip-bad")
    assert b"skipped       5 bad lines" in done.stderr
    assert done.stderr.count(b"touches") == 3
    summary = json.loads(
        dwindle(
            "train", tmp_path / "bad.vw", "-m", tmp_path / "m", "--skip-bad", "--json"
        ).stdout.splitlines()[-1]
    )
    assert (summary["skipped"], summary["examples"]) == (5, 50)


@pytest.mark.slow
def test_empty_and_damaged_input_is_told_in_one_line(tmp_path):
    done = dwindle("train", "-", "-m", tmp_path / "m", stdin=b"", check=False)
    assert (done.returncode, done.stderr) == (1, b"dwindle: -: no examples to learn from\n")
    for name, raw in (
        ("a.gz", gzip.compress(lines(500).encode())),
        ("a.xz", lzma.compress(lines(500).encode())),
    ):
        (tmp_path / name).write_bytes(raw[: len(raw) // 2])
        done = dwindle(
            "train", tmp_path / name, "--format", "vw", "-m", tmp_path / "m", check=False
        )
        assert done.returncode == 1
        assert (
            done.stderr.decode()
            .splitlines()[-1]
            .startswith(f"dwindle: {tmp_path / name}: cannot be read, or is cut short: ")
        )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["train", "none.vw", "-m", "m"], "dwindle: none.vw: no such file or folder"),
        (["predict", "none", "x.vw"], "dwindle: none: no such file"),
        (["evaluate", "none", "x.vw"], "dwindle: none: no such file"),
        (["inspect", "none"], "dwindle: none: no such file"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(args, message):
    done = dwindle(*args, check=False)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == [message]


def test_what_is_read_is_never_written_over(data, tmp_path):
    own, model = tmp_path / "own", tmp_path / "m.parquet"
    own.write_bytes(data.read_bytes())
    assert b"own: is read here" in dwindle("train", own, "-m", own, check=False).stderr
    dwindle("train", own, "-m", model)
    for target in (own, model):
        before = target.read_bytes()
        done = dwindle("predict", model, own, "-o", target, check=False)
        assert (done.returncode, target.read_bytes()) == (1, before)


def test_bad_usage_exits_with_2(data, tmp_path):
    for extra in (
        ["--loss", "nonsense"],
        ["--shrinkage", "rounding"],
        ["--checkpoint-every", "x"],
        ["--interactions", "A"],
    ):
        done = dwindle("train", data, "-m", tmp_path / "m", *extra, check=False)
        assert done.returncode == 2, extra
        assert not (tmp_path / "m").exists()


def test_a_run_whose_weights_ran_away_leaves_no_model(tmp_path):
    (tmp_path / "a.vw").write_text("1 | x\n")
    args = (
        "--loss",
        "squared",
        "--update",
        "plain",
        "--learning-rate",
        "1e308",
        "--no-standardize",
    )
    done = dwindle("train", tmp_path / "a.vw", "-m", tmp_path / "m", *args, check=False)
    assert done.returncode == 1
    assert b"no longer finite" in done.stderr
    assert not (tmp_path / "m").exists()


def test_what_goes_wrong_in_measuring_ends_the_run_and_writes_no_model(data, tmp_path, monkeypatch):
    def fail(*_):
        raise DivergedError("there is no such figure")

    monkeypatch.setattr(Progress, "measure", fail)
    with pytest.raises(DivergedError, match="no such figure"):
        train([str(data)], tmp_path / "m", TrainSettings())
    assert list(tmp_path.iterdir()) == []
