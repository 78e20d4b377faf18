"""A log of clicks: its lines, its words, its clicks, and what can be learned from it."""

import json
import math
import subprocess
from collections import Counter

import numpy as np
import pytest

from dwindle import Adaptive, Learner, Logistic, Truncation
from dwindle.datasets import ads as generating
from dwindle.datasets.ads import AD, OCTAVES, QUERY, Ads
from dwindle.model.model import Model
from dwindle.runs.metrics import auc
from helpers.commands import command, dwindle

FEW = 3000
MASK = 2**64 - 1


def text(seed=0, n=FEW, first=0):
    return b"".join(Ads(seed).text(n, first))


def parts(line):
    """The label, the words of the query and those of both ads with their values."""
    label, query, ads = line.split("|")
    values = (word.partition(":") for word in ads.split()[1:])
    return int(label), query.split()[1:], {x: float(v or 1) for x, _, v in values}


def examples(**which):
    return [parts(line) for line in text(**which).decode().splitlines()]


def test_a_seed_always_gives_the_same_log_and_another_seed_another():
    assert text(seed=3) == text(seed=3)
    assert not set(text(seed=3).splitlines()) & set(text(seed=4).splitlines())


def test_a_log_is_the_same_however_it_is_cut(monkeypatch):
    whole = text()
    assert text(n=1000) + text(n=1500, first=1000) + text(n=FEW - 2500, first=2500) == whole
    log = Ads()
    monkeypatch.setattr(generating, "AT_ONCE", 7)
    assert b"".join(log.text(FEW)) == whole
    monkeypatch.undo()
    assert log.least_errors / FEW == Ads().bayes_error(FEW)


def test_no_two_examples_are_alike_and_the_log_goes_on_past_two_to_the_32():
    lines = (text(n=50_000) + text(n=50_000, first=2**32)).splitlines()
    assert len(set(lines)) == len(lines) == 100_000


def test_no_word_comes_twice_and_no_word_is_of_both_ads():
    most_words = 0
    for label, query, ads in examples():
        assert label in {-1, 1}
        assert len(set(query)) == len(query) <= QUERY
        values = Counter(ads.values())
        assert set(values) <= {1.0, -1.0}
        assert max(values.values()) <= AD
        most_words = max(most_words, len(ads))
    assert most_words == 2 * AD
    for line in text().decode().splitlines():
        words = [word.partition(":")[0] for word in line.split("|a")[1].split()]
        assert len(set(words)) == len(words)


def test_dwindle_reads_every_line_and_makes_the_products():
    log = examples()
    batch = next(Ads().batches(FEW))
    assert batch.n_examples == FEW == len(log)
    assert batch.label.tolist() == [label for label, *_ in log]
    sizes = [len(query) + len(ads) + len(query) * len(ads) for _, query, ads in log]
    assert np.diff(batch.start).tolist() == sizes
    _, query, ads = log[0]
    names = [f"q\0{w}" for w in query] + [f"a\0{x}" for x in ads]
    names += [f"q*a\0{w}*{x}" for w in query for x in ads]
    values = [1.0] * len(query) + list(ads.values()) * (1 + len(query))
    found = dict(zip(batch.names[: sizes[0]], batch.x.tolist(), strict=False))
    assert found == dict(zip(names, values, strict=True))


def test_most_features_come_only_once_and_some_come_often():
    key = np.concatenate([batch.key for batch in Ads().batches(10_000)])
    _, times = np.unique(key, return_counts=True)
    assert np.mean(times == 1) > 0.95
    assert (times >= 100).sum() > 200


def test_vowpal_wabbit_reads_the_same_words():
    vw = pytest.importorskip("vowpalwabbit").Workspace("--quiet --noconstant")
    for line, (label, query, ads) in zip(
        text(n=200).decode().splitlines(), examples(n=200), strict=True
    ):
        example = vw.example(line)
        assert example.get_simplelabel_label() == label
        assert [example.num_features_in(space) for space in "qa"] == [len(query), len(ads)]
        assert [example.feature_weight("a", k) for k in range(len(ads))] == list(ads.values())
        vw.finish_example(example)
    vw.finish()


@pytest.mark.slow
def test_words_come_by_zipf_s_law():
    """P(r) = log2(1 + 1/r) / 27, and each octave of ranks has the same share."""
    log = examples(n=60_000)
    words = np.array([int(w[1:]) for _, query, _ in log for w in query])
    n = QUERY * len(log)  # a word that came twice is left out: only the most frequent feel it
    for r in (5, 10, 100):
        expected = n * math.log2(1 + 1 / r) / OCTAVES
        assert abs((words == r).sum() - expected) < 5 * math.sqrt(expected) + 0.03 * expected
    share = np.bincount(np.log2(words).astype(int), minlength=OCTAVES) / n
    assert len(share) == OCTAVES
    assert share[4:] == pytest.approx(np.full(OCTAVES - 4, 1 / OCTAVES), rel=0.05)
    within = np.log2(words[words >= 1024]) % 1  # nearly no step between the ranks
    assert np.histogram(within, 10, (0, 1))[0] / len(within) == pytest.approx(
        np.full(10, 0.1), rel=0.03
    )


def mixed(h):
    """Splitmix64, on Python's integers."""
    h = h + 0x9E3779B97F4A7C15 & MASK
    h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & MASK
    h = (h ^ h >> 27) * 0x94D049BB133111EB & MASK
    return h ^ h >> 31


def planted(truth, w, x):
    """Of one in four of the frequent, 1 to 2 with a sign; w = 0 stands for no word."""
    h = mixed(mixed(truth + w) + x) if max(w, 1) * x <= 2**13 else 1 << 33
    return 0.0 if (h >> 33) % 4 else (1 if h >> 63 else -1) * (1 + (h & 2**32 - 1) / 2**32)


def margins(log, seed=0):
    """The sum of what is planted for each example."""
    truth = mixed(MASK ^ mixed(seed))
    for _, query, ads in log:
        ranks = [0, *(int(w[1:]) for w in query)]
        yield sum(v * planted(truth, w, int(x[1:])) for x, v in ads.items() for w in ranks)


@pytest.mark.slow
def test_clicks_have_the_chances_that_were_planted_and_so_the_least_error():
    n = 20_000
    log = examples(n=n)
    label = np.array([label for label, *_ in log])
    margin = np.array(list(margins(log)))
    chance = 1 / (1 + np.exp(-margin))
    assert np.minimum(chance, 1 - chance).mean() == pytest.approx(Ads().bayes_error(n), rel=1e-9)
    wrong = np.mean(np.sign(margin) != label)
    assert abs(wrong - Ads().bayes_error(n)) < 4 * math.sqrt(0.25 / n)
    assert 0.1 < wrong < 0.2
    for low in np.arange(-4.0, 4.0):
        these = (margin >= low) & (margin < low + 1)
        sampling = 4 * math.sqrt(0.25 / these.sum())
        assert abs(np.mean(label[these] == 1) - chance[these].mean()) < sampling


@pytest.mark.parametrize("n", [0, -1])
def test_of_no_clicks_there_is_no_share_that_is_wrong(n):
    with pytest.raises(ValueError, match=f"n must be 1 or more, got {n}"):
        Ads().bayes_error(n)


def test_what_is_planted_is_twenty_thousand_weights():
    """Of 2^54 words and products that there are, only 83,000 are frequent enough."""
    products = ((w, x) for w in range(2**13 + 1) for x in range(1, 2**13 // max(w, 1) + 1))
    weights = np.array([planted(mixed(5), w, x) for w, x in products])
    there = weights[weights != 0]
    assert len(weights) == pytest.approx(83_000, rel=0.01)
    assert len(there) / len(weights) == pytest.approx(1 / 4, rel=0.03)
    assert abs(there.mean()) < 0.04
    assert 1 <= np.abs(there).min() < 1.01
    assert 1.99 < np.abs(there).max() < 2


@pytest.mark.slow
def test_a_learner_finds_what_is_planted():
    """Its AUC goes most of the way from chance, 0.5, to that of who knows the weights."""
    n, n_test = 100_000, 10_000
    log = Ads()
    learner = Learner(Logistic(), Truncation(gravity=1e-7), Adaptive())
    for batch in log.batches(n):
        learner.learn(batch)
    test = examples(n=n_test, first=n)
    label = np.array([label for label, *_ in test], np.float32)
    known = auc(np.array(list(margins(test))), label)
    found = auc(np.concatenate([learner.predict(b) for b in log.batches(n_test, n)]), label)
    assert known > 0.9
    assert found - 0.5 > 0.65 * (known - 0.5)


def test_the_command_writes_what_the_library_does_and_tells_the_least_error(tmp_path):
    out = tmp_path / "ads.vw"
    done = dwindle(
        "generate",
        "ads",
        "-n",
        "5000",
        "--seed",
        "9",
        "--first",
        "70",
        "-o",
        out,
        "--json",
        check=True,
    )
    assert out.read_bytes() == text(seed=9, n=5000, first=70)
    told = json.loads(done.stderr)
    assert told == {
        "examples": 5000, "first": 70, "seed": 9, "bytes_out": out.stat().st_size,
        "bayes_error": Ads(9).bayes_error(5000, 70),
    }  # fmt: skip
    piped = dwindle("generate", "ads", "-n", "5000", "--seed", "9", "--first", "70")
    assert piped.stdout == out.read_bytes()
    assert f"Bayes error {told['bayes_error']:.2%}" in piped.stderr.decode()


@pytest.mark.slow
def test_training_reads_the_log_from_a_pipe(tmp_path):
    model = tmp_path / "m.parquet"
    dwindle("train", "-", "--interactions", "q*a", "-q", "-m", model, stdin=text(n=500))
    assert any(name.startswith("q*a") for name in map(str, Model.load(model).weights()))


def test_a_closed_pipe_ends_the_log_in_silence():
    generating = command("generate", "ads", "-n", "100000000")
    with subprocess.Popen(generating, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as going:
        assert going.stdout.readline() == text(n=1)
        going.stdout.close()
        told = going.stderr.read().splitlines()
        assert all(b"compiling" in line for line in told)  # a first run may say that
        assert going.wait() == 141


def test_a_log_that_cannot_be_is_told_in_one_line(tmp_path):
    done = dwindle("generate", "ads", "-o", tmp_path / "no" / "ads.vw", check=False)
    assert done.returncode == 1
    assert b"there is no folder" in done.stderr
    with pytest.raises(ValueError, match="seed must be"):
        Ads(-1)
