"""From bytes to model: the same bits of any file, pipe and block, by the loss that fits the labels."""

import gzip
import io
import json
import time

import numpy as np
import pytest

from dwindle import Learner, Logistic, Schedule
from dwindle.algorithm.settings import LOSSES
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from dwindle.model.model import Model
from dwindle.runs.observer import Stopped
from dwindle.runs.progress import Progress
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle
from helpers.compression import COMPRESSED
from helpers.observing import heard
from helpers.training_text import SETTINGS, fitted, lines

TEXT = lines().encode()


@pytest.mark.slow
def test_figures_are_whole_though_another_thread_measures_them(data, tmp_path, monkeypatch):
    def run(name, stop_after=None):
        rows, batches = [], []
        training = TrainSettings(**SETTINGS, reading=ReadOptions(block_size=10_000))

        def stopping():
            return len(batches) == stop_after

        observer = heard(on_row=rows.append, on_batch=batches.append, stopping=stopping)
        begun = (tmp_path / f"{name}.checkpoint").exists()
        try:
            summary = train([str(data)], tmp_path / name, training, observer=observer, resume=begun)
        except Stopped:
            more, summary = run(name)
            return rows + more, summary
        return rows, summary

    def figures(summary):
        return summary.loss, summary.auc, summary.best_constant_loss, summary.examples

    rows, summary = run("plain")
    measure = Progress.measure
    monkeypatch.setattr(Progress, "measure", lambda *given: (time.sleep(0.02), measure(*given)))
    for stop_after in (None, 7):
        slow_rows, slow = run(f"slow{stop_after}", stop_after)
        assert [*map(str, slow_rows)] == [*map(str, rows)]
        assert figures(slow) == figures(summary)


def test_the_best_constant_does_not_depend_on_the_blocks(tmp_path):
    path = tmp_path / "data.vw"
    path.write_text("".join(f"{(-1) ** (i * i // 3)} 0.{i % 9 + 1} | a\n" for i in range(4000)))
    losses = set()
    for size in (100, 1000, 2**21):
        training = TrainSettings(reading=ReadOptions(block_size=size))
        losses.add(train([str(path)], tmp_path / "m", training).best_constant_loss)
    assert len(losses) == 1


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 1000, 77_777, 2**21])
@pytest.mark.parametrize("threads", [1, 3])
def test_block_size_and_threads_never_change_a_bit(data, tmp_path, size, threads):
    expected = fitted([data], tmp_path)
    reading = ReadOptions(block_size=size, threads=threads)
    assert fitted([data], tmp_path, reading=reading) == expected


@pytest.mark.slow
def test_compression_is_told_by_content_and_never_changes_a_bit(data, tmp_path):
    expected = fitted([data], tmp_path)
    raw = data.read_bytes()
    half = len(raw) // 2
    for name, compressed in {
        **{f"{end[1:]}.vw": compress(raw) for end, compress in COMPRESSED.items() if end},
        "members.vw": gzip.compress(raw[:half]) + gzip.compress(raw[half:]),
    }.items():
        (tmp_path / name).write_bytes(compressed)
        assert fitted([tmp_path / name], tmp_path) == expected, name


def test_folders_globs_and_several_files_are_one_stream(data, tmp_path):
    expected = fitted([data], tmp_path)
    parts = tmp_path / "parts"
    parts.mkdir()
    text = data.read_text().splitlines(keepends=True)
    for k in range(3):
        (parts / f"{k}.vw").write_text("".join(text[k * 1000 : (k + 1) * 1000]))
    assert fitted([parts], tmp_path) == expected
    assert fitted([parts / "*.vw"], tmp_path) == expected
    assert fitted(sorted(parts.iterdir()), tmp_path) == expected


@pytest.mark.slow
def test_a_pipe_and_a_file_give_the_same_model(data, tmp_path):
    expected = fitted([data], tmp_path)
    for name, raw in (("plain", data.read_bytes()), ("gz", gzip.compress(data.read_bytes()))):
        out = tmp_path / f"{name}.parquet"
        dwindle("train", "-", "-g", "1e-4", "-m", out, "-q", stdin=raw)
        assert (Model.load(out).weights(), Model.load(out).intercept) == expected


def test_svmlight_and_vw_text_of_the_same_examples_give_the_same_model(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        (rng.choice([-1, 1]), sorted(set(rng.integers(0, 99, 8).tolist())), rng.uniform(0.1, 2, 8))
        for _ in range(500)
    ]
    for name, form in (("a.svm", "{} {}\n"), ("a.vw", "{} | {}\n")):
        (tmp_path / name).write_text(
            "".join(
                form.format(y, " ".join(f"{j}:{v:.6f}" for j, v in zip(js, vs, strict=False)))
                for y, js, vs in rows
            )
        )
    assert fitted([tmp_path / "a.svm"], tmp_path) == fitted([tmp_path / "a.vw"], tmp_path)


def test_training_is_what_the_learner_does_with_the_same_batches(data, tmp_path):
    learner = Learner(Logistic(), **SETTINGS)
    for parsed in read([str(data)]):
        learner.learn(parsed.batch)
    weights, intercept = fitted([data], tmp_path)
    assert weights == learner.weights()
    assert intercept == learner.intercept
    assert any(name.startswith("sign^good") for name in weights)


@pytest.mark.parametrize(
    ("labels", "mapping"),
    [((-1, 1), {"-1": -1, "1": 1}), ((0, 1), {"0": -1, "1": 1}), ((1, 2), {"1": -1, "2": 1})],
)
def test_labels_of_two_classes_are_mapped_and_the_mapping_is_kept(tmp_path, labels, mapping):
    (tmp_path / "a.vw").write_text(lines(200, labels=labels))
    summary = train([str(tmp_path / "a.vw")], tmp_path / "m", TrainSettings())
    assert summary.loss_name == "Logistic"
    assert summary.labels == Model.load(tmp_path / "m").metadata["labels"] == mapping
    done = dwindle("predict", tmp_path / "m", tmp_path / "a.vw", "--label")
    assert set(done.stdout.split()) <= {str(label).encode() for label in labels}


@pytest.mark.parametrize("name", list(LOSSES))
def test_a_loss_that_is_named_is_the_one_that_is_used(tmp_path, name):
    (tmp_path / "a.vw").write_text("".join(f"{i % 2} | x:{i} y\n" for i in range(1, 50)))
    dwindle("train", tmp_path / "a.vw", "-m", tmp_path / "m", "--loss", name, "-q")
    assert Model.load(tmp_path / "m").loss == LOSSES[name]()


@pytest.mark.filterwarnings("ignore:100 of 150 examples have no label")
def test_the_first_labelled_example_decides_on_the_loss(tmp_path):
    (tmp_path / "a.vw").write_text("| x\n" * 100)
    (tmp_path / "b.vw").write_text("".join(f"{i / 7} | x:{i}\n" for i in range(50)))
    files = [str(tmp_path / "a.vw"), str(tmp_path / "b.vw")]
    with pytest.warns(UserWarning, match="100 of 150 examples have no label"):
        summary = train(files, tmp_path / "m", TrainSettings())
    assert (summary.loss_name, summary.examples) == ("Squared", 150)


def test_thousands_of_large_labels_have_a_best_constant(tmp_path):
    prices = np.random.default_rng(0).uniform(1e5, 9e5, 15_000)
    (tmp_path / "a.vw").write_text("".join(f"{y:.2f} | x\n" for y in prices))
    summary = train([str(tmp_path / "a.vw")], tmp_path / "m", TrainSettings())
    assert summary.best_constant_loss == pytest.approx(prices.var(), rel=0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:all labels are the same")
def test_a_first_line_longer_than_any_buffer_still_tells_the_format(tmp_path):
    long = "1 " + " ".join(f"{j}:0.5" for j in range(1, 2000)) + "\n"
    (tmp_path / "noname").write_text(long * 3)
    assert train([str(tmp_path / "noname")], tmp_path / "m", TrainSettings()).examples == 3
    piped = dwindle("train", "-", "-m", tmp_path / "m", "--json", stdin=(long * 3).encode())
    assert json.loads(piped.stdout.splitlines()[-1])["examples"] == 3


def test_a_pipe_that_comes_in_drips_is_read_all_the_same(tmp_path, monkeypatch):
    drips = [b"1", b" |f a", b"\n", b"-1 |f b\n"]

    class Pipe(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, room):
            drip = drips.pop(0) if drips else b""
            room[: len(drip)] = drip
            return len(drip)

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Pipe())))
    assert train(["-"], tmp_path / "m", TrainSettings()).examples == 2
    assert drips == []


def test_numbers_are_learned_by_squared_loss(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{i / 7} | x:{i}\n" for i in range(50)))
    assert train([str(tmp_path / "a.vw")], tmp_path / "m", TrainSettings()).loss_name == "Squared"


def test_the_json_summary_has_the_promised_keys(data, tmp_path):
    out = dwindle("train", data, "-m", tmp_path / "m", "--json").stdout.splitlines()
    rows, summary = [json.loads(line) for line in out[:-1]], json.loads(out[-1])
    assert [row["examples"] for row in rows] == [2**k for k in range(12)] + [3000]
    promised = (
        "examples feature_count seen peak_live kept loss best_constant_loss auc seconds "
        "examples_per_second peak_memory_bytes model_bytes skipped"
    )
    assert summary.keys() >= set(promised.split())
    assert summary["loss"] < summary["best_constant_loss"]
    assert summary["auc"] > 0.9
    assert summary["feature_count"] == 3000 * 16
    assert abs(summary["seen"] / 2047 - 1) < 0.05


def test_keep_keeps_exactly_the_heaviest(data, tmp_path):
    weights, _ = fitted([data], tmp_path)
    kept, _ = fitted([data], tmp_path, keep=10)
    assert kept == dict(sorted(weights.items(), key=lambda item: -abs(item[1]))[:10])


def test_several_passes_are_the_file_several_times_with_falling_rates(data, tmp_path):
    schedule = Schedule(0.3, pass_decay=0.5)
    learner = Learner(Logistic(), learning_rate=schedule, **SETTINGS)
    for _ in range(3):
        for parsed in read([str(data)]):
            learner.learn(parsed.batch)
        learner.next_pass()
    assert fitted([data], tmp_path, learning_rate=schedule, passes=3) == (
        learner.weights(),
        learner.intercept,
    )


def test_interactions_and_ignore_reach_the_parser(data, tmp_path):
    reading = ReadOptions(interactions=(("sign", "sign"),), columns={"text": "drop"})
    weights, _ = fitted([data], tmp_path, reading=reading)
    namespaces = {name.split("^")[0] for name in weights if "^" in name}
    assert namespaces == {"sign", "sign*sign"}
    # A model remembers how its data was read: nothing has to be said again to predict.
    found = json.loads(dwindle("evaluate", tmp_path / "m.parquet", data, "--json").stdout)
    assert found["auc"] > 0.99
