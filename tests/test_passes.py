"""Several passes: from a cache, measured on a holdout, ended early, killed and resumed."""

import bz2
import gzip
import json
import lzma
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dwindle import DataError, DivergedError, Learner, Plain, Squared, Truncation
from dwindle.cache import Again
from dwindle.hashing import key_of
from dwindle.model import Model
from dwindle.predicting import evaluate
from dwindle.stream import Reading, read
from dwindle.training import Interrupted, Training, train

SHRINKAGE = Truncation(gravity=3e-3)  # strong enough to sweep features away that come again
SMALL = Reading(block_size=10_000)


def rows(n=900, seed=0):
    """(label, {name: value}) with more names than the first table holds."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        words = {f"w{w}": round(float(rng.uniform(0.1, 2)), 4) for w in rng.integers(0, 1500, 9)}
        positive = int(rng.integers(0, 2))
        yield 2 * positive - 1, words | {f"sign{positive}": 1.0, "place": float(i % 7)}


def vw_text(given):
    return "".join(
        f"{y} 'tag |text {' '.join(f'{k}:{v}' for k, v in x.items())} |b {i % 9} :2 ä=\udcff\n"
        for i, (y, x) in enumerate(given)
    ).encode("utf-8", "surrogateescape")


def svmlight_text(given):
    keys = ({int(k[1:]): v for k, v in x.items() if k[1:].isdecimal()} for _, x in given)
    return "".join(
        f"{y} {' '.join(f'{k}:{v}' for k, v in sorted(x.items()))}\n"
        for (y, _), x in zip(given, keys, strict=True)
    ).encode()


def jsonl_text(given):
    return b"".join(json.dumps({"label": y, "features": x}).encode() + b"\n" for y, x in given)


def table_text(given, delimiter):
    lines = [["label", "word", "place"]]
    lines += [[str(y), next(iter(x)), str(x["place"])] for y, x in given]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


TEXTS = {
    "vw": vw_text,
    "svmlight": svmlight_text,
    "jsonl": jsonl_text,
    "csv": lambda given: table_text(given, ","),
    "tsv": lambda given: table_text(given, "\t"),
}
COMPRESSED = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda raw: pa.compress(raw, codec="zstd", asbytes=True),
}


def uncached(path, passes, shrinkage=SHRINKAGE, reading=SMALL):
    """What parsing the file again for each pass comes to."""
    learner = Learner(shrinkage=shrinkage)
    for _ in range(passes):
        for parsed in read([str(path)], reading):
            learner.learn(parsed.batch)
        learner.next_pass()
    return learner


def bits(model):
    return model.weights(), model.intercept


def fitted(paths, out, **settings):
    """The model, and what the run came to."""
    given = {"shrinkage": SHRINKAGE, "reading": SMALL} | settings
    summary = train([str(path) for path in paths], out, Training(**given))
    return Model.load(out), summary


def valid(weights):
    """Names as a model's file has them."""
    return {
        name.encode("utf-8", "surrogateescape").decode(errors="replace"): w
        for name, w in weights.items()
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.vw"
    path.write_bytes(vw_text(list(rows())))
    return path


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A temporary folder of its own, in which nothing is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    assert list(folder.iterdir()) == []


def command(*args):
    return [sys.executable, "-m", "dwindle", *map(str, args)]


def dwindle(*args, check=True, **how):
    done = subprocess.run(command(*args), capture_output=True, check=False, **how)
    if check:
        assert done.returncode == 0, done.stderr.decode()
    return done


# The cache


@pytest.mark.parametrize("form", TEXTS)
def test_cached_passes_equal_parsed_ones_to_the_bit_whatever_the_format(form, tmp_path):
    path = tmp_path / f"data.{form}"
    path.write_bytes(TEXTS[form](list(rows())))
    learner = uncached(path, 3)
    model, summary = fitted([path], tmp_path / "m", passes=3)
    assert bits(model) == (valid(learner.weights()), learner.intercept)
    assert (summary.examples, summary.passes) == (2700, 3)
    assert len(model) > 5


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_cached_passes_equal_parsed_ones_to_the_bit_whatever_the_compression(
    suffix, data, tmp_path
):
    path = tmp_path / f"data.vw{suffix}"
    path.write_bytes(COMPRESSED[suffix](data.read_bytes()))
    model, _ = fitted([path], tmp_path / "m", passes=3)
    learner = uncached(data, 3)
    assert bits(model) == (valid(learner.weights()), learner.intercept)


def test_a_feature_swept_away_in_a_later_pass_has_its_name_when_it_comes_again(tmp_path):
    many = "".join(f"-1 | w{i % 900}:0.01\n" for i in range(3600))
    (tmp_path / "many.vw").write_text(many)
    (tmp_path / "all.vw").write_text(many + "1 | again\n")
    shrinkage = Truncation(gravity=0.05)
    learner = uncached(tmp_path / "all.vw", 1, shrinkage)
    key = key_of("again")
    assert learner.table.names.of(np.array([key], np.uint64)) == ["again"]
    for parsed in read([str(tmp_path / "many.vw")]):
        learner.learn(parsed.batch)
    assert learner.table.names.of(np.array([key], np.uint64)) == [str(key)]  # forgotten
    model, _ = fitted([tmp_path / "all.vw"], tmp_path / "m", passes=2, shrinkage=shrinkage)
    assert "again" in model.weights()


def test_interactions_come_from_the_cache_too(data, tmp_path):
    reading = Reading(interactions=(("b", "text"),), ignore=frozenset({"b"}), block_size=9000)
    learner = uncached(data, 2, reading=reading)
    model, _ = fitted([data], tmp_path / "m", passes=2, reading=reading)
    assert bits(model) == (valid(learner.weights()), learner.intercept)


def test_several_passes_over_a_pipe_are_those_over_a_file(data, tmp_path):
    expected, _ = fitted([data], tmp_path / "file", passes=3, reading=Reading())
    args = ("-g", SHRINKAGE.gravity, "--passes", 3, "-q")
    with data.open("rb") as file:
        dwindle("train", "-", "-m", tmp_path / "stdin", *args, stdin=file)
    os.mkfifo(tmp_path / "pipe.vw")
    writing = threading.Thread(target=lambda: (tmp_path / "pipe.vw").write_bytes(data.read_bytes()))
    writing.start()
    dwindle("train", tmp_path / "pipe.vw", "-m", tmp_path / "pipe", *args)
    writing.join()
    for name in ("stdin", "pipe"):
        assert bits(Model.load(tmp_path / name)) == bits(expected)


def test_what_is_parsed_once_is_not_parsed_again(data):
    times = []

    def source():
        times.append(1)
        return read([str(data)], SMALL)

    examples = Again(source, pytest.fail, once=False)
    first, second, third = (list(examples.parsed()) for _ in range(3))
    assert len(times) == 1
    for one, two, three in zip(first, second, third, strict=True):
        assert one.line.tolist() == two.line.tolist() == three.line.tolist()
        assert list(one.batch.names) == list(two.batch.names)
        assert two.source == str(data)
        assert two.batch.key.ctypes.data != three.batch.key.ctypes.data
    examples.close()


def test_a_run_that_ends_in_a_later_pass_names_the_same_line(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("".join(f"{1 if i else 0} | x:1\n" for i in range(20)))
    settings = {"loss": Squared(), "update": Plain(), "rate": 1.2, "reading": Reading()}
    told = []
    fitted([path], tmp_path / "m", **settings)  # a first pass goes through
    (tmp_path / "m").unlink()
    for paths, passes in (([path], 5), ([path] * 5, 1)):
        with pytest.raises(DivergedError) as diverged:
            fitted(paths, tmp_path / "m", passes=passes, **settings)
        told.append(str(diverged.value))
    assert told[0] == told[1]
    assert told[0].startswith(f"{path}:")
    assert not (tmp_path / "m").exists()


def test_bad_lines_are_counted_and_shown_in_cached_passes_as_in_parsed_ones(data, tmp_path):
    path = tmp_path / "bad.vw"
    path.write_bytes(b"1|f a\n" + data.read_bytes() + b"nonsense\n")
    _, cached = fitted([path], tmp_path / "m", passes=2, skip_bad=True)
    _, parsed = fitted([path, path], tmp_path / "m", skip_bad=True)
    assert cached.skipped == 4
    assert cached.bad_lines == parsed.bad_lines
    assert len(cached.bad_lines) == 3


def test_tables_that_need_no_parsing_are_not_cached(tmp_path):
    table = {"label": [1.0, -1.0] * 50, "x": np.arange(100) / 7}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    code = (
        "from dwindle import cache; from dwindle.training import *; cache.Cache = None\n"
        "train(['a.parquet'], 'm', Training(passes=3))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert Model.load(tmp_path / "m").facts["examples"] == 300


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_nothing_in_the_temporary_folder(data, tmp_path, temporary, number):
    args = ("--passes", 10_000, "--json", "--holdout", 10, "--patience", 10_000)
    running = subprocess.Popen(
        command("train", data, "-m", tmp_path / "m", *args),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    for line in running.stdout:
        if json.loads(line).get("pass") == 2:  # the cache is in use
            running.send_signal(number)
            break
    running.communicate()
    assert running.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert list(temporary.iterdir()) == []


LITTLE = 2**16  # bytes: room for a model, but not for a cache


def no_room():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LITTLE, resource.RLIM_INFINITY))


@pytest.mark.parametrize("every", [2, 100])
def test_without_room_for_a_cache_the_data_is_parsed_again_and_that_is_said(data, tmp_path, every):
    args = ("-g", SHRINKAGE.gravity, "--passes", 3, "--holdout", every)
    dwindle("train", data, "-m", tmp_path / "whole", *args)
    done = dwindle("train", data, "-m", tmp_path / "m", *args, preexec_fn=no_room)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
    [told] = [line for line in done.stderr.decode().splitlines() if "dwindle:" in line]
    assert told == (
        "dwindle: no room for a cache of the data in the temporary folder "
        "([Errno 27] File too large): it is parsed again in each pass "
        "(TMPDIR may name another folder)"
    )


def test_without_room_for_what_comes_through_a_pipe_the_run_ends_with_a_sentence(data, tmp_path):
    with data.open("rb") as file:
        done = dwindle(
            "train", "-", "-m", tmp_path / "m", "--passes", 2, "-q",
            check=False, stdin=file, preexec_fn=no_room,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "dwindle: no room for a cache of the data in the temporary folder "
        "([Errno 27] File too large), and a pipe can be read only once: "
        "set TMPDIR, or use a file\n"
    )


# The holdout


@pytest.mark.parametrize("every", [2, 7])
@pytest.mark.parametrize("passes", [1, 3])
def test_examples_held_out_never_touch_the_weights(data, tmp_path, every, passes):
    lines = data.read_bytes().splitlines(keepends=True)
    rest = [line for i, line in enumerate(lines, 1) if i % every]
    (tmp_path / "rest.vw").write_bytes(b"".join(rest))
    expected, whole = fitted([tmp_path / "rest.vw"], tmp_path / "a", passes=passes)
    # The rate is left as it is, so the last pass need not be the best: train until the best one.
    _, held = fitted([data], tmp_path / "b", passes=passes, holdout=every)
    model, _ = fitted([data], tmp_path / "b", passes=held.best_pass, holdout=every)
    if held.best_pass != passes:
        expected, whole = fitted([tmp_path / "rest.vw"], tmp_path / "a", passes=held.best_pass)
    assert bits(model) == bits(expected)
    assert model.facts["examples"] == whole.examples == held.best_pass * len(rest)
    assert model.facts["loss"] == pytest.approx(whole.loss, rel=1e-12)  # summed in other batches


def test_the_holdout_is_measured_as_evaluate_does(data, tmp_path):
    (tmp_path / "held.vw").write_bytes(vw_text(list(rows(300, seed=1))))
    _, summary = fitted([data], tmp_path / "m", holdout=str(tmp_path / "held.vw"))
    found = evaluate(tmp_path / "m", [str(tmp_path / "held.vw")])
    assert summary.holdout_loss == pytest.approx(found["loss"], rel=1e-12)
    assert summary.holdout_auc == pytest.approx(found["auc"], abs=1e-4)


@pytest.mark.parametrize("form", TEXTS)
def test_a_holdout_s_file_may_have_any_format_and_be_in_any_blocks(form, tmp_path):
    given = list(rows())
    path, held = tmp_path / "train.vw", tmp_path / f"held.{form}.gz"
    path.write_bytes(vw_text(given))
    held.write_bytes(gzip.compress(TEXTS[form](given)))
    losses = {
        fitted([path], tmp_path / "m", holdout=str(held), reading=Reading(block_size=size))[
            1
        ].holdout_loss
        for size in (3000, 2**21)
    }
    assert len(losses) == 1


def test_importance_weighs_the_holdout(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{i % 3} | x:{i % 5}\n" for i in range(60)))
    for name, text in {
        "weighed": "1 3 | x:1\n2 1 | x:2\n1 0 | x:9\n| x:9\n",
        "repeated": "1 | x:1\n" * 3 + "2 | x:2\n",
    }.items():
        (tmp_path / name).write_text(text)
    losses = [
        fitted([tmp_path / "a.vw"], tmp_path / "m", holdout=str(tmp_path / name), loss=Squared())[
            1
        ].holdout_loss
        for name in ("weighed", "repeated")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-15)


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """Labels that the first word tells a little about: later passes learn them by heart."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("data") / "noise.vw"
    with path.open("w") as file:
        for _ in range(600):
            words = rng.integers(0, 150, 8)
            label = int(rng.random() < (0.62 if words[0] < 75 else 0.38))
            file.write(f"{label} | {' '.join(f'w{w}' for w in words)}\n")
    return path


OVERFIT = {"shrinkage": Truncation(1e-4), "rate": 0.05, "holdout": 3, "reading": Reading()}


@pytest.mark.parametrize("patience", [1, 2])
def test_a_run_ends_when_the_holdout_loss_falls_no_more_and_its_model_is_the_best(
    noise, tmp_path, patience
):
    seen = []
    training = Training(**OVERFIT, passes=50, patience=patience, keep=20)
    summary = train([str(noise)], tmp_path / "m", training, on_pass=seen.append)
    losses = [row.holdout_loss for row in seen]
    best = int(np.argmin(losses)) + 1
    assert [row.number for row in seen] == list(range(1, len(seen) + 1))
    assert [row.best for row in seen] == [
        loss < min(losses[:i], default=np.inf) for i, loss in enumerate(losses)
    ]
    assert (summary.best_pass, summary.passes) == (best, best + patience)
    assert 1 < best < summary.passes < 50
    assert summary.holdout_loss == min(losses)
    model = Model.load(tmp_path / "m")
    alone = Training(**OVERFIT, passes=best, keep=20)
    train([str(noise)], tmp_path / "alone", alone)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "alone").read_bytes()
    assert model.facts["pass"] == best
    assert model.facts["holdout_loss"] == min(losses)
    assert len(model) == summary.kept == 20
    assert {p.name for p in tmp_path.iterdir()} == {"m", "alone", "temporary"}


def test_passes_are_told_on_the_terminal_and_as_json(noise, tmp_path):
    args = ("train", noise, "-m", tmp_path / "m", "--passes", 2, "--holdout", 3)
    said = dwindle(*args).stderr.decode()
    done = dwindle(*args, "--json").stdout.splitlines()
    told = [row for row in map(json.loads, done) if "pass" in row]
    summary = json.loads(done[-1])
    assert [list(row) for row in told] == [["pass", "holdout_loss", "holdout_auc", "best"]] * 2
    for row in told:
        best = ", best so far" if row["best"] else ""
        assert (
            f"\npass {row['pass']}: holdout loss {row['holdout_loss']:.4f}, "
            f"AUC {row['holdout_auc']:.4f}{best}\n" in said
        )
    assert (
        f"\nholdout       {summary['holdout_loss']:.6f} after pass {summary['best_pass']}, "
        f"the best of 2, AUC {summary['holdout_auc']:.4f}\n" in said
    )
    assert "holdout" not in dwindle(*args[:-2]).stderr.decode()


@pytest.mark.parametrize(
    ("holdout", "text", "message"),
    [
        ("1", "", "holdout must be a file, or 2 or more for one example in so many, got 1"),
        ("10", "", "holdout (1 example in 10): no labelled examples to measure the model on"),
        ("none.vw", "", "none.vw: no such file or folder"),
        ("held.vw", "", "holdout (held.vw): no labelled examples to measure the model on"),
        ("held.vw", "| x\n", "holdout (held.vw): no labelled examples to measure the model on"),
        ("held.vw", "1|x\n", "held.vw:1: label '1' touches '|': write '1 |'"),
        (
            "held.vw",
            "1 | x\n0 | x\n",
            "held.vw:2: expected a label of two classes (-1 and 1), got 0 "
            "(say --loss squared to learn numbers)",
        ),
    ],
)
def test_a_holdout_that_cannot_be_is_told_in_one_line(tmp_path, holdout, text, message):
    (tmp_path / "a.vw").write_text("1 | x\n-1 | y\n" * 3)
    (tmp_path / "held.vw").write_text(text)
    args = ("train", "a.vw", "-m", "m", "--holdout", holdout, "-q", "--passes", 2)
    done = dwindle(*args, cwd=tmp_path, check=False)
    assert done.stderr.decode() == f"dwindle: {message}\n"
    assert done.returncode == (2 if holdout == "1" else 1)
    assert {p.name for p in tmp_path.iterdir()} == {"a.vw", "held.vw", "temporary"}


def test_a_label_that_does_not_fit_the_holdout_is_told_before_the_pass_is_over(data, tmp_path):
    (tmp_path / "held.vw").write_text("1 | x\n0 | x\n")
    (tmp_path / "a.vw").write_bytes(data.read_bytes() + b"nonsense\n")
    with pytest.raises(DataError, match=r"held\.vw:2: expected a label of two classes"):
        fitted([tmp_path / "a.vw"], tmp_path / "m", holdout=str(tmp_path / "held.vw"))


def test_bad_lines_of_a_holdout_s_file_are_counted(data, tmp_path):
    (tmp_path / "held.vw").write_text("1|x\n1 | x\n-1 | y\n")
    _, summary = fitted([data], tmp_path / "m", holdout=str(tmp_path / "held.vw"), skip_bad=True)
    assert summary.skipped == 1
    assert summary.bad_lines == [f"{tmp_path}/held.vw:1: label '1' touches '|': write '1 |'"]


# Stopping and resuming


def stopped_after(n):
    """A question that is answered yes at the n-th time."""
    times = iter(range(1, 10**9))
    return lambda: next(times) == n


@pytest.mark.parametrize("holdout", [None, 5, "file"])
@pytest.mark.parametrize("n", [1, 4, 5, 6, 9, 12])
def test_stopped_in_any_pass_and_resumed_the_model_is_the_same_to_the_bit(
    noise, tmp_path, holdout, n
):
    if holdout == "file":
        holdout = str(tmp_path / "held.vw")
        Path(holdout).write_bytes(b"".join(noise.read_bytes().splitlines(keepends=True)[:100]))
    given = OVERFIT | {"holdout": holdout, "reading": Reading(block_size=5000)}
    training = Training(**given, passes=4, patience=2, rest=50)
    whole = train([str(noise)], tmp_path / "whole", training)
    with pytest.raises(Interrupted):
        train([str(noise)], tmp_path / "part", training, stopping=stopped_after(n))
    with pytest.raises(Interrupted):
        train([str(noise)], tmp_path / "part", training, resume=True, stopping=stopped_after(2))
    part = train([str(noise)], tmp_path / "part", training, resume=True)
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (part.best_pass, part.passes) == (whole.best_pass, whole.passes)
    assert not list(tmp_path.glob("*.best"))
    assert not list(tmp_path.glob("*.checkpoint"))


def test_ended_between_the_best_model_and_the_next_checkpoint_it_resumes_all_the_same(
    noise, tmp_path
):
    given = OVERFIT | {"reading": Reading(block_size=5000)}
    training = Training(**given, passes=6, checkpoint_every=lambda _seconds, _examples: True)
    train([str(noise)], tmp_path / "whole", training)

    def killed(row):
        if row.best and row.number > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train([str(noise)], tmp_path / "part", training, on_pass=killed)
    assert (tmp_path / "part.best").exists()
    train([str(noise)], tmp_path / "part", training, resume=True)
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.slow
def test_killed_at_several_points_and_resumed_the_model_is_the_same_to_the_bit(noise, tmp_path):
    args = ("--passes", 8, "--holdout", 3, "--rate", 0.05, "--json", "--patience", 4)
    dwindle("train", noise, "-m", tmp_path / "whole", *args)
    for last in ("1", "2", "4"):
        running = subprocess.Popen(
            command(
                "train", noise, "-m", tmp_path / "part", *args, "--resume",
                "--checkpoint-every", 100,
            ),
            stdout=subprocess.PIPE,
        )  # fmt: skip
        for line in running.stdout:
            if str(json.loads(line).get("pass")) == last:
                break
        running.kill()
        running.communicate()
    dwindle("train", noise, "-m", tmp_path / "part", "--resume")
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_later_pass_over_a_pipe_cannot_be_resumed(noise, tmp_path):
    os.mkfifo(tmp_path / "pipe.vw")

    def feed():
        thread = threading.Thread(
            target=lambda: (tmp_path / "pipe.vw").write_bytes(noise.read_bytes())
        )
        thread.start()
        return thread

    training = Training(passes=3)
    feeding = feed()
    with pytest.raises(Interrupted):
        train([str(tmp_path / "pipe.vw")], tmp_path / "m", training, stopping=stopped_after(2))
    feeding.join()
    with pytest.raises(DataError, match=r"m\.checkpoint: was written in pass 2, and its data came"):
        train([str(tmp_path / "pipe.vw")], tmp_path / "m", training, resume=True)


def test_the_best_model_of_another_run_is_refused(noise, data, tmp_path):
    training = Training(**OVERFIT | {"rate": 0.2}, passes=4)  # no later pass is the best
    with pytest.raises(Interrupted):
        train([str(noise)], tmp_path / "m", training, stopping=stopped_after(4))
    train([str(data)], tmp_path / "other", Training(holdout=10))
    (tmp_path / "other").replace(tmp_path / "m.best")
    seen = []
    with pytest.raises(DataError, match=r"m\.best: is not the model of pass"):
        train([str(noise)], tmp_path / "m", training, resume=True, on_pass=seen.append)
    assert not any(row.best for row in seen)  # else it would have been written anew


def test_resuming_with_another_holdout_is_refused(noise, tmp_path):
    training = Training(**OVERFIT, passes=3)
    with pytest.raises(Interrupted):
        train([str(noise)], tmp_path / "m", training, stopping=stopped_after(2))
    done = dwindle("train", noise, "-m", tmp_path / "m", "--resume", "--holdout", 4, check=False)
    assert b"was written with holdout 3, and now it is 4" in done.stderr
    (tmp_path / "m.best").unlink()
    done = dwindle("train", noise, "-m", tmp_path / "m", "--resume", check=False)
    assert b"m.best, is gone: remove the checkpoint to begin anew" in done.stderr
