"""Random features as often as real ones, and what they say of a model."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Batch, Model, SettingError, TrainSettings, train
from dwindle.data.options import ReadOptions
from dwindle.data.probes import BITS, MARK, Probes, is_probe
from dwindle.runs.observer import Stopped
from dwindle.runs.probing import Probed
from helpers import planted_data
from helpers.commands import dwindle
from helpers.effort import few_examples
from helpers.observing import heard
from helpers.random_streams import seeds
from helpers.stop_after import stopped_after


def some_batch(seed, n_examples, n_features):
    """Examples in which feature k comes in about a k-th part, with names."""
    rng = np.random.default_rng(seed)
    present = rng.random((n_examples, n_features)) < 1 / (1 + np.arange(n_features))
    dicts = [{f"f{k}": float(k + 1) for k in np.flatnonzero(each)} for each in present]
    return Batch.from_dicts(dicts, rng.choice([-1, 1], n_examples))


def features(batch):
    """The features of each example, by name."""
    return [
        dict(zip(batch.names[a:b], batch.x[a:b].tolist(), strict=True))
        for a, b in zip(batch.start[:-1], batch.start[1:], strict=True)
    ]


@given(seed=seeds, cuts=st.lists(st.integers(0, 300), max_size=4), n=st.sampled_from([3, 100]))
@few_examples(8)
def test_however_examples_are_cut_they_get_the_same_probes(seed, cuts, n):
    whole = some_batch(seed, 300, 12)
    bounds = [0, *sorted(cuts), 300]
    probes = Probes(n)
    parts = [each for a, b in pairwise(bounds) for each in features(probes.added(whole.rows(a, b)))]
    assert parts == features(Probes(n).added(whole))


def test_real_features_stay_and_probes_are_as_frequent_with_the_same_values():
    batch = some_batch(1, 6000, 8)
    added = Probes(100).added(batch)
    probe = is_probe(added.key)
    np.testing.assert_array_equal(added.key[~probe], batch.key)
    np.testing.assert_array_equal(added.x[~probe], batch.x)
    assert [name.startswith("probe\0") for name in added.names] == probe.tolist()
    for value in range(1, 9):  # which tells the feature
        assert len(set(added.key[probe & (added.x == value)].tolist())) == 1
        real = (batch.x == value).sum()
        # All but those of the examples that wait for another at the end.
        assert real - 256 <= (added.x[probe] == value).sum() <= real


def test_a_probe_tells_nothing_of_the_example_that_it_is_in():
    batch = some_batch(2, 4000, 6)
    has = np.array([[f"f{k}" in each for k in range(6)] for each in features(batch)], float)
    added = features(Probes(100).added(batch))
    probes = np.array([[float(k + 1) in each for k in range(6)] for each in (
        {x for name, x in example.items() if name.startswith("probe")} for example in added
    )], float)  # fmt: skip
    for k in range(1, 6):
        assert abs(np.corrcoef(has[:, k], probes[:, k])[0, 1]) < 0.07


def test_there_are_no_more_probes_than_asked_for_and_rare_features_have_some():
    n_features = 400
    rng = np.random.default_rng(0)
    dicts = [{f"f{k}": 1.0 for k in rng.choice(n_features, 10)} for _ in range(3000)]
    probes = Probes(20)
    added = probes.added(Batch.from_dicts(dicts, [1.0] * 3000))
    late = added.rows(2000, 3000)
    assert len(probes) == 20
    assert len(set(late.key[is_probe(late.key)].tolist())) == 20


def test_the_estimate_is_the_share_of_probes_kept_times_the_features_seen():
    assert Probed(kept=3, added=100, real=40, seen=1000).by_chance == pytest.approx(30)
    assert Probed(kept=50, added=100, real=40, seen=1000).by_chance == 40
    assert Probed(kept=0, added=0, real=0, seen=0).by_chance == 0


@pytest.mark.parametrize("gravity", [0.001, 0.003])
def test_as_many_features_by_chance_are_found_as_there_are(tmp_path, gravity):
    examples = planted_data.rows(4000, 300, 20)
    (tmp_path / "d.svm").write_text(planted_data.svmlight(examples))
    settings = TrainSettings(gravity=gravity, update="adaptive", probes=300)
    found = train([str(tmp_path / "d.svm")], tmp_path / "m", settings).probes
    model = Model.load(tmp_path / "m")
    assert len(model) == found.real
    assert not is_probe(model.key).any()
    useless = int((model.key >= len(planted_data.WEIGHTS)).sum())
    assert found.added == 300
    assert found.by_chance == pytest.approx(useless, rel=0.35, abs=6)


@pytest.mark.parametrize("more", [{}, {"passes": 2, "shuffle": 700}, {"holdout": 5}])
@pytest.mark.parametrize("n", [10, 100, 1000])
def test_probes_are_not_among_the_features_seen(tmp_path, n, more):
    (tmp_path / "d.vw").write_text(planted_data.vw(planted_data.rows(3000, 1500)))
    reading = ReadOptions(block_size=50_000)
    settings = TrainSettings(probes=n, reading=reading, gravity=0.0, **more)
    found = train([str(tmp_path / "d.vw")], tmp_path / "m", settings)
    said = Model.load(tmp_path / "m").metadata
    curve = said["learning_curve"]
    assert found.kept == found.probes.real == 1500
    assert found.seen == found.probes.seen == said["seen"] == curve["seen"][-1]
    assert found.seen == pytest.approx(1500, rel=0.03)  # of which some 0.8 % are usual
    assert max(curve["seen"]) <= 1.03 * 1500
    assert 0.9 * n <= found.probes.kept <= found.probes.added == n


def test_the_probes_of_many_features_have_keys_of_their_own():
    key = np.arange(2_000_000, dtype=np.uint64)
    start, n = np.arange(0, len(key) + 1, 1000), 1000
    probes = Probes(n)
    probes.added(Batch.from_arrays(start, key, np.ones(len(key)), np.ones(len(start) - 1)))
    known = np.arange(2**24, dtype=np.uint64) | np.uint64(MARK << BITS)
    assert probes.are(known).sum() >= n - 2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_stopped_and_resumed_it_is_the_same_model(tmp_path, n):
    (tmp_path / "d.vw").write_text(planted_data.vw(planted_data.rows(900)))
    reading = ReadOptions(block_size=10_000)
    settings = TrainSettings(probes=30, passes=2, shuffle=400, reading=reading)
    whole = train([str(tmp_path / "d.vw")], tmp_path / "whole", settings)
    watch = heard(stopping=stopped_after(n))
    with pytest.raises(Stopped):
        train([str(tmp_path / "d.vw")], tmp_path / "m", settings, observer=watch)
    again = train([str(tmp_path / "d.vw")], tmp_path / "m", settings, resume=True)
    assert again.probes == whole.probes
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("name", ["path", "save_state"])
def test_what_would_keep_probes_is_refused_by_name(tmp_path, name):
    (tmp_path / "d.vw").write_text(planted_data.vw(planted_data.rows(50)))
    settings = TrainSettings(probes=30, **{name: True})
    with pytest.raises(SettingError, match=f"--{name.replace('_', '-')} would keep the probes"):
        train([str(tmp_path / "d.vw")], tmp_path / "m", settings)


def test_several_classes_have_no_probes(tmp_path):
    (tmp_path / "d.csv").write_text("label,x\n" + "a,1\nb,2\nc,3\n" * 20)
    done = dwindle("train", tmp_path / "d.csv", "-m", tmp_path / "m", "--probes", 9, check=False)
    assert done.returncode == 2
    assert b"--probes is for one model" in done.stderr


def test_the_command_tells_how_many_are_kept(tmp_path):
    (tmp_path / "d.vw").write_text(planted_data.vw(planted_data.rows(600)))
    words = ("train", tmp_path / "d.vw", "-m", tmp_path / "m", "--probes", 30)
    assert "of 30 random features kept" in dwindle(*words, text=True).stderr
    said = json.loads(dwindle(*words, "--json", text=True).stdout.splitlines()[-1])
    assert said["probes"]["added"] == 30
    assert said["probes"]["real"] == said["kept"] == len(Model.load(tmp_path / "m"))
