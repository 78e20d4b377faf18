"""Shuffling within a window, and the warning that tells who needs it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle.data.options import ReadOptions
from dwindle.data.shuffle import shuffled
from dwindle.data.stream import read
from dwindle.model.model import Model
from dwindle.runs.label_order import LabelOrder
from dwindle.runs.observer import Stopped
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle
from helpers.observing import heard
from helpers.stop_after import stopped_after
from helpers.training_text import lines

SORTED = "labels come sorted ("
TEXT = "".join(sorted(lines(1200).splitlines(keepends=True))).encode()


def rows(paths, window, seed, block_size=2**21):
    """Each example as it comes: where it is, its label, and its features with their values."""
    found = []
    for part in shuffled(read(paths, ReadOptions(block_size=block_size)), window, seed):
        for i in range(part.batch.n_examples):
            some = slice(part.batch.start[i], part.batch.start[i + 1])
            values = zip(part.batch.names[some], part.batch.x[some].tolist(), strict=True)
            found.append((part.place(i), part.label(i), dict(values)))
    return found


def test_a_window_has_its_own_examples_in_another_order_whatever_the_blocks(data, tmp_path):
    other = tmp_path / "other.vw"
    other.write_text("1 | x\n" * 50)
    paths = [str(data), str(other)]
    straight = rows(paths, 2**40, (1,))
    assert len({place for place, *_ in straight}) == 1250
    assert straight == rows(paths, 2**40, (1,), block_size=3000)
    found = rows(paths, 100, (0, 3))
    assert found == rows(paths, 100, (0, 3), block_size=7000)
    assert found != rows(paths, 100, (0, 4))
    places = [f"{data}:{i}" for i in range(1, 1201)] + [f"{other}:{i}" for i in range(1, 51)]
    for k in range(0, 1250, 100):
        window = [place for place, *_ in found[k : k + 100]]
        assert sorted(window) == sorted(places[k : k + 100])
        assert window != places[k : k + 100]
    by_place = {place: rest for place, *rest in straight}
    assert all(by_place[place] == rest for place, *rest in found)


def test_labels_that_are_text_keep_their_names(tmp_path):
    (tmp_path / "spam.csv").write_text("label,x\n" + "spam,1\n" * 30)
    (tmp_path / "ham.csv").write_text("label,x\n" + "ham,2\n" * 30)
    found = rows([str(tmp_path / "spam.csv"), str(tmp_path / "ham.csv")], 1000, (0,))
    assert {(label, x["x"]) for _, label, x in found} == {("spam", 1.0), ("ham", 2.0)}
    done = dwindle("train", tmp_path / "spam.csv", tmp_path / "ham.csv", "--shuffle", 60, "-m", tmp_path / "m", text=True)  # fmt: skip
    assert SORTED not in done.stderr


def test_a_sorted_file_is_told_and_shuffling_mends_it(data, tmp_path):
    args = ("train", data, "-m", tmp_path / "m", "--dense")
    said = dwindle(*args, text=True).stderr
    assert said.count(SORTED) == 1
    assert "(1 change in 1,200 examples; at random" in said
    assert "shuffle the data, or train with --shuffle 1200\n" in said
    (tmp_path / "test.vw").write_text(lines(1000, seed=5))

    def loss():
        out = dwindle("evaluate", tmp_path / "m", tmp_path / "test.vw", "--json").stdout
        return json.loads(out)["loss"]

    forgetful = loss()
    assert SORTED not in dwindle(*args, "--shuffle", 1200, text=True).stderr
    assert loss() < 0.5 * forgetful


def test_prices_that_always_rise_are_told_so(tmp_path):
    (tmp_path / "p.csv").write_text("label,x\n" + "".join(f"{i}.5,{i % 7}\n" for i in range(400)))
    said = dwindle("train", tmp_path / "p.csv", "-m", tmp_path / "m", text=True).stderr
    assert "sorted (they rise 399 times in 400 examples; at random it would be some 200)" in said


def test_shuffled_weights_depend_on_the_seed_and_the_pass_alone(data, tmp_path):
    def weights(**how):
        settings = TrainSettings(shuffle=500, passes=2, **how)
        train([str(data)], tmp_path / "m", settings, observer=heard(on_note=lambda _: None))
        return Model.load(tmp_path / "m").weights()

    small = weights(reading=ReadOptions(block_size=5000, threads=2))
    assert small == weights() != weights(seed=1)
    orders = [rows([str(data)], 500, (0, number)) for number in range(2)]
    assert orders[0] != orders[1]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_shuffled_run_that_is_stopped_goes_on_to_the_same_bits(data, tmp_path, n, monkeypatch):
    monkeypatch.setattr("dwindle.data.shuffle.ROWS", 300)
    settings = TrainSettings(shuffle=700, passes=2, holdout=7)
    watched = {"on_note": lambda _: None}
    train([str(data)], tmp_path / "whole", settings, observer=heard(**watched))
    stopping = heard(stopping=stopped_after(n), **watched)
    with pytest.raises(Stopped):
        train([str(data)], tmp_path / "part", settings, observer=stopping)
    done = dwindle("train", data, "-m", tmp_path / "part", "--resume", "--seed", 1, check=False)
    assert b"was written with seed 0, and now it is 1" in done.stderr
    dwindle("train", data, "-m", tmp_path / "part", "--resume", "-q")
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_seed_without_shuffling_is_refused(data, tmp_path):
    done = dwindle("train", data, "-m", tmp_path / "m", "--seed", 1, check=False, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "dwindle: --seed does nothing without --shuffle: say --shuffle 100000, for windows of so "
        "many examples\n",
    )


def order_of(label, cuts=()):
    """The order of these labels, added in parts, and their weights."""
    label = np.asarray(label, np.float32)
    order = LabelOrder()
    for part in np.split(label, cuts):
        order.add(part, np.ones(len(part), np.float32))
    value, count = np.unique(label, return_counts=True)
    return order, dict(zip(value.tolist(), count.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_what_comes_at_random_is_never_called_sorted(seed):
    rng = np.random.default_rng(seed)
    for share in (0.5, 0.1, 0.01, 0.001):
        label = np.where(rng.random(20_000) < share, 1, -1)
        order, weight = order_of(label)
        assert not order.is_sorted(weight)
    for label in (
        rng.integers(0, 20, 3000),
        rng.normal(size=3000),
        np.cumsum(rng.normal(size=3000)),  # a walk: smooth, but it goes both ways
        np.sin(np.arange(3000) / 50),
        np.tile([1, -1], 500),
        np.append(np.full(1000, -1), 1),
    ):
        order, weight = order_of(label)
        assert not order.is_sorted(weight)


def test_what_is_sorted_is_called_so():
    rng = np.random.default_rng(0)
    for label in (
        np.repeat([-1, 1], 500),
        np.repeat([1, -1], [9000, 1000]),
        np.repeat(np.tile([1, -1], 10), 100),
        np.sort(rng.integers(0, 20, 2000)),
        np.sort(rng.normal(size=2000)),
        -np.sort(rng.normal(size=2000)),
    ):
        order, weight = order_of(label)
        assert order.is_sorted(weight)


@given(st.lists(st.sampled_from([-1.0, 0.0, 2.0]), min_size=1), st.lists(st.integers(0, 50)))
def test_the_order_is_the_same_in_any_batching(label, cuts):
    cuts = sorted(min(cut, len(label)) for cut in cuts)
    assert order_of(label, cuts)[0].state() == order_of(label)[0].state()


def test_a_model_worse_than_a_constant_is_told_so(tmp_path):
    x = np.random.default_rng(0).normal(size=(300, 2))
    rows = (f"{int(y > 0)} |a :{y:.3f} |b :{z:.3f}\n" for y, z in x)
    (tmp_path / "a.vw").write_text("".join(rows))
    args = ("train", tmp_path / "a.vw", "-m", tmp_path / "m", "--update", "plain")
    bad, good = (*args, "-l", 20, "--drop", "a"), (*args, "-l", 0.5)
    told = "worse than the best constant: try another --learning-rate or less --gravity\n"
    for more in ((), ("--passes", 3), ("--holdout", 5)):
        assert dwindle(*bad, *more, text=True).stderr.endswith(told)
        summary = json.loads(dwindle(*bad, *more, "--json").stdout.splitlines()[-1])
        assert summary["worse_than_constant"] is True
        assert told not in dwindle(*good, *more, text=True).stderr


def test_a_model_that_was_worse_only_at_first_is_told_to_be_better_later(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{i % 2} | x{i % 2} y\n" for i in range(300)))
    args = ("train", tmp_path / "a.vw", "-m", tmp_path / "m", "--update", "plain", "-l", 3000)
    said = dwindle(*args, text=True).stderr
    assert " is the best constant's loss\nlater half    0.000000, which is better\n" in said
    assert "worse than" not in said
