"""One pass over the data, in bounded memory, finds what evaluate finds."""

from pathlib import Path

import numpy as np
import pytest

from dwindle import Learner, Model, Squared, evaluate, predict, read
from dwindle.runs import diagnosis
from dwindle.runs.diagnosis import calibration, diagnose, histogram, precision_recall, roc


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """A model of two classes, and data in three files, with weights, ties and scores of zero."""
    chance = np.random.default_rng(0)
    learner, folder = Learner(intercept=False), tmp_path_factory.mktemp("clicks")
    files, every = [], []
    for k in range(3):
        x, weight = chance.integers(0, 9, (400, 2)), chance.integers(0, 4, 400)
        y = np.where(x[:, 0] + chance.normal(0, 3, 400) > 4, 1, -1)
        text = [f"{y[i]} {weight[i]} t{k}-{i}|a f{x[i, 0]} g{x[i, 1]}\n" for i in range(400)]
        files.append(folder / f"{k}.vw")
        files[-1].write_text("".join(text))
        every += text
    for parsed in read([str(files[0])]):
        learner.learn(parsed.batch)
    whole = folder / "whole.vw"
    whole.write_text("".join(every))
    return Model.of(learner), [str(file) for file in files], str(whole)


@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_a_stream_has_the_figures_of_all_its_examples(clicks, threshold):
    model, _, whole = clicks
    found = diagnose(model, [whole], threshold=threshold).figures
    expected = evaluate(model, [whole], threshold=threshold)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        near = 2e-4 if name in diagnosis.ORDERED else 1e-9
        assert found[name] == (value if isinstance(value, str) else pytest.approx(value, abs=near))


def test_how_the_stream_is_divided_changes_nothing(clicks):
    model, files, whole = clicks
    parts, at_once = diagnose(model, files), diagnose(model, [whole])
    numbers = {name: v for name, v in at_once.figures.items() if not isinstance(v, str)}
    assert {name: parts.figures[name] for name in numbers} == pytest.approx(numbers)
    assert [m.explained.id for m in parts.mistakes] == [m.explained.id for m in at_once.mistakes]


def test_the_mistakes_are_the_wrong_ones_of_the_greatest_loss_the_worst_first(clicks):
    model, files, _ = clicks
    found = diagnose(model, files, mistakes=7).mistakes
    every = []
    for k, file in enumerate(files):
        scores = np.concatenate([each.prediction for each in predict(model, [file])])
        for i, line in enumerate(Path(file).read_text().splitlines()):
            label, weight = line.split()[:2]
            score = scores[i]
            if float(weight) and (score > 0) != (label == "1"):
                every.append((-np.logaddexp(0, -float(label) * score), k, i, f"t{k}-{i}"))
    assert [m.explained.id for m in found] == [tag for *_, tag in sorted(every)[:7]]
    assert [m.loss for m in found] == pytest.approx([-loss for loss, *_ in sorted(every)[:7]])
    for mistake in found:
        added = mistake.explained.explanation
        assert added.prediction == pytest.approx(sum(added.contributions.values()))
        assert mistake.label != mistake.told


def test_no_mistakes_are_kept_if_none_are_asked_for(clicks):
    model, files, _ = clicks
    assert diagnose(model, files, mistakes=0).mistakes == []


def test_the_curves_have_the_areas_of_the_figures(clicks):
    model, _, whole = clicks
    found = diagnose(model, [whole])
    x, y = roc(found.bins)
    assert np.trapezoid(y, x) == pytest.approx(found.figures["auc"])
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    recall, precision = precision_recall(found.bins)
    steps = np.diff(np.append(0.0, recall)) * precision
    assert steps.sum() == pytest.approx(found.figures["average_precision"])
    told, share, weight = calibration(found.bins)
    error = np.average(np.abs(told - share), weights=weight)
    assert error == pytest.approx(found.figures["calibration_error"])
    edges, negative, positive = histogram(found.bins)
    assert positive.sum() / (negative + positive).sum() == pytest.approx(
        found.figures["positive_share"]
    )
    assert len(edges) == len(negative) + 1


def test_numbers_have_the_figures_of_all_their_examples(tmp_path):
    learner = Learner(loss=Squared())
    chance = np.random.default_rng(1)
    lines = []
    for _ in range(500):
        x = chance.normal(size=2)
        y = 1e4 + 3 * x[0] + chance.normal()
        learner.learn_one({"a": x[0], "b": x[1]}, y)
        lines.append(f"{y:.4f} {1 + abs(x[1]):.3f} |  a:{x[0]:.5f} b:{x[1]:.5f}\n")
    file = tmp_path / "d.vw"
    file.write_text("".join(lines))
    model = Model.of(learner)
    found, expected = diagnose(model, [str(file)]).figures, evaluate(model, [str(file)])
    assert found.keys() == expected.keys()
    del found["loss_name"], expected["loss_name"]
    assert found == pytest.approx(expected, rel=1e-6)
    worst = diagnose(model, [str(file)], mistakes=1).mistakes[0]
    line = lines[int(worst.explained.place.rpartition(":")[2]) - 1]
    assert float(worst.label) == pytest.approx(float(line.split()[0]), rel=1e-6)
    assert len(worst.label) <= 8


def test_the_sample_of_numbers_is_bounded_and_every_example_has_the_same_chance(monkeypatch):
    monkeypatch.setattr(diagnosis, "SAMPLE", 50)
    kept = np.zeros(1000)
    model = Model.of(Learner(loss=Squared()))
    for seed in range(60):
        numbers = diagnosis._Numbers(model, 0.5)
        numbers.chance = np.random.default_rng(seed)
        for part in np.split(np.arange(1000.0), [3, 40, 60, 400]):
            numbers._sample(np.column_stack([part, part, part]))
        assert len(numbers.rows) == 50
        kept[numbers.rows[:, 0].astype(int)] += 1
    assert kept.sum() == 60 * 50
    quarters = kept.reshape(4, 250).sum(axis=1)
    assert np.abs(quarters - 750).max() < 5 * np.sqrt(750)  # five deviations
