"""What is wrong with settings, labels or lines is told in one line, before anything is tuned."""

import subprocess
import sys

import pytest

from dwindle import DataError
from dwindle.model.model import Model
from dwindle.runs.tune.tune import TuneSettings, tune
from helpers import planted_data
from helpers.small_searches import EXAMPLES, FAST, GRID, command_in, dwindle

pytestmark = pytest.mark.usefixtures("signals_as_before")
TEXT = planted_data.vw(EXAMPLES).encode()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--learning-rate", "0.1,fast"], "--learning-rate: expected numbers separated by commas, got '0.1,fast'"),
        (["--passes", "1,2.5"], "--passes: expected whole numbers separated by commas, got '1,2.5'"),
        (["--pass-decay", ""], "--pass-decay: expected numbers separated by commas, got ''"),
        (["--learning-rate", "-1"], "learning_rate must be finite and above 0, got -1.0"),
        (["--update", "plain,best"], "update must be one of auto, adaptive, centred, plain, averaged, ftrl, rda, got 'best'"),
        (["--tolerance", "little"], "--tolerance: expected a share like 1% or 0.01, got 'little'"),
        (["--tolerance", "1"], "tolerance must be 0 or more and below 1, got 1.0 (1% is 0.01)"),
        (["--folds", "1"], "folds must be 2 or more, got 1"),
        (["--picture", "nowhere/p.png"], "--picture: there is no folder nowhere to write to"),
        (["--picture", "m"], "--picture: m is the model: name another file"),
        (["--picture", "p.doc"], "--picture: expected a name that ends in one of "),
        (["--loss", "squared", "--metric", "auc"], "metric auc needs labels of two classes, not Squared"),
        (["--loss", "hinge", "--metric", "log-loss"], "metric log_loss needs labels of two classes and probabilities, not Hinge"),
        (["--loss", "logistic", "--metric", "rmse"], "metric rmse needs labels that are numbers, not Logistic"),
    ],
)  # fmt: skip
def test_bad_usage_is_told_in_one_line(data, tmp_path, monkeypatch, wrong, said):
    monkeypatch.chdir(tmp_path)
    done = dwindle("tune", data, "-m", "m", *wrong, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"dwindle: {said}")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_numbers_have_no_accuracy_and_the_first_labels_decide(tmp_path):
    (tmp_path / "a.svm").write_text(planted_data.svmlight(planted_data.rows(300, classes=False)))
    done = dwindle(
        "tune", tmp_path / "a.svm", "-m", tmp_path / "m", "--metric", "accuracy", check=False
    )
    assert done.returncode == 2
    assert "metric accuracy needs labels of two classes, not Squared" in done.stderr
    how = TuneSettings(grid=GRID, folds=3, tolerance=0.01)
    with pytest.warns(UserWarning, match="no gravity tried is within the tolerance"):
        tuned = tune([str(tmp_path / "a.svm")], tmp_path / "m", how)
    assert (tuned.found.metric, tuned.summary.loss_name) == ("loss", "Squared")
    assert (
        tuned.found.chosen.loss <= tuned.found.bound == pytest.approx(1.01 * tuned.found.dense.loss)
    )


@pytest.mark.slow
def test_pipes_are_refused(data, tmp_path):
    for args in (["-"], [data, "/dev/stdin"]):
        command = [
            sys.executable,
            "-m",
            "dwindle",
            "tune",
            *map(str, args),
            "-m",
            str(tmp_path / "m"),
        ]
        done = subprocess.run(command, input=data.read_bytes(), capture_output=True, check=False)
        assert done.returncode == 1
        assert done.stderr.decode() == (
            "dwindle: a pipe can be read only once, and tune reads the data twice: use a file\n"
        )


def test_the_model_must_have_a_folder_and_a_name_of_its_own(data, tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        tune([str(data)], tmp_path / "none" / "m")
    before = data.read_bytes()
    with pytest.raises(DataError, match="is read here and would be written over"):
        tune([str(data)], data)
    assert data.read_bytes() == before


def test_a_bad_line_stops_it_unless_it_may_be_skipped(data, tmp_path):
    bad = tmp_path / "bad.vw"
    bad.write_text(data.read_text() + "1|f a\n")
    done = dwindle("tune", bad, "-m", tmp_path / "m", *FAST, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"dwindle: {bad}:301: label '1' touches '|'")
    done = dwindle("tune", bad, "-m", tmp_path / "m", *FAST, "--skip-bad")
    assert "skipped       " in done.stderr
    assert "--skip-bad" in command_in(done.stderr)
    kept = tune([str(data)], tmp_path / "n", TuneSettings(grid=GRID, folds=3))
    assert Model.load(tmp_path / "m").weights() == Model.load(tmp_path / "n").weights()
    assert kept.summary.skipped == 0


@pytest.mark.parametrize(
    ("text", "loss", "said"),
    [
        ("1 | a\n-1 | a\n3.5 | a\n", "logistic", ":3: expected a label of two classes"),
        ("1 | a\n-1 | a\n", "poisson", ":2: with Poisson a label must be 0 or more, got -1"),
        ("| a\n| b\n", None, ": no examples to learn from"),
        ("", None, ": no examples to learn from"),
        ("1 | a\n-1 | a\n", None, "there are 2 examples, too few for 5 folds"),
    ],
)
def test_labels_that_cannot_be_learned_are_told_with_their_place(tmp_path, text, loss, said):
    (tmp_path / "a.vw").write_text(text)
    option = () if loss is None else ("--loss", loss)
    done = dwindle("tune", tmp_path / "a.vw", "-m", tmp_path / "m", *option, check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    # What is wrong is mended, and nothing of the first attempt is in the way.
    (tmp_path / "a.vw").write_text(planted_data.vw(EXAMPLES))
    dwindle("tune", tmp_path / "a.vw", "-m", tmp_path / "m", *FAST, "-q")


@pytest.mark.slow
@pytest.mark.parametrize("label", ["1", "-1", "5"])
def test_labels_that_are_all_the_same_are_told_and_it_goes_on(tmp_path, label):
    (tmp_path / "a.vw").write_text("".join(f"{label} | a:{i % 7} b\n| c\n" for i in range(40)))
    done = dwindle("tune", tmp_path / "a.vw", "-m", tmp_path / "m", *FAST)
    said = "all labels are the same: there is nothing to tell apart"
    assert done.stderr.count("all labels are the same") == done.stderr.count(said) == 1
    assert len(Model.load(tmp_path / "m")) <= 2
    (tmp_path / "a.vw").write_text(planted_data.vw(EXAMPLES))
    assert said not in dwindle("tune", tmp_path / "a.vw", "-m", tmp_path / "m", *FAST).stderr


def test_unlabelled_examples_at_the_top_are_passed_over(data, tmp_path):
    (tmp_path / "a.vw").write_text("| a b\n" * 30)
    reference = tune(
        [str(data)], tmp_path / "n", TuneSettings(grid=GRID._replace(cooldown=(1,)), folds=3)
    )
    with pytest.warns(UserWarning, match="30 of 330 examples have no label"):
        tuned = tune([str(tmp_path / "a.vw"), str(data)], tmp_path / "m", TuneSettings(grid=GRID._replace(cooldown=(1,)), folds=3))  # fmt: skip
    assert tuned.found == reference.found


def test_if_there_is_no_room_in_the_temporary_folder_that_is_told(data, tmp_path, monkeypatch):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dwindle.data.cache.TemporaryFile", full)
    with pytest.raises(DataError, match=r"no room for a cache.*No space left.*set TMPDIR"):
        tune([str(data)], tmp_path / "m", TuneSettings(grid=GRID, folds=3))


def test_jobs_are_one_or_more(data, tmp_path):
    with pytest.raises(ValueError, match="jobs must be 1 or more, got 0"):
        tune([str(data)], tmp_path / "m", TuneSettings(jobs=0))
