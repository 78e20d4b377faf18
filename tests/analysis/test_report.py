"""The report of a model: its numbers are the model's and evaluate's."""

import json
import math
import random
import re

import pytest
from click.testing import CliRunner

from dwindle import Learner, Model, TrainSettings, evaluate, load, train
from dwindle.analysis.report import report
from dwindle.cli import main
from dwindle.model.loading import load_model
from helpers.html import HOSTILE, read
from helpers.observing import heard

N = 600


def lines(kind, n=N, seed=0):
    """Examples of two classes, of three, or of numbers; some weigh more, some have tags."""
    chance = random.Random(seed)
    for i in range(n):
        a, b, noise = chance.choice("xyz"), chance.random(), chance.randrange(60)
        score = {"x": -1.5, "y": 0.2, "z": 1.4}[a] + b + chance.gauss(0, 0.8)
        label = {
            "two": 1 if score > 0.4 else -1,
            "several": 1 + (score > 0) + (score > 1.5),
            "numbers": f"{3 * score:.3f}",
        }[kind]
        yield f"{label} {1 + i % 3} tag{i}|a {a} |b size:{b:.3f} |noise n{noise} {HOSTILE}\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of each kind, its data, and rows that were told while it was trained."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for kind in ("two", "several", "numbers"):
        data, test = folder / f"{kind}.vw", folder / f"{kind}-test.vw"
        data.write_text("".join(lines(kind)))
        test.write_text("".join(lines(kind, seed=1)))
        rows = []
        path = folder / f"{kind}.parquet"
        settings = TrainSettings(path=True, loss=None if kind == "numbers" else "logistic")
        train([str(data)], path, settings, observer=heard(on_row=rows.append))
        found[kind] = path, str(test), rows
    return found


NAMES = {  # on the page, and in what evaluate returns
    "two": {
        "loss": "loss", "log loss": "log_loss", "AUC": "auc", "Brier score": "brier_score",
        "average precision": "average_precision", "calibration error": "calibration_error",
        "accuracy": "accuracy", "precision": "precision", "recall": "recall", "F1": "f1",
        "best F1": "best_f1", "share of positives": "positive_share",
        "accuracy of the commoner class": "majority_accuracy", "examples": "examples",
        "loss of the best constant": "best_constant_loss",
    },
    "several": {
        "loss": "loss", "log loss": "log_loss", "accuracy": "accuracy", "macro F1": "macro_f1",
        "loss of the best constant": "best_constant_loss", "examples": "examples",
    },
    "numbers": {
        "loss": "loss", "RMSE": "rmse", "MAE": "mae", "r2": "r2", "examples": "examples",
        "loss of the best constant": "best_constant_loss",
    },
}  # fmt: skip
BINNED = {"auc", "average_precision", "calibration_error", "best_f1"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NAMES)
def test_the_figures_on_the_page_are_those_of_evaluate(models, kind):
    path, test, _ = models[kind]
    page, expected = read(report(path, [test]).html), evaluate(path, [test])
    for title, name in NAMES[kind].items():
        near = 2e-4 if name in BINNED else 1e-9
        assert page.figures[title] == pytest.approx(expected[name], rel=near, abs=near), title


def test_the_weights_on_the_page_are_the_model_s_and_those_left_out_are_counted(models):
    path, _, _ = models["two"]
    model = load_model(path)
    rows = read(report(path, top=2).html).table("2 weights")
    found = {f"{space}^{name}": weight for space, name, weight, _ in rows}
    assert found == dict(list(model.weights().items())[:2])
    assert len(model) > 2
    assert f"{len(model) - 2:,} lighter ones are left out" in report(path, top=2).html
    whole = read(report(path).html).table(f"{len(model)} weight")
    assert [row[2] for row in whole] == list(model.weights().values())


def test_the_weights_of_several_classes_name_their_class(models):
    path, _, _ = models["several"]
    rows = read(report(path).html).table(f"{len(load_model(path))} weight")
    found = {}
    for class_, space, name, weight, _ in rows:
        found.setdefault(float(class_), {})[f"{space}^{name}"] = weight
    assert found == {k: v for k, v in load_model(path).weights().items() if v}


def test_weights_are_added_up_by_namespace(models):
    path, _, _ = models["two"]
    page = read(report(path).html)
    [caption] = [each for each in page.tables if "namespace" in each]
    found = {name: (n, size) for name, n, size, _ in page.tables[caption][1:]}
    expected = {}
    for name, weight in load_model(path).weights().items():
        space = name.rpartition("^")[0]
        n, size = expected.get(space, (0, 0.0))
        expected[space] = n + 1, size + abs(weight)
    assert found.keys() == expected.keys()
    for space, (n, size) in expected.items():
        assert found[space] == (n, pytest.approx(size))


def test_the_learning_curve_is_what_was_told_while_training(models):
    path, _, told = models["two"]
    page = read(report(path).html)
    rows = page.table("Progressive loss")
    expected = [(r.examples, r.loss, r.since_last) for r in told if r.examples >= 16]
    assert [tuple(row) for row in rows] == expected
    auc = [(r.examples, r.auc) for r in told if r.examples >= 16]
    assert [tuple(row) for row in page.table("Progressive AUC")] == auc
    alive = [(r.examples, r.alive, r.seen) for r in told if r.examples >= 16]
    assert [tuple(row) for row in page.table("Features")] == alive


def test_the_gravities_on_the_page_are_those_of_the_path_with_the_chosen_one_marked(models):
    path, _, _ = models["two"]
    lanes = sorted(load(path).path_.frontier(), key=lambda lane: lane.kept)
    html = report(path).html
    rows = read(html).table("Size against score")
    assert [row[0] for row in rows] == [lane.kept for lane in lanes]
    judged = [next(v for v in row[1:3] if not math.isnan(v)) for row in rows]
    assert judged == [lane.judged for lane in lanes]
    [chosen] = [lane for lane in lanes if lane.chosen]
    assert f">chosen: {chosen.kept:,}<" in html


def test_keep_picks_another_gravity_of_a_path(models):
    path, test, _ = models["two"]
    expected = evaluate(path, [test], keep=2)
    page = read(report(path, [test], keep=2).html)
    assert page.figures["loss"] == pytest.approx(expected["loss"])
    assert len(page.table("2 weights")) == 2


def test_the_confusion_on_the_page_is_that_of_evaluate(models):
    path, test, _ = models["several"]
    page, expected = read(report(path, [test]).html), evaluate(path, [test])
    assert [row[1:] for row in page.table("Confusion")] == expected["confusion"]
    classes = [(c["precision"], c["recall"], c["f1"], c["support"]) for c in expected["classes"]]
    assert [tuple(row[1:]) for row in page.table("How well each class")] == classes


def test_names_of_strangers_are_text_wherever_they_stand(tmp_path):
    data, test = tmp_path / f"{HOSTILE[:8]}.csv", tmp_path / "t.csv"
    rows = [f"{'<i>yes</i>' if i % 3 else '<b>no</b>'},{HOSTILE}{i % 2},{i % 3}" for i in range(90)]
    for file in (data, test):
        file.write_text(f"label,<img src=x onerror=alert(1)>,{HOSTILE}\n" + "\n".join(rows) + "\n")
    train([str(data)], tmp_path / "<u>m.parquet", TrainSettings(gravity=0.0))
    html = report(tmp_path / "<u>m.parquet", [str(test)]).html
    page = read(html)
    assert page.tags.count("script") == 1
    assert not {"img", "u", "b"} & {*page.tags}
    assert {tag for tag, *_ in page.attributes if tag == "i"} <= {"i"}  # the bars
    assert not [each for each in page.attributes if each[1].startswith("on")]
    assert HOSTILE in page.text


def test_a_model_that_says_nothing_and_one_without_features_have_a_page():
    learner = Learner()
    for model in (Model.of(learner), _learned(learner)):
        page = read(report(model).html)
        assert {"h1", "h2", "main"} <= {*page.tags}
        assert "Settings" in page.text


def _learned(learner):
    learner.learn_one({"a": 1}, 1)
    return Model.of(learner)


def test_a_run_s_page_has_its_summary_its_passes_and_its_memory(tmp_path):
    data = tmp_path / "d.vw"
    data.write_text("".join(lines("two")))
    options = ["--passes", "3", "--holdout", "5", "--model", str(tmp_path / "m.parquet")]
    command = ["train", str(data), *options, "--report", str(tmp_path / "run.html"), "--json"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    told = [json.loads(line) for line in done.stdout.splitlines()]
    page = read((tmp_path / "run.html").read_text())
    held = [(each["pass"], each["holdout_loss"]) for each in told if "holdout_loss" in each and "pass" in each]  # fmt: skip
    assert [tuple(row) for row in page.table("Holdout")] == held
    memory = page.table("Memory")
    assert len(memory) > 1
    assert 1 < memory[-1][1] < 1e6
    assert f"{told[-1]['model_bytes']:,} bytes" in page.text
    rows = [each for each in told if "alive" in each and "pass_number" in each]
    assert (
        page.table("Progressive loss")[-1][1]
        == [r["loss"] for r in rows if r["examples"] >= 16][len(page.table("Progressive loss")) - 1]
    )


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("page.txt", "expected a name that ends in .html"),
        ("nowhere/page.html", "nowhere"),
    ],
)
def test_a_page_that_could_not_be_written_is_refused_before_any_work(
    models, tmp_path, output, reason
):
    path, test, _ = models["two"]
    for command in (
        ["report", str(path), test, "--output", str(tmp_path / output)],
        ["train", test, "--model", str(tmp_path / "m"), "--report", str(tmp_path / output)],
    ):
        done = CliRunner().invoke(main, command)
        assert done.exit_code != 0
        assert reason in done.output
        assert "Traceback" not in done.output
        assert not [*tmp_path.iterdir()]


def test_the_command_writes_the_page_beside_the_model(models):
    path, test, _ = models["numbers"]
    done = CliRunner().invoke(main, ["report", str(path), test])
    assert done.exit_code == 0, done.output
    written = path.with_suffix(".html")
    assert written.read_text() == report(path, [test]).html
    assert f"{written.stat().st_size:,} bytes" in done.output


def test_data_without_labels_is_refused_and_an_earlier_page_stays(models, tmp_path):
    path, _, _ = models["two"]
    data, page = tmp_path / "d.vw", tmp_path / "page.html"
    data.write_text("|a x\n")
    page.write_text("earlier")
    done = CliRunner().invoke(main, ["report", str(path), str(data), "-o", str(page)])
    assert done.exit_code == 1
    assert page.read_text() == "earlier"


def test_the_page_is_small_and_the_same_each_time(models):
    path, test, _ = models["two"]
    first = report(path, [test]).html
    assert first == report(path, [test]).html
    assert len(first) < 150_000


def test_a_report_shows_itself_in_a_notebook(models):
    found = report(models["two"][0])._repr_html_()
    page = read(found)
    assert page.tags == ["iframe"]
    inner = {key: value for _, key, value in page.attributes}["srcdoc"]
    assert inner == report(models["two"][0]).html


def test_every_chart_has_a_name_a_description_and_its_numbers(models):
    path, test, _ = models["two"]
    html = report(path, [test]).html
    figures = re.findall(r'<figure class="chart">.*?</figure>', html, re.DOTALL)
    assert len(figures) == 8
    for each in figures:
        page = read(each)
        assert {"figcaption", "h3", "svg", "details", "table", "caption"} <= {*page.tags}
        labels = [
            value for tag, key, value in page.attributes if (tag, key) == ("svg", "aria-label")
        ]
        assert labels[0]
