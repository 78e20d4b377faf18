"""From bytes to model, as a user would: files, pipes, kills and mistakes."""

import bz2
import gzip
import json
import lzma
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dwindle import DataError, DivergedError, Learner, Logistic, Truncation
from dwindle.choices import LOSSES
from dwindle.model import Model
from dwindle.progress import Progress
from dwindle.stream import Reading
from dwindle.training import Interrupted, Training, train


def lines(n=3000, seed=0, labels=(-1, 1)):
    """VW text with a few telling words among many that are not."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        words = rng.integers(0, 2000, 12)
        good = rng.integers(0, 20, 3)
        positive = good.sum() % 2
        named = " ".join(f"w{w}:{rng.uniform(0.1, 2):.4f}" for w in words)
        signs = " ".join(f"{'good' if positive else 'bad'}{g}" for g in good)
        out.append(f"{labels[positive]} 'tag{i} |text {named} |sign {signs} | {i % 7}:0.5")
    return "\n".join(out) + "\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.vw"
    path.write_text(lines())
    return path


UMASK = os.umask(0o022)
os.umask(UMASK)

SETTINGS = {"shrinkage": Truncation(gravity=1e-4)}


def fitted(paths, tmp_path, **settings):
    """The model's weights and intercept."""
    out = tmp_path / "m.parquet"
    train([str(p) for p in paths], out, Training(**(SETTINGS | settings)))
    model = Model.load(out)
    return model.weights(), model.intercept


def dwindle(*args, stdin=None, check=True):
    done = subprocess.run(
        [sys.executable, "-m", "dwindle", *map(str, args)],
        input=stdin,
        capture_output=True,
        check=False,
    )
    if check:
        assert done.returncode == 0, done.stderr.decode()
    return done


def test_figures_are_whole_though_another_thread_measures_them(data, tmp_path, monkeypatch):
    def run(name, stop_after=None):
        rows, batches = [], []
        training = Training(**SETTINGS, reading=Reading(block_size=10_000))

        def stopping():
            return len(batches) == stop_after

        options = {"on_row": rows.append, "on_batch": batches.append, "resume": True}
        try:
            summary = train([str(data)], tmp_path / name, training, stopping=stopping, **options)
        except Interrupted:
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


def test_what_goes_wrong_in_measuring_ends_the_run_and_writes_no_model(data, tmp_path, monkeypatch):
    def fail(*_):
        raise DivergedError("there is no such figure")

    monkeypatch.setattr(Progress, "measure", fail)
    with pytest.raises(DivergedError, match="no such figure"):
        train([str(data)], tmp_path / "m", Training())
    assert list(tmp_path.iterdir()) == []


def test_the_best_constant_does_not_depend_on_the_blocks(tmp_path):
    path = tmp_path / "data.vw"
    path.write_text("".join(f"{(-1) ** (i * i // 3)} 0.{i % 9 + 1} | a\n" for i in range(4000)))
    losses = set()
    for size in (100, 1000, 2**21):
        training = Training(reading=Reading(block_size=size))
        losses.add(train([str(path)], tmp_path / "m", training).best_constant_loss)
    assert len(losses) == 1


@pytest.mark.parametrize("size", [100, 1000, 77_777, 2**21])
@pytest.mark.parametrize("threads", [1, 3])
def test_block_size_and_threads_never_change_a_bit(data, tmp_path, size, threads):
    expected = fitted([data], tmp_path)
    reading = Reading(block_size=size, threads=threads)
    assert fitted([data], tmp_path, reading=reading) == expected


def test_compression_is_told_by_content_and_never_changes_a_bit(data, tmp_path):
    expected = fitted([data], tmp_path)
    raw = data.read_bytes()
    half = len(raw) // 2
    for name, compressed in {
        "gz.vw": gzip.compress(raw),
        "members.vw": gzip.compress(raw[:half]) + gzip.compress(raw[half:]),
        "bz2.vw": bz2.compress(raw),
        "xz.vw": lzma.compress(raw),
        "zst.vw": pa.compress(raw, codec="zstd", asbytes=True),
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
    from dwindle.stream import read  # noqa: PLC0415

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
    summary = train([str(tmp_path / "a.vw")], tmp_path / "m", Training())
    assert summary.loss_name == "Logistic"
    assert summary.labels == Model.load(tmp_path / "m").facts["labels"] == mapping
    done = dwindle("predict", tmp_path / "m", tmp_path / "a.vw", "--label")
    assert set(done.stdout.split()) <= {str(label).encode() for label in labels}


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "auto"])
def test_a_loss_that_is_named_is_the_one_that_is_used(tmp_path, name):
    (tmp_path / "a.vw").write_text("".join(f"{i % 2} | x:{i} y\n" for i in range(1, 50)))
    dwindle("train", tmp_path / "a.vw", "-m", tmp_path / "m", "--loss", name, "-q")
    assert Model.load(tmp_path / "m").loss == LOSSES[name]


def test_a_label_that_the_loss_cannot_use_is_told_with_its_line(tmp_path):
    (tmp_path / "a.vw").write_text("1 | x\n" * 10 + "-1 | x\n")
    done = dwindle(
        "train", tmp_path / "a.vw", "-m", tmp_path / "m", "--loss", "poisson", check=False
    )
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1] == (
        f"dwindle: {tmp_path}/a.vw:11: with Poisson a label must be 0 or more, got -1"
    )


def test_the_first_labelled_example_decides_on_the_loss(tmp_path):
    (tmp_path / "a.vw").write_text("| x\n" * 100)
    (tmp_path / "b.vw").write_text("".join(f"{i / 7} | x:{i}\n" for i in range(50)))
    summary = train([str(tmp_path / "a.vw"), str(tmp_path / "b.vw")], tmp_path / "m", Training())
    assert (summary.loss_name, summary.examples) == ("Squared", 150)


def test_a_run_whose_weights_ran_away_leaves_no_model(tmp_path):
    (tmp_path / "a.vw").write_text("1 | x\n")
    args = ("--loss", "squared", "--update", "plain", "--rate", "1e308")
    done = dwindle("train", tmp_path / "a.vw", "-m", tmp_path / "m", *args, check=False)
    assert done.returncode == 1
    assert b"no longer finite" in done.stderr
    assert not (tmp_path / "m").exists()


def test_thousands_of_large_labels_have_a_best_constant(tmp_path):
    prices = np.random.default_rng(0).uniform(1e5, 9e5, 15_000)
    (tmp_path / "a.vw").write_text("".join(f"{y:.2f} | x\n" for y in prices))
    summary = train([str(tmp_path / "a.vw")], tmp_path / "m", Training())
    assert summary.best_constant_loss == pytest.approx(prices.var(), rel=0.01)


def test_a_first_line_longer_than_any_buffer_still_tells_the_format(tmp_path):
    long = "1 " + " ".join(f"{j}:0.5" for j in range(1, 2000)) + "\n"
    (tmp_path / "noname").write_text(long * 3)
    assert train([str(tmp_path / "noname")], tmp_path / "m", Training()).examples == 3
    piped = dwindle("train", "-", "-m", tmp_path / "m", "--json", stdin=(long * 3).encode())
    assert json.loads(piped.stdout.splitlines()[-1])["examples"] == 3


def test_a_pipe_that_comes_in_drips_is_read_all_the_same(tmp_path):
    running = subprocess.Popen(
        [sys.executable, "-m", "dwindle", "train", "-", "-m", tmp_path / "m", "-q"],
        stdin=subprocess.PIPE,
    )
    for drip in (b"1", b" |f a", b"\n-1 |f b\n"):
        running.stdin.write(drip)
        running.stdin.flush()
        time.sleep(0.2)
    running.stdin.close()
    assert running.wait() == 0
    assert Model.load(tmp_path / "m").facts["examples"] == 2


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


def test_a_model_saved_from_python_serves_the_command_line(data, tmp_path):
    learner = Learner()
    learner.learn_one({"a": 1}, 1)
    Model.of(learner).save(tmp_path / "m")
    assert len(dwindle("predict", tmp_path / "m", data).stdout.splitlines()) == 3000
    assert (tmp_path / "m").stat().st_mode & 0o444 == 0o444 & ~UMASK


def test_a_missing_model_leaves_the_earlier_output_alone(data, tmp_path):
    (tmp_path / "out").write_text("before")
    assert (
        dwindle("predict", tmp_path / "none", data, "-o", tmp_path / "out", check=False).returncode
        == 1
    )
    assert (tmp_path / "out").read_text() == "before"


def stopped_after(n):
    """A question that is answered yes at the n-th time."""
    times = iter(range(1, 10**9))
    return lambda: next(times) == n


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_resuming_counts_bad_lines_once_whatever_files_they_fill(tmp_path, n):
    parts = {
        "a.vw": lines(10),
        "bad.vw": "1|f a\n" * 2,
        "blank.vw": "",
        "c.vw": "1|f a\n" + lines(10),
    }
    for name, text in parts.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in parts] * 2
    training = Training(skip_bad=True)
    whole = train(paths, tmp_path / "whole", training)
    try:
        part = train(paths, tmp_path / "part", training, stopping=stopped_after(n))
    except Interrupted:
        part = train(paths, tmp_path / "part", training, resume=True)
    assert (part.examples, part.skipped, part.bad_lines) == (
        whole.examples,
        whole.skipped,
        whole.bad_lines,
    )
    assert Model.load(tmp_path / "part").weights() == Model.load(tmp_path / "whole").weights()


def test_a_run_stopped_before_it_learned_anything_says_so(tmp_path):
    (tmp_path / "a.vw").write_text("| x\n" * 10)
    with pytest.raises(Interrupted) as stopped:
        train([str(tmp_path / "a.vw")], tmp_path / "m", Training(), stopping=lambda: True)
    assert stopped.value.checkpoint is None
    assert [p.name for p in tmp_path.iterdir()] == ["a.vw"]


def test_resuming_with_less_data_than_was_learned_from_is_refused(data, tmp_path):
    training = Training(reading=Reading(block_size=20_000))
    with pytest.raises(Interrupted):
        train([str(data)], tmp_path / "m", training, stopping=stopped_after(3))
    text = data.read_text()
    data.write_text(text[:3000])
    try:
        with pytest.raises(DataError, match="examples fewer than the checkpoint has learned from"):
            train([str(data)], tmp_path / "m", training, resume=True)
    finally:
        data.write_text(text)


def test_numbers_are_learned_by_squared_loss(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{i / 7} | x:{i}\n" for i in range(50)))
    assert train([str(tmp_path / "a.vw")], tmp_path / "m", Training()).loss_name == "Squared"


def test_a_third_label_is_an_error_with_its_line(tmp_path):
    (tmp_path / "a.vw").write_text(lines(2000) + "3 | a\n")
    reading = Reading(block_size=1000)
    with pytest.raises(
        DataError, match=r"a\.vw:2001: expected a label of two classes \(-1 and 1\), got 3"
    ):
        train([str(tmp_path / "a.vw")], tmp_path / "m", Training(reading=reading))


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
    from dwindle import Schedule  # noqa: PLC0415
    from dwindle.stream import read  # noqa: PLC0415

    schedule = Schedule(0.3, pass_decay=0.5)
    learner = Learner(Logistic(), rate=schedule, **SETTINGS)
    for _ in range(3):
        for parsed in read([str(data)]):
            learner.learn(parsed.batch)
        learner.next_pass()
    assert fitted([data], tmp_path, rate=schedule, passes=3) == (
        learner.weights(),
        learner.intercept,
    )


def test_interactions_and_ignore_reach_the_parser(data, tmp_path):
    reading = Reading(interactions=(("sign", "sign"),), ignore=frozenset({"text"}))
    weights, _ = fitted([data], tmp_path, reading=reading)
    namespaces = {name.split("^")[0] for name in weights if "^" in name}
    assert namespaces == {"sign", "sign*sign"}
    # A model remembers how its data was read: nothing has to be said again to predict.
    found = json.loads(dwindle("evaluate", tmp_path / "m.parquet", data, "--json").stdout)
    assert found["auc"] > 0.99


def test_predictions_keep_the_order_and_the_tags(data, tmp_path):
    fitted([data], tmp_path)
    model = tmp_path / "m.parquet"
    scores = dwindle("predict", model, data, "--tags").stdout.decode().splitlines()
    assert [line.split()[1] for line in scores] == [f"tag{i}" for i in range(3000)]
    chances = np.array(dwindle("predict", model, data, "--proba").stdout.split(), float)
    np.testing.assert_allclose(
        chances, 1 / (1 + np.exp(-np.array([float(s.split()[0]) for s in scores]))), 1e-7
    )


def test_evaluate_prints_what_scikit_learn_computes(data, tmp_path):
    from sklearn.metrics import accuracy_score, log_loss, roc_auc_score  # noqa: PLC0415

    fitted([data], tmp_path)
    found = json.loads(dwindle("evaluate", tmp_path / "m.parquet", data, "--json").stdout)
    y = np.array([int(line.split()[0]) for line in data.read_text().splitlines()])
    p = np.array(dwindle("predict", tmp_path / "m.parquet", data, "--proba").stdout.split(), float)
    assert found["auc"] == pytest.approx(roc_auc_score(y, p), abs=1e-9)
    assert found["log_loss"] == pytest.approx(log_loss(y, p), rel=1e-6)
    assert found["accuracy"] == accuracy_score(y, np.where(p > 0.5, 1, -1))
    share = np.mean(y > 0)
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert found["best_constant_loss"] == pytest.approx(entropy, rel=1e-6)


def test_inspect_shows_what_pandas_reads(data, tmp_path):
    fitted([data], tmp_path)
    frame = pd.read_parquet(tmp_path / "m.parquet")
    text = dwindle("inspect", tmp_path / "m.parquet", "--top", 5).stdout.decode()
    for _, row in frame.head(5).iterrows():
        assert f"{row.namespace}^{row.feature}" in text
        assert f"{row.weight:+.6g}" in text
    said = json.loads(dwindle("inspect", tmp_path / "m.parquet", "--json").stdout)
    assert said["kept"] == len(frame)
    assert list(said["weights"].values()) == frame.weight.tolist()


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


@pytest.fixture(scope="module")
def long_data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "long.vw"
    path.write_text(lines(12_000, seed=1))
    return path


LONG = ("-g", "1e-4", "--passes", "3", "--pass-decay", "0.8", "-q")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_writes_a_checkpoint_and_resume_goes_on_to_the_same_bits(
    long_data, tmp_path, number
):
    whole, part = tmp_path / "whole", tmp_path / "part"
    settings = ("-g", "1e-4", "--passes", "40", "--pass-decay", "0.9")
    dwindle("train", long_data, "-m", whole, "-q", *settings)
    running = subprocess.Popen(
        [sys.executable, "-m", "dwindle", "train", long_data, "-m", part, *settings],
        stderr=subprocess.PIPE,
    )
    for line in running.stderr:
        if line.split()[0] == b"8,192":  # well under way
            running.send_signal(number)
            break
    told = running.communicate()[1].decode()
    assert running.returncode == 128 + number
    assert told.splitlines()[-1] == (
        f"dwindle: stopped; {part}.checkpoint is written: repeat the command with --resume to go on"
    )
    assert not part.exists()
    dwindle("train", long_data, "-m", part, "--resume", "-q")
    assert Model.load(part).weights() == Model.load(whole).weights()
    assert Model.load(part).facts == Model.load(whole).facts


@pytest.mark.slow
def test_killed_at_twenty_random_moments_and_resumed_the_model_is_the_same_to_the_bit(
    long_data, tmp_path
):
    whole, part = tmp_path / "whole", tmp_path / "part"
    reference = time.monotonic()
    dwindle("train", long_data, "-m", whole, *LONG)
    reference = time.monotonic() - reference
    command = [
        sys.executable, "-m", "dwindle", "train", long_data, "-m", part, *LONG,
        "--checkpoint-every", "1000", "--resume",
    ]  # fmt: skip
    rng = random.Random(0)  # noqa: S311
    kills = 0
    for _ in range(20):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            process.wait(rng.uniform(0.3, 1.0) * reference)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        if part.exists():
            part.unlink()  # it was through: begin anew, to be killed again
    assert kills >= 5
    subprocess.run(command, check=True)
    a, b = Model.load(whole), Model.load(part)
    assert a.weights() == b.weights()
    assert a.intercept == b.intercept
    assert a.facts == b.facts
    assert not (tmp_path / "part.checkpoint").exists()


def test_resume_takes_settings_from_the_checkpoint_and_names_one_that_differs(data, tmp_path):
    model = tmp_path / "m"
    training = Training(**SETTINGS, reading=Reading(block_size=20_000))
    with pytest.raises(Interrupted):
        train([str(data)], model, training, stopping=stopped_after(3))
    done = dwindle("train", data, "-m", model, "--resume", "-g", "0.5", check=False)
    assert done.returncode == 1
    assert b"was written with shrinkage" in done.stderr
    dwindle("train", data, "-m", model, "--resume", "-q")
    found = Model.load(model)
    assert (found.weights(), found.intercept) == fitted([data], tmp_path)
    again = dwindle("train", data, "-m", model, "--resume")
    assert b"nothing to resume" in again.stderr


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_predicting_needs_no_column_of_labels(tmp_path, kind):
    frame = pd.DataFrame({"label": [1, -1] * 50, "hour": range(100), "ad": ["shoes", "hats"] * 50})

    def written(frame, name):
        path = tmp_path / f"{name}.{kind}"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
        return path

    model = tmp_path / "m.parquet"
    dwindle("train", written(frame, "train"), "--model", model)
    labelled = dwindle("predict", model, written(frame, "test")).stdout
    assert len(labelled.splitlines()) == 100
    bare = written(frame.drop(columns="label"), "bare")
    assert dwindle("predict", model, bare).stdout == labelled
    done = dwindle("evaluate", model, bare, check=False)
    assert done.returncode == 1
    assert b"no column 'label'" in done.stderr


def test_what_is_read_is_never_written_over(data, tmp_path):
    own, model = tmp_path / "own.vw", tmp_path / "m.parquet"
    own.write_bytes(data.read_bytes())
    assert b"own.vw: is read here" in dwindle("train", own, "-m", own, check=False).stderr
    dwindle("train", own, "-m", model)
    for target in (own, model):
        before = target.read_bytes()
        done = dwindle("predict", model, own, "-o", target, check=False)
        assert (done.returncode, target.read_bytes()) == (1, before)


def test_predictions_that_fail_leave_the_earlier_file(data, tmp_path):
    model, bad, out = tmp_path / "m.parquet", tmp_path / "bad.vw", tmp_path / "out.txt"
    dwindle("train", data, "-m", model)
    bad.write_text("1 |f a\n1|f b\n")
    out.write_text("precious")
    assert dwindle("predict", model, bad, "-o", out, check=False).returncode == 1
    assert out.read_text() == "precious"
    dwindle("predict", model, data, "-o", out)
    assert out.read_bytes() == dwindle("predict", model, data).stdout


def test_a_second_class_that_comes_too_late_is_explained(tmp_path):
    path = tmp_path / "late.svm"
    path.write_text("1 1:1\n" * 50 + "2 2:1\n")
    reading = Reading(block_size=100)
    with pytest.raises(DataError, match=r"late.svm:51: .* put an example of 2 near the top"):
        train([str(path)], tmp_path / "m.parquet", Training(reading=reading))
