"""From data to the sparsest model as good as the best, as a user would."""

import json
import shlex
import subprocess
import sys

import pytest

from cli.test_screen import Terminal, left_on
from dwindle import Squared
from dwindle.algorithm.settings import LearnerSettings
from dwindle.cli.train import command as train_command
from dwindle.model.model import Model
from dwindle.runs.tune.grid import Setting
from dwindle.runs.tune.tune import Tuned, TuneSettings, tune
from helpers import planted_data
from helpers.small_searches import EXAMPLES, FAST, GRID, RUNS, command_in, dwindle

pytestmark = pytest.mark.usefixtures("signals_as_before")
TEXT = planted_data.vw(EXAMPLES).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        (
            "a b.vw",
            planted_data.vw(EXAMPLES),
            ["--drop", "nothing", "--update", "adaptive,plain"],
        ),
        ("a.svm", planted_data.svmlight(EXAMPLES), ["--keep", "7", "--truncate-every", "1,20"]),
        (
            "a.csv",
            planted_data.csv(EXAMPLES).replace("label", "y", 1),
            ["--label-column", "y", "--loss", "squared", "--threshold", "0.5,inf"],
        ),
        ("noname", planted_data.svmlight(EXAMPLES), ["--format", "svmlight", "--metric", "auc"]),
    ],
    ids=["vw", "svmlight", "csv", "said"],
)
def test_the_command_that_is_printed_makes_the_same_model_to_the_bit(
    tmp_path, monkeypatch, name, text, options
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    said = dwindle("tune", name, "-m", "m.parquet", *FAST, "--no-picture", *options)
    tuned = (tmp_path / "m.parquet").read_bytes()
    assert not (tmp_path / "m.parquet.tuning").exists()
    (tmp_path / "m.parquet").unlink()
    command = [sys.executable, "-m", "dwindle", *command_in(said.stderr), "--quiet"]
    subprocess.run(command, check=True)
    assert (tmp_path / "m.parquet").read_bytes() == tuned
    assert said.stdout == ""


def test_the_usual_setting_is_what_train_does_with_no_gravity_when_nothing_else_is_said():
    usual = {option.name: option.default for option in train_command.params}
    usual |= {"gravity": 0.0, "update": "adaptive"}
    said = Setting()._asdict()
    assert said == {
        name: usual[name] if isinstance(usual[name], str | int | float) else None for name in said
    }


@pytest.mark.slow
def test_the_planted_features_are_kept_with_their_names(data, tmp_path):
    dwindle("tune", data, "-m", tmp_path / "m", "--learning-rate", "0.3,1", "--passes", "1,3,10", "--folds", "5", "-q")  # fmt: skip
    names = set(Model.load(tmp_path / "m").weights())
    assert names >= {f"f^w{j}" for j in range(len(planted_data.WEIGHTS))}
    assert len(names) < 12


def test_json_is_each_score_the_choice_and_the_training(data, tmp_path):
    done = dwindle("tune", data, "-m", tmp_path / "m", *FAST, "--json", "--no-picture")
    *scores, choice, summary = map(json.loads, done.stdout.splitlines())
    assert len(scores) == 2 + 2 * 2 * 2
    assert done.stderr == ""
    for name in ("dense", "chosen"):
        assert choice[name] in scores
    assert choice["metric"] == "auc"
    assert choice["bound"] == pytest.approx(0.998 * max(s["auc"] for s in scores))
    assert choice["chosen"]["auc"] >= choice["bound"]
    within = [s["kept"] for s in scores if s["auc"] >= choice["bound"]]
    assert choice["chosen"]["kept"] == min(within)
    assert shlex.split(choice["command"])[:2] == ["dwindle", "train"]
    assert summary["kept"] == len(Model.load(tmp_path / "m"))


def test_with_keep_no_bound_is_told(data, tmp_path):
    args = ("tune", data, "-m", tmp_path / "m", *FAST, "--keep", "7")
    said = dwindle(*args).stderr.splitlines()
    assert any(line.startswith("chosen ") for line in said)
    assert not any(line.startswith("bound ") for line in said)
    *_, choice, _ = map(json.loads, dwindle(*args, "--json").stdout.splitlines())
    assert choice["bound"] is None


def test_one_feature_is_not_features(data, tmp_path):
    said = dwindle("tune", data, "-m", tmp_path / "m", *FAST, "--keep", "1", "--no-picture").stderr
    told = {line.split()[0]: line for line in said.splitlines() if line}
    assert told["chosen"].endswith(", 1 feature")
    assert "1 features" not in said


def test_what_diverged_is_null_in_json(tmp_path):
    (tmp_path / "a.svm").write_text(planted_data.svmlight(planted_data.rows(300, classes=False)))
    plain = ("--update", "plain", "--learning-rate", "0.01,50", "--passes", "1", "--gravity", "0")
    done = dwindle("tune", tmp_path / "a.svm", "-m", tmp_path / "m", "--json", *plain)
    *scores, choice, _ = map(json.loads, done.stdout.splitlines())
    assert [score["loss"] is None for score in scores] == [False, True]
    assert choice["chosen"]["learning_rate"] == 0.01
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("update", ["ftrl", "rda", "adaptive,ftrl"])
def test_every_update_can_be_tuned_and_sparsely(data, tmp_path, update):
    said = dwindle("tune", data, "-m", tmp_path / "m", "--update", update, "--folds", "2", "--passes", "1", "--no-picture")  # fmt: skip
    assert "best so far " in said.stderr
    assert len(Model.load(tmp_path / "m")) < 40


@pytest.mark.parametrize("name", [None, "picture.svg", "picture.png"])
def test_the_picture_is_where_it_is_wanted_and_is_one(data, tmp_path, name):
    option = () if name is None else ("--picture", tmp_path / name)
    dwindle("tune", data, "-m", tmp_path / "m.parquet", *FAST, *option, "-q")
    drawn = (tmp_path / (name or "m.parquet.png")).read_bytes()
    assert b"<svg" in drawn if name == "picture.svg" else drawn.startswith(b"\x89PNG\r\n")
    assert len(list(tmp_path.iterdir())) == 2


def test_if_the_picture_cannot_be_written_the_summary_is_there(data, tmp_path):
    (tmp_path / "m.png" / "occupied").mkdir(parents=True)
    done = dwindle("tune", data, "-m", tmp_path / "m", *FAST, check=False)
    assert done.returncode == 1
    *_, model, error = done.stderr.splitlines()
    assert model.startswith(f"model         {tmp_path / 'm'}, ")
    assert error == f"dwindle: {tmp_path / 'm.png'}: is a folder: write to a file in it"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "m.png"]


def without_matplotlib(*args):
    code = "import sys; sys.modules['matplotlib'] = None; from dwindle.cli import main; main(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_without_matplotlib_there_is_a_note_unless_the_picture_was_asked_for(data, tmp_path):
    done = without_matplotlib("tune", data, "-m", tmp_path / "m", *FAST)
    assert done.returncode == 0
    assert 'no picture without matplotlib: pip install "dwindle[plot]"' in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    done = without_matplotlib("tune", data, "-m", tmp_path / "m", "--picture", tmp_path / "p.png")
    assert done.returncode == 2
    assert done.stderr == 'dwindle: --picture needs matplotlib: pip install "dwindle[plot]"\n'


@pytest.mark.slow
def test_quiet_is_silent(data, tmp_path):
    done = dwindle("tune", data, "-m", tmp_path / "m", *FAST, "--quiet")
    assert (done.stdout, done.stderr) == ("", "")


def test_a_log_gets_the_table_and_the_choice_and_a_line_now_and_then(data, tmp_path):
    said = dwindle("tune", data, "-m", tmp_path / "m", *FAST, "--no-picture").stderr
    lines = said.splitlines()
    assert f"{RUNS} of {RUNS} runs" in lines
    assert "\x1b" not in said
    head = next(line for line in lines if "±" in line)
    assert head.split() == [
        "kept",
        "AUC",
        "±",
        "error",
        "accuracy",
        "gravity",
        "passes",
        "cooldown",
    ]
    assert sum(line.endswith(" chosen") for line in lines) == 1
    assert sum(line.endswith(" dense") for line in lines) == 1
    kept = [float(line.split()[0]) for line in lines[lines.index(head) + 1 : lines.index("")]]
    assert kept == sorted(kept)
    for word in ("dense ", "bound ", "chosen ", "command ", "kept ", "model "):
        assert any(line.startswith(word) for line in lines), word


@pytest.mark.slow
def test_on_a_terminal_a_bar_counts_the_runs_and_goes(data, tmp_path):
    shown = Terminal("tune", data, "-m", tmp_path / "m", *FAST, "--no-picture")
    assert shown.end() == 0
    assert f"/{RUNS} runs" in shown.written
    assert "0:00:00 left" in shown.written
    left = left_on(shown.written)
    assert not any("━" in line for line in left)
    so_far = [line for line in left if line.startswith("best so far ")]
    assert so_far == left[: len(so_far)] != []
    assert left[len(so_far)].split()[:2] == ["kept", "AUC"]


def test_threads_change_nothing(data, tmp_path):
    found = []
    for jobs in (1, 2, 4, None):
        tuned = tune([str(data)], tmp_path / "m", TuneSettings(grid=GRID, folds=3, jobs=jobs))
        assert isinstance(tuned, Tuned)
        found.append((tuned.found, (tmp_path / "m").read_bytes()))
    assert all(each == found[0] for each in found)


def test_a_loss_of_your_own_choosing_is_the_one_that_is_used(data, tmp_path):
    tuned = tune(
        [str(data)],
        tmp_path / "m",
        TuneSettings(grid=GRID, fixed=LearnerSettings(loss=Squared()), folds=3),
    )
    assert Model.load(tmp_path / "m").loss == Squared()
    assert tuned.found.metric == "loss"


@pytest.mark.parametrize("metric", ["average-precision", "f1", "log-loss", "rmse", "r2"])
def test_the_metric_may_be_any_that_evaluate_shows(data, tmp_path, metric):
    loss = ("--loss", "squared") if metric in {"rmse", "r2"} else ()
    args = ("-m", tmp_path / "m", *FAST, *loss, "--json", "--no-picture", "--metric", metric)
    *scores, choice, _ = map(json.loads, dwindle("tune", data, *args).stdout.splitlines())
    name = metric.replace("-", "_")
    assert choice["metric"] == name
    best = min if metric in {"log-loss", "rmse"} else max
    dense = [s for s in scores if s["gravity"] == 0]
    assert choice["dense"][name] == best(s[name] for s in dense)
