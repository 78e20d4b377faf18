"""The benchmarks as a user runs them, in small."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from benchmarks import bars, data, lines, shapes, streams, words
from benchmarks.__main__ import WORKLOADS
from benchmarks.files import Text
from benchmarks.lines import VALUES, Shape, Writer
from benchmarks.page import BEGIN, END, README, draw, page, with_figures
from benchmarks.results import Figure, Found, Row, about, as_json
from benchmarks.side_by_side import ONE_CORE, Plan, Spread, interleaved, placed, ratio
from benchmarks.split import split
from benchmarks.tools import bits_for, dwindle, vw
from dwindle._base.system import cores
from dwindle.data.formats.block import joined
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers import reference_parsers
from helpers.effort import FULL

ROOT = Path(__file__).parents[2]
LONG = () if FULL else ("shapes", "streams", "wide")  # 10 seconds and more even in small
FIGURES = [
    Figure("values %.7e", bars.FASTER, Spread(3, 2.5, 3.5), 4),
    Figure("words", bars.FASTER, Spread(1.25, 1.1, 1.5), 2),
    Figure("words", bars.PREDICTING, Spread(2, 1, 3), 2.5),
]
ROW = Row(
    "words",
    "dwindle",
    Spread(1.5, 1.4, 1.6),
    2.9,
    251.2,
    0.8,
    {"kept": 1234},
    "dwindle x",
    1.5,
    0.02,
)


def results_of(*workloads, others=0.02):
    settings = {"rounds": 3, "small": False, "case": "", "minutes": 24.5}
    rows = [ROW._replace(others=others)]
    found = [as_json(name, "Text.", Found("of all kinds", rows, FIGURES)) for name in workloads]
    return json.loads(json.dumps({"about": about(settings), "workloads": found}))


def test_the_page_says_where_the_time_of_a_case_that_is_short_goes():
    results = results_of("shapes")
    short = ROW._replace(contestant="dwindle, adaptive", split={"start-up": 0.62, "learning": 0.38})
    results["workloads"][0]["rows"] += as_json("shapes", "", Found("", [short], []))["rows"]
    [line] = [line for line in page(results).splitlines() if "worst of 2, words: 1.25" in line]
    assert "Learning: start-up 62%, learning 38%" in line


@pytest.mark.slow
def test_the_phases_of_a_command_are_all_of_its_time(tmp_path):
    text, model = tmp_path / "a.vw", tmp_path / "a.parquet"
    text.write_text("1 |f a b:2\n-1 |f c\n" * 50)
    learned = split(dwindle("train", text, "-m", model, "--quiet"), tmp_path)
    assert list(learned) == ["start-up", "learning", "waiting for examples", "the model"]
    predicted = split(dwindle("predict", model, text, "-o", tmp_path / "a.txt"), tmp_path)
    assert list(predicted) == ["start-up", "writing", "waiting for examples"]
    for shares in (learned, predicted):
        assert sum(shares.values()) == pytest.approx(1, abs=0.01)


def run(*names, **options):
    said = [f"--{name}={value}" for name, value in options.items()]
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *names, "--small", "--rounds=1", *said],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


@pytest.mark.slow
def test_start_up_is_measured_printed_and_written(tmp_path):
    results = tmp_path / "results.json"
    done = run("start", json=results, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(results.read_text())
    [workload] = found["workloads"]
    by_case = {(row["case"], row["contestant"]): row for row in workload["rows"]}
    lines = by_case["ten lines", "dwindle, adaptive"]
    assert all(row["seconds"]["median"] > 0 < row["processor"] for row in workload["rows"])
    assert lines["peak_mb"] > by_case["ten lines", "Vowpal Wabbit"]["peak_mb"] > 1
    assert lines["command"].startswith("dwindle train ten.vw -m ")
    assert "ten lines" in done.stdout
    assert found["about"]["versions"]["vowpalwabbit"] in done.stdout
    assert [*tmp_path.iterdir()] == [results]  # what was made is gone


def test_an_unknown_workload_is_refused():
    done = run("stop")
    assert done.returncode == 2
    assert "expected names out of shapes, streams, " in done.stderr
    assert done.stderr.endswith("got stop\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in {"start", *LONG}])
def test_each_workload_runs(name, tmp_path):
    results = tmp_path / "results.json"
    done = run(name, json=results, folder=tmp_path / "kept")
    assert done.returncode == 0, done.stderr
    [workload] = json.loads(results.read_text())["workloads"]
    assert workload["workload"] == name
    assert any(row["contestant"].startswith("dwindle") for row in workload["rows"])
    assert all(row["seconds"]["median"] > 0 for row in workload["rows"])
    assert not list((tmp_path / "kept").glob("tmp*"))  # models are gone


@pytest.mark.slow
def test_a_race_has_all_settings_of_both_and_keeps_its_data(tmp_path):
    results = tmp_path / "results.json"
    done = run("shapes", json=results, folder=tmp_path, case="^a model of ten$")
    assert done.returncode == 0, done.stderr
    found = json.loads(results.read_text())
    [workload] = found["workloads"]
    assert [row["contestant"] for row in workload["rows"]] == [
        "dwindle, adaptive",
        "dwindle, plain",
        "dwindle",
        "Vowpal Wabbit, -b that fits",
        "Vowpal Wabbit --sgd, -b that fits",
        "dwindle predict",
        "Vowpal Wabbit -t",
    ]
    fitting = workload["rows"][3]
    assert fitting["more"] == {"b": 4}  # ten features and a half
    assert fitting["command"].endswith(" --loss_function logistic -b 4 --quiet")
    assert {figure["what"] for figure in workload["figures"]} == {
        bars.FASTER,
        bars.PLAINLY,
        bars.BY_DEFAULT,
        bars.PREDICTING,
        bars.AS_LONG_AS_ONE,
    }
    ours, theirs = (row["more"]["auc_on_train"] for row in workload["rows"][5:])
    assert 0.6 < min(ours, theirs) > max(ours, theirs) - 0.1  # both did learn
    [text] = tmp_path.glob("*/a-model-of-ten-0.25.vw")
    assert text.stat().st_size >= 250_000
    assert "| a model of ten | " in page(found)


def test_a_process_that_fails_stops_the_run():
    with pytest.raises(subprocess.CalledProcessError, match="exit status 3"):
        interleaved({"bad": [sys.executable, "-c", "raise SystemExit(3)"]}, 1)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(ONE_CORE[0]), reason="no taskset here")
@pytest.mark.skipif(cores() == 1, reason="one core")
@pytest.mark.parametrize(("slow_on", "where"), [("> 1", ONE_CORE), ("== 1", ())])
def test_a_peer_runs_on_one_core_if_it_is_faster_there(slow_on, where):
    code = f"import os, time; time.sleep(3 * (len(os.sched_getaffinity(0)) {slow_on}))"
    assert placed([sys.executable, "-c", code]) == where


def test_contestants_take_turns_in_either_order_and_the_warm_up_is_not_counted():
    turns = []
    contestants = {name: lambda name=name: turns.append(name) for name in "ab"}
    runs = interleaved(contestants, 2)
    assert turns == [*"ab", *"ab", *"ba"]
    assert [len(each) for each in runs.values()] == [2, 2]
    turns.clear()
    interleaved(contestants, 1, warm_up=["b"])
    assert turns == [*"b", *"ab"]


def test_what_other_programs_use_is_counted():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        [run] = interleaved({"sleeps": lambda: time.sleep(0.3)}, 1)["sleeps"]
        other.kill()
    assert run.others > 0.05
    assert run.load >= 0


@pytest.mark.slow
def test_the_peak_of_a_process_is_its_own():
    block = "bytearray({}); import time; time.sleep(0.1)"
    large, small = ([sys.executable, "-c", f"x = {block.format(size)}"] for size in (2 * 10**8, 10))
    mine = bytearray(3 * 10**8)  # what this process has does not count
    runs = interleaved({"large": large, "small": small}, 1)
    assert runs["small"][0].peak_bytes < 10**8 < 2 * 10**8 < runs["large"][0].peak_bytes < 3 * 10**8
    assert mine


def test_a_ratio_is_that_of_medians_with_the_extremes_of_rounds():
    assert ratio([10, 20, 90], [5, 4, 30]) == Spread(4, 2, 5)


def test_a_goal_is_held_against_the_worst_of_its_figures():
    found = [
        (h.bar.limit, h.figure["case"], h.n, h.verdict) for h in bars.held(results_of("shapes"))
    ]
    assert found == [
        (2, "values %.7e", 1, bars.MET),
        (1.3, "words", 2, bars.WORK_ALONE),
        (3, "words", 1, bars.NOT_MET),
    ]
    assert [*bars.held(results_of("pipe"))] == []


def test_a_goal_at_most_is_met_from_below():
    bar = bars.Bar("start", "--help", bars.SECONDS, bars.AT_MOST, 0.3, "Start-up")
    assert bar.holds(0.3)
    assert not bar.holds(0.31)
    assert bar.share(0.15) == 2


def test_what_limits_a_goal_is_a_paragraph_of_the_page():
    found = (ROOT / "benchmarks/found.md").read_text()
    assert {bar.see for bar in bars.BARS} <= set(
        re.findall(r"^\*\*([\w -]+)\*\*", found, re.MULTILINE)
    )


def test_every_shape_has_a_goal():
    for case in (*shapes.SHAPES, shapes.REAL):
        whats = {bar.what for bar in bars.BARS if re.fullmatch(bar.cases, case)}
        assert {bars.FASTER, bars.PLAINLY, bars.PREDICTING} <= whats
    for case in shapes.CONTAINERS:
        assert not re.fullmatch(bars.BASE, case)


@pytest.mark.slow
def test_the_page_shows_every_goal_its_worst_figure_and_the_commands(tmp_path):
    results = results_of("shapes", "wide")
    text = page(results)
    for line in (
        "| shapes | values %.7e: 3 times as fast as Vowpal Wabbit (2.5 to 3.5) | 4 | at least 2 | met |  |",
        "| shapes | worst of 2, words: 1.25 times as fast as Vowpal Wabbit (1.1 to 1.5) | 2 | at least 1.3 | met excluding start-up | Learning |",
        "| shapes | words: 2 times as fast as Vowpal Wabbit in predicting (1 to 3) | 2.5 | at least 3 | not met | Start-up |",
        "| words | 1.25 (2.00) |  |  | 2.00 (2.50) |  |",
        "| words | 1.50, 2.90 |",
        "| words | dwindle | 1.5 | 0.8 | 2.9 | 251 | kept 1,234 |",
        "which is `python -m benchmarks shapes wide --rounds 3`.",
    ):
        assert f"\n{line}\n" in text
    assert "\n### shapes: of all kinds\n\nText.\n" in text
    assert "\n```\ndwindle x\n```\n" in text
    (tmp_path / "results.json").write_text(json.dumps(results))
    command = [sys.executable, "-m", "benchmarks.page", tmp_path / "results.json"]
    subprocess.run([*command, "--output", tmp_path], check=True, cwd=ROOT)
    assert (tmp_path / "performance.md").read_text() == text
    drawn = (tmp_path / "performance.svg").read_bytes()
    draw(results, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == drawn  # the same results, the same picture


def test_a_run_on_a_busy_machine_says_so_on_the_page_and_in_the_readme():
    readme = f"{BEGIN}\n{END}"
    quiet, busy = results_of("shapes"), results_of("shapes", others=0.4)
    assert [words.is_busy(each) for each in (quiet, busy)] == [False, True]
    assert "**The machine was busy" not in page(quiet)
    assert "**The machine was busy" in page(busy)
    assert "other programs used 0.40 processors on average" in page(busy)
    assert "busy" not in with_figures(readme, quiet)
    assert "busy" in with_figures(readme, busy)


# Data


def first_lines(path, shape, n):
    """Write a file of a shape with some lines."""
    at_once = n * shape.drawn
    with path.open("wb") as file, mock.patch.object(lines, "AT_ONCE", at_once):
        labels = Writer(shape).write(file, 0)
    assert len(labels) == n
    return labels


def counted_by_vw(path, *words):
    """Features that Vowpal Wabbit says it has read, without its constant."""
    command = vw("-d", path, "--loss_function", "logistic", *words)
    command.remove("--quiet")
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    examples, features = (
        int(re.search(rf"{what} = (\d+)", said.stdout + said.stderr)[1])
        for what in ("number of examples", "total feature number")
    )
    return examples, features - examples


def batch_of(path, **options):
    return joined(list(read([str(path)], ReadOptions(**options)))).batch


@pytest.mark.slow
@pytest.mark.parametrize("name", shapes.SHAPES)
def test_a_shape_is_read_alike_by_dwindle_an_independent_reader_and_vowpal_wabbit(name, tmp_path):
    path = tmp_path / "text.vw"
    labels = first_lines(path, shapes.SHAPES[name], 25)
    batch, expected = batch_of(path), reference_parsers.vw(path.read_bytes())
    features = [each for example in expected.examples for each in example.features]
    assert not expected.bad
    assert batch.key.tolist() == [key for _, _, key, _ in features]
    assert np.array_equal(batch.x, [x for *_, x in features])
    assert np.array_equal(batch.label > 0, labels)
    assert counted_by_vw(path) == (25, len(features))
    assert 0 not in batch.x


@pytest.mark.slow
@pytest.mark.parametrize(("name", "reading"), [("eat", streams.FOOD), ("clicks", streams.QUERIES)])
def test_both_tools_count_the_same_products(name, reading, tmp_path):
    path = tmp_path / "text.vw"
    if name == "eat":
        data.eat(path, 100, every_pair=True)
    else:
        streams._log(100, path)
    crossed = tuple(reading.ours[1].split("*"))
    batch = batch_of(path, interactions=(crossed,))
    assert counted_by_vw(path, *reading.theirs) == (100, len(batch.key))


def test_shapes_are_what_their_names_say(tmp_path):
    def of(name):
        first_lines(tmp_path / "text.vw", shapes.SHAPES[name], 25)
        return [line.split() for line in (tmp_path / "text.vw").read_text().splitlines()]

    for name, length in (("names above 16 bytes", 16), ("names above 32 bytes", 32)):
        names = {token.split(":")[0] for line in of(name) for token in line[2:]}
        assert length < min(map(len, names)) <= max(map(len, names)) < 2 * length + 10
    assert {line[1] for line in of("words without namespace")} == {"|"}
    assert {
        " ".join(token for token in line if "|" in token)
        for line in of("12 namespaces of one feature")
    } == {" ".join(f"|{letter}" for letter in "abcdefghijkl")}
    assert min(map(len, of("1,000 features a line and more"))) > 1000
    assert 70 < np.mean([*map(len, of("words"))]) < 80
    spelled = {token.partition(":")[2] for line in of("values mixed") for token in line[2:]}
    assert {"", "1"} < spelled
    assert any("e-" in each for each in spelled)
    assert any(each.startswith("-") for each in spelled)
    assert any(len(each) > 16 for each in spelled)
    assert len(VALUES) == 7


@pytest.mark.slow
def test_a_container_has_the_features_of_its_text(tmp_path):
    path = tmp_path / "text.vw"
    first_lines(path, Shape("%.7e"), 100)
    plan = Plan(1, tmp_path, tmp_path / "out")
    plan.out.mkdir()
    expected = batch_of(path)
    for container in ("gz", "zst", "svmlight"):
        what = shapes.CONTAINERS[container](Text(path, 40_000), plan)
        batch = batch_of(what.ours)
        assert np.array_equal(batch.x, expected.x)
        assert np.array_equal(batch.label, expected.label)
        if what.through:
            said = subprocess.run(what.through, capture_output=True, check=True).stdout
            assert said == path.read_bytes()


def test_the_bits_that_fit_leave_room_for_half_as_many_features_again():
    assert [bits_for(n) for n in (10, 40_000, 879_284, 10_400_000)] == [4, 16, 21, 24]
    assert [bits_for(n) for n in (85, 86)] == [7, 8]


@pytest.mark.parametrize("name", ["eat", "ads", "shape"])
def test_data_is_the_same_for_the_same_seed_and_is_read_with_the_labels_that_were_drawn(
    name, tmp_path
):
    def write(path, seed):
        if name == "shape":
            with path.open("wb") as file:
                return Writer(Shape()).write(file, 1, seed)
        return getattr(data, name)(path, 6_000, seed)

    first, second, other = (tmp_path / f"{k}.vw" for k in range(3))
    labels = write(first, 0)
    write(second, 0)
    write(other, 1)
    assert first.read_bytes() == second.read_bytes() != other.read_bytes()
    batches = [parsed.batch for parsed in read([str(first)])]
    assert np.array_equal(np.concatenate([batch.label for batch in batches]) > 0, labels)
    features = sum(len(batch.key) for batch in batches) / len(labels)
    assert features == pytest.approx({"eat": 12, "ads": 30, "shape": 77}[name], abs=1)
    assert 0.3 < labels.mean() < 0.7


def test_an_animal_eats_by_its_kind(tmp_path):
    path = tmp_path / "eat.vw"
    data.eat(path, 1000)
    for line in path.read_text().splitlines():
        label, _, animal, _, food, *others = line.split()
        eats = animal.startswith("Herbivore") == food.startswith("Plant")
        assert label == ("1" if eats else "-1")
        assert len(others) == 20


def test_the_docs_say_what_the_last_run_found():
    results = json.loads((ROOT / "docs/performance.json").read_text())
    assert (ROOT / "docs/performance.md").read_text() == page(results)
    readme = (ROOT / "README.md").read_text()
    assert with_figures(readme, results) == readme
    before, _, rest = readme.partition(BEGIN)
    figures, _, after = rest.partition(END)
    assert all(each.about in figures for each in README)
    assert not re.findall(r"\d+(?:\.\d+)? (?:%|(?:times|[kMG]B|m?s|seconds)\b)", before + after)
    assert not results["about"]["small"]
    assert not results["about"]["case"]
    assert {each.bar for each in bars.held(results)} == {*bars.BARS}


def test_the_readme_shows_the_worst_beside_the_best_between_two_marks():
    results = results_of("shapes")
    text = f"above\n{BEGIN}\nolder\n{END}\nbelow\n"
    found = with_figures(text, results)
    assert found.startswith(f"above\n{BEGIN}\n| times as fast | best case | worst case |")
    assert found.endswith(f"|\n{END}\nbelow\n")
    assert "| learning, beside Vowpal Wabbit | 3 (values %.7e) | 1.25 (words) |" in found
    assert "older" not in found
    assert with_figures(found, results) == found
    assert with_figures("no marks", results) == "no marks"
