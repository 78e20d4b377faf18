"""Keys made to share their home cell make no table slow, and change no weight."""

import numpy as np
import pytest

from dwindle.algorithm.losses import Squared
from dwindle.data.formats.tables import distinct
from dwindle.engine import name_table, table
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.table_kernels import FARTHEST, MOST_PROBES
from dwindle.features.batch import Batch
from dwindle.features.hash_mixer import GOLDEN
from dwindle.model.model import Model

N = 4000
UNDO = pow(int(GOLDEN), -1, 2**64)  # GOLDEN times it is 1
# (key + 1) * GOLDEN is below 2^24: the first cell is home to all, in tables of up to 2^40 cells.
MADE = np.array([(r * UNDO - 1) % 2**64 for r in range(1, N + 1)], np.uint64)
MADE_BEFORE = np.array([(r * UNDO - 1) % 2**64 for r in range(N + 1, 2 * N + 1001)], np.uint64)
USUAL = np.random.default_rng(1).permutation(2**20)[:N].astype(np.uint64)
LEARNERS = [Learner, LaneLearner]


def home(cells, mixer, mark):
    """The cell where a look-up begins."""
    return ((mark * mixer) >> np.uint64(65 - len(cells).bit_length())).astype(np.int64)


def distances(cells, mixer):
    """How many cells a look-up of each feature looks at beside its own."""
    [at] = np.nonzero(cells["key"])
    return (at - home(cells, mixer, cells["key"][at])) % len(cells)


def batch(key, n_each):
    n = len(key) // n_each
    x = np.linspace(0.5, 1.5, len(key), dtype=np.float32)
    return Batch(np.arange(n + 1) * n_each, key, x, np.resize(np.array([1, -1], np.float32), n))


def shuffled(key):
    """The keys in another order, in which each comes twice."""
    return key[np.random.default_rng(3).permutation(np.tile(np.arange(N), 2))]


def test_these_keys_share_a_home():
    cells = Learner().table.cells
    assert not home(cells, GOLDEN, MADE + np.uint64(1)).any()


@pytest.mark.parametrize("n_each", [4, 1000, 2 * N])  # the last is one example of all
@pytest.mark.parametrize("make", LEARNERS)
def test_features_stay_near_their_homes_and_have_the_weights_of_usual_keys(make, n_each):
    made, usual = make(Squared()), make(Squared())
    p = made.learn(batch(shuffled(MADE), n_each))
    np.testing.assert_array_equal(p, usual.learn(batch(shuffled(USUAL), n_each)))
    assert usual.table.mixer == GOLDEN
    assert made.table.mixer != GOLDEN
    assert distances(made.table.cells, made.table.mixer).mean() <= int(MOST_PROBES)
    found, known = (dict(zip(*learner.weight_of_keys(), strict=True)) for learner in (made, usual))
    pairs = list(zip(MADE, USUAL, strict=True))
    assert {m: found.get(m) for m, _ in pairs} == {m: known.get(u) for m, u in pairs}
    made.sweep()
    np.testing.assert_array_equal(made.predict(batch(MADE, 1)), usual.predict(batch(USUAL, 1)))


@pytest.mark.parametrize("make", LEARNERS)
def test_one_example_at_a_time_the_table_is_spread_when_a_feature_is_far_from_home(
    make, monkeypatch
):
    monkeypatch.setattr(table, "SMALLEST", 2**14)
    learner, other = make(), make()
    cells = learner.table.cells
    mark = Batch.from_dicts([{"word": 1.0}]).key + np.uint64(1)
    n = 2**12 + 128
    crowd = (home(cells, GOLDEN, mark)[0] + np.arange(n)) % len(cells)
    cells["key"][crowd] = np.arange(1, n + 1)  # as if they had all been sent there
    learner.table.used += n
    assert learner.learn_one({"word": 1.0}, 1) == other.learn_one({"word": 1.0}, 1)
    assert learner.table.mixer != GOLDEN
    assert distances(learner.table.cells, learner.table.mixer).max() < 2**12
    assert learner.predict_one({"word": 1.0}) == other.predict_one({"word": 1.0}) != 0.0


@pytest.mark.parametrize("n_each", [1, 512])
@pytest.mark.parametrize("make", LEARNERS)
def test_calls_of_one_example_each_notice_that_keys_crowd(make, n_each, monkeypatch):
    monkeypatch.setattr(table, "SMALLEST", 2**15)  # so that it need not grow
    made, usual = make(Squared()), make(Squared())
    cells = made.table.cells
    crowd = np.arange(0 if n_each > 1 else int(FARTHEST + MOST_PROBES) + 1)  # there already
    cells["key"][crowd] = MADE_BEFORE[: len(crowd)] + np.uint64(1)
    made.table.used += len(crowd)
    for at in range(0, 2048 if n_each > 1 else 4, n_each):
        p, q = (
            learner.learn(batch(keys[at : at + n_each], n_each))
            for learner, keys in ((made, MADE), (usual, USUAL))
        )
        np.testing.assert_array_equal(p, q)
        n_probes = distances(made.table.cells, made.table.mixer).sum()
        assert n_probes <= int(FARTHEST) + int(MOST_PROBES) * made.table.used
    assert made.table.mixer != GOLDEN
    assert usual.table.mixer == GOLDEN


@pytest.mark.parametrize("make", LEARNERS)
def test_checkpoints_and_models_of_such_keys_are_read_into_tables_that_do_not_crowd(make):
    learner = make()
    learner.learn(batch(shuffled(MADE), 4))
    again = make.from_state(learner.state())
    model = Model.of(learner)
    for cells, mixer in ((again.table.cells, again.table.mixer), model._fixed._table):
        assert mixer != GOLDEN
        assert distances(cells, mixer).mean() <= int(MOST_PROBES)
    np.testing.assert_array_equal(again.predict(batch(MADE, 1)), learner.predict(batch(MADE, 1)))
    np.testing.assert_allclose(  # a learner of lanes predicts in single precision
        model.predict(batch(MADE, 1)), learner.predict(batch(MADE, 1)), rtol=1e-5, atol=1e-6
    )


def test_names_and_distinct_keys_are_found_by_another_number_each_time(monkeypatch):
    mixers = []

    def kept(random):
        mixers.append(random())
        return mixers[-1]

    for module in (name_table, distinct):
        random = module.random_mixer
        monkeypatch.setattr(module, "random_mixer", lambda random=random: kept(random))
    first, which = distinct.distinct(np.concatenate([MADE, MADE]))
    np.testing.assert_array_equal(first, np.arange(N))
    np.testing.assert_array_equal(which, np.tile(np.arange(N), 2))
    names = name_table.NameTable()
    names.enter(MADE, [f"n{i}" for i in range(N)], np.arange(N))
    assert list(names.of(MADE[:3])) == ["n0", "n1", "n2"]
    assert len(set(mixers)) == len(mixers) == 2
    assert GOLDEN not in mixers
