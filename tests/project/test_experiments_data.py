"""The experiments' data are the paper's, wherever they come from."""

import gzip
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from dwindle._base.errors import DataError
from experiments.data import CLASSIFICATION, SETS, available, load, rcv1, scaled, shipped, split


def here(name):
    absent = not available(name)
    return pytest.param(
        name, marks=pytest.mark.skipif(absent, reason=f"{name}: not in DWINDLE_DATA or the cache")
    )


every_set = pytest.mark.parametrize("name", [here(name) for name in SETS])


def dense(batch, columns):
    x = np.zeros((batch.n_examples, columns), np.float32)
    x[np.repeat(np.arange(batch.n_examples), np.diff(batch.start)), batch.key] = batch.x
    return x


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("DWINDLE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "dwindle"


@every_set
def test_a_set_has_as_many_features_as_in_the_paper(name):
    made = split(name, seed=0)
    assert made.features == len(made.names) + 1
    assert made.features == {"ad": 1559}.get(name, SETS[name].features)  # the paper's 1411: unknown


@every_set
def test_a_set_is_split_in_the_papers_sizes(name):
    spec, made = SETS[name], split(name, seed=0)
    assert (made.train.n_examples, made.test.n_examples) == (spec.train, spec.test)


@pytest.mark.parametrize("name", [here(name) for name in (*CLASSIFICATION, "wpbc")])
def test_classes_are_balanced_as_in_the_file(name):
    made = split(name, seed=0)
    label = np.concatenate([made.train.label, made.test.label])
    assert set(label) == {-1, 1}
    assert (label == 1).sum() == SETS[name].positives


@pytest.mark.parametrize("name", [here("housing"), here("zoo")])
def test_numbers_to_predict_are_left_as_they_are(name):
    lowest, highest = {"housing": (5, 50), "zoo": (1, 7)}[name]
    made = split(name, seed=0)
    label = np.concatenate([made.train.label, made.test.label])
    assert (label.min(), label.max()) == (lowest, highest)


def test_figures_3_to_6_have_eight_sets():
    assert CLASSIFICATION == (
        "ad", "crx", "krvskp", "magic04", "mushroom", "spambase", "wbc", "wdbc"
    )  # fmt: skip


@every_set
def test_a_seed_gives_the_same_rows_and_another_seed_others(name):
    one, same, other = (split(name, seed).train for seed in (0, 0, 1))
    assert np.array_equal(one.x, same.x)
    assert np.array_equal(one.label, same.label)
    assert not (np.array_equal(one.x, other.x) and np.array_equal(one.label, other.label))


@every_set
def test_no_row_is_lost_or_in_both_parts(name):
    """What the parts have of 0/1 columns and labels adds up to what the file has."""
    table, made = load(name), split(name, seed=3)
    kept = np.all((table.x == 0) | (table.x == 1), axis=0)
    both = np.concatenate([dense(part, len(made.names)) for part in (made.train, made.test)])
    assert np.array_equal(both[:, kept].sum(axis=0), table.x[:, kept].sum(axis=0))
    label = np.concatenate([made.train.label, made.test.label])
    assert np.array_equal(np.sort(label), np.sort(table.label.astype(np.float32)))


@every_set
def test_numbers_to_learn_from_have_mean_0_and_deviation_1(name):
    table, made = load(name), split(name, seed=0)
    x = dense(made.train, len(made.names))
    binary = np.all((x == 0) | (x == 1), axis=0)
    scale = x[:, table.numeric & ~binary].astype(np.float64)
    assert np.allclose(scale.mean(axis=0), 0, atol=1e-5)
    assert np.all(scale.std(axis=0) < 1 + 1e-5)
    complete = ~np.isnan(table.x).any(axis=0)[table.numeric & ~binary]
    assert np.allclose(scale[:, complete].std(axis=0), 1, atol=1e-5)


def test_scaling_knows_only_the_rows_to_learn_from():
    x = np.array([[1.0, 0.0], [3.0, 1.0], [5.0, 1.0], [7.0, 0.0]])
    changed = x.copy()
    changed[3] = [1e6, -8.0]
    numeric = np.array([True, True])
    before, after = (scaled(each, numeric, train=3) for each in (x, changed))
    assert np.array_equal(before[:3], after[:3])
    assert np.allclose(before[:, 0], (x[:, 0] - 3) / np.std([1, 3, 5]))


def test_columns_of_0_and_1_stay_so():
    x = np.array([[0.0, 5.0], [1.0, 6.0], [np.nan, 7.0]])
    assert scaled(x, np.array([True, True]), train=3)[:, 0].tolist() == [0, 1, 0]


def test_a_missing_number_is_the_mean_and_a_constant_is_nothing():
    x = np.array([[1.0, 4.0], [np.nan, 4.0], [3.0, 4.0]])
    assert scaled(x, np.array([True, True]), train=3).tolist() == [[-1, 0], [0, 0], [1, 0]]


@pytest.mark.parametrize("name", [here("mushroom")])
def test_a_missing_word_has_no_feature(name):
    made = split(name, seed=0)
    sizes = np.concatenate([np.diff(part.start) for part in (made.train, made.test)])
    assert np.unique(sizes, return_counts=True)[1].tolist() == [2480, 8124 - 2480]
    assert set(sizes) == {21, 22}
    assert set(made.train.x) == {1}


@pytest.mark.parametrize("name", [here("ad")])
def test_most_of_ad_stays_sparse(name):
    made = split(name, seed=0)
    assert len(made.train.x) / made.train.n_examples < 20


@pytest.mark.parametrize("name", [here("wdbc"), here("spambase")])
def test_random_features_are_1_in_a_twentieth_of_the_examples(name):
    plain, noisy = split(name, seed=0), split(name, seed=0, random=1000)
    d = len(plain.names)
    assert noisy.features == plain.features + 1000
    for before, after in ((plain.train, noisy.train), (plain.test, noisy.test)):
        x = dense(after, d + 1000)
        assert np.array_equal(x[:, :d], dense(before, d))
        noise = x[:, d:]
        assert set(np.unique(noise)) == {0, 1}
        assert abs(noise.mean() - 0.05) < 5 * np.sqrt(0.05 * 0.95 / noise.size)
        assert noise.any(axis=0).mean() > 0.99


def flipped(rows):
    return [[rows[0][0], "B", *rows[0][2:]], *rows[1:]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "wdbc.data: expected 569 rows, found 568"),
        (lambda rows: [rows[0], [*rows[1], "1"], *rows[2:]], "wdbc.data:2: expected 32 columns, found 33"),
        (flipped, "wdbc.data: expected 212 examples of class 'M', found 211"),
        (lambda rows: [[*rows[0][:-1], "x"], *rows[1:]], "wdbc.data: column 32: could not convert string to float: 'x'"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_refused(change, message, empty_cache):
    path = empty_cache / SETS["wdbc"].file
    path.parent.mkdir(parents=True)
    path.write_text("".join(",".join(row) + "\n" for row in change(shipped())))
    with pytest.raises(DataError, match=message):
        split("wdbc", seed=0)


def test_a_file_that_is_cut_short_is_refused(empty_cache):
    path = empty_cache / SETS["magic04"].file
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(b"1,2,3\n" * 1000)[:-9])
    with pytest.raises(DataError, match=r"magic04.data.gz: cannot be read, or is cut short"):
        split("magic04", seed=0)


def test_wdbc_comes_with_scikit_learn(empty_cache):
    assert not empty_cache.exists()
    assert available("wdbc")
    assert split("wdbc", seed=0).source == "scikit-learn"


@pytest.mark.parametrize("name", [here("wdbc")])
def test_the_folder_and_scikit_learn_have_the_same_wdbc(name, request):
    given = load(name)
    request.getfixturevalue("empty_cache")
    other = load(name)
    assert np.array_equal(given.x, other.x)
    assert np.array_equal(given.label, other.label)


def test_what_is_nowhere_is_not_available(empty_cache):
    assert not empty_cache.exists()
    assert [name for name in (*SETS, "rcv1") if available(name)] == ["wdbc"]
    with pytest.raises(DataError, match="is not downloaded for you: get it from archive"):
        split("wpbc", seed=0)


# scikit-learn's own tests come with what OpenML answers about these sets, whole and unchanged.
ANSWERS = {
    "": "api-v1-jd-{id}.json.gz",
    "features/": "api-v1-jdf-{id}.json.gz",
    "qualities/": "api-v1-jdq-{id}.json.gz",
}


@pytest.mark.filterwarnings("ignore:OpenML raised a warning")  # "Deep Blue is in the house."
@pytest.mark.parametrize(
    ("name", "file"), [("zoo", "52352/zoo.arff"), ("krvskp", "3/kr-vs-kp.arff")]
)
def test_a_set_from_openml_is_the_set_of_the_folder(name, file, request):
    given = load(name) if available(name) else None
    cache, number = request.getfixturevalue("empty_cache"), SETS[name].openml
    answers = Path(str(files("sklearn"))) / f"datasets/tests/data/openml/id_{number}"
    if not answers.is_dir():
        pytest.skip("this scikit-learn comes without its tests")
    asked = cache / "openml/openml.org"
    for what, answer in ANSWERS.items():
        put(answers / answer.format(id=number), asked / f"api/v1/json/data/{what}{number}.gz")
    put(next(answers.glob("data-*")), asked / f"data/v1/download/{file}.gz")
    made = split(name, seed=0)
    assert made.features == SETS[name].features
    assert available(name)
    if given is not None:
        table = load(name)
        assert np.array_equal(table.x, given.x)
        assert np.array_equal(table.label, given.label)
        assert table.names == given.names


def put(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


@pytest.mark.slow
@pytest.mark.parametrize("name", [here("rcv1")])
def test_rcv1_is_shuffled_to_learn_from_and_stands_still_to_test_on(name):
    assert name == "rcv1"
    one, other = rcv1(seed=0), rcv1(seed=1)
    assert (one.train.n_examples, one.test.n_examples) == (23149, 7965)
    assert one.features == len(one.names) + 1 == 83400
    assert len(one.train.x) == 2212504
    assert (one.train.label == 1).sum() == (other.train.label == 1).sum() == 10786
    assert not np.array_equal(one.train.label, other.train.label)
    assert np.array_equal(one.test.x, other.test.x)
    assert one.test.key.max() < len(one.names)
    lengths = np.add.reduceat(one.train.x.astype(float) ** 2, one.train.start[:-1])
    assert np.allclose(lengths, 1, atol=1e-4)
    assert "f^australia" in one.names
