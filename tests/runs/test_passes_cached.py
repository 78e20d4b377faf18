"""Later passes come from a cache, to the bit, if there is room for one."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dwindle import DivergedError, Learner, Plain, Squared, Truncation
from dwindle.data.cached_examples import CachedExamples
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from dwindle.features.keys import key_of
from dwindle.model.model import Model
from helpers.commands import command, dwindle
from helpers.compression import COMPRESSED
from helpers.multi_pass_data import SHRINKAGE, SMALL, TEXTS, bits, fitted, rows, vw_text

pytestmark = pytest.mark.usefixtures("temporary")
TEXT = vw_text(list(rows()))


def uncached(path, passes, shrinkage=SHRINKAGE, reading=SMALL):
    """What parsing the file again for each pass comes to."""
    learner = Learner(shrinkage=shrinkage)
    for _ in range(passes):
        for parsed in read([str(path)], reading):
            learner.learn(parsed.batch)
        learner.next_pass()
    return learner


def valid(weights):
    """Names as a model's file has them."""
    return {
        name.encode("utf-8", "surrogateescape").decode(errors="replace"): w
        for name, w in weights.items()
    }


@pytest.mark.parametrize("form", TEXTS)
def test_cached_passes_equal_parsed_ones_to_the_bit_whatever_the_format(form, tmp_path):
    path = tmp_path / f"data.{form}"
    path.write_bytes(TEXTS[form](list(rows())))
    learner = uncached(path, 3)
    model, summary = fitted([path], tmp_path / "m", passes=3)
    assert bits(model) == (valid(learner.weights()), learner.intercept)
    assert (summary.examples, summary.passes) == (900, 3)
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


CROSSED = ReadOptions(interactions=(("b", "text"),), columns={"b": "drop"}, block_size=9000)


def test_interactions_are_made_again_in_each_pass_since_products_are_many(
    data, tmp_path, monkeypatch
):
    monkeypatch.setattr("dwindle.data.cache.Cache", None)  # none is made
    learner = uncached(data, 2, reading=CROSSED)
    model, _ = fitted([data], tmp_path / "m", passes=2, reading=CROSSED)
    assert bits(model) == (valid(learner.weights()), learner.intercept)


def test_interactions_in_a_pipe_come_from_the_cache(data, tmp_path):
    os.mkfifo(tmp_path / "pipe.vw")
    writing = threading.Thread(target=lambda: (tmp_path / "pipe.vw").write_bytes(data.read_bytes()))
    writing.start()
    learner = uncached(data, 2, reading=CROSSED)
    model, _ = fitted([tmp_path / "pipe.vw"], tmp_path / "m", passes=2, reading=CROSSED)
    writing.join()
    assert bits(model) == (valid(learner.weights()), learner.intercept)


@pytest.mark.slow
def test_several_passes_over_a_pipe_are_those_over_a_file(data, tmp_path):
    expected, _ = fitted([data], tmp_path / "file", passes=3, reading=ReadOptions())
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

    examples = CachedExamples(source, pytest.fail, once=False)
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
    settings = {
        "loss": Squared(),
        "update": Plain(),
        "learning_rate": 1.2,
        "reading": ReadOptions(),
    }
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


@pytest.mark.slow
def test_tables_that_need_no_parsing_are_not_cached(tmp_path):
    table = {"label": [1.0, -1.0] * 50, "x": np.arange(100) / 7}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    code = (
        "from dwindle.data import cache; from dwindle.runs.train import *; cache.Cache = None\n"
        "train(['a.parquet'], 'm', TrainSettings(passes=3))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert Model.load(tmp_path / "m").metadata["examples"] == 100


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("every", [2, 100])
def test_without_room_for_a_cache_the_data_is_parsed_again_and_that_is_said(data, tmp_path, every):
    args = ("-g", SHRINKAGE.gravity, "--passes", 3, "--holdout", every)
    dwindle("train", data, "-m", tmp_path / "whole", *args)
    done = dwindle("train", data, "-m", tmp_path / "m", *args, preexec_fn=no_room)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
    [told] = [line for line in done.stderr.decode().splitlines() if "dwindle:" in line]
    assert told == (
        "dwindle: no room for a cache of the data in the temporary folder "
        "([Errno 27] File too large): the data is parsed again in each pass "
        "(set TMPDIR to use another folder)"
    )


@pytest.mark.slow
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
