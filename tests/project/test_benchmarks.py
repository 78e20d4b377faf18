"""The benchmarks as a user runs them, in small."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import bars, data
from benchmarks.__main__ import WORKLOADS
from benchmarks.page import BEGIN, END, README, draw, page, with_figures
from benchmarks.rcv1 import packed_by
from benchmarks.results import MET, NOT_MET, WORK_ALONE, Figure, Found, Row, about, as_json, verdict
from benchmarks.side_by_side import Spread, interleaved, ratio
from dwindle.data.stream import read
from helpers.effort import FULL

ROOT = Path(__file__).parents[2]
LONG = () if FULL else ("ads", "eat", "lanes", "rcv1", "wide")  # 10 seconds and more even in small
FIGURES = [
    Figure("text", bars.FASTER_THAN_VW, Spread(6, 5, 7), 9),
    Figure("cached", bars.FASTER_THAN_VW, Spread(6, 5, 7), 9),
    Figure("predict", bars.FASTER_THAN_VW, Spread(4, 3, 7), 4.5),
]


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
    lines = by_case["ten lines", "dwindle"]
    assert all(row["seconds"]["median"] > 0 < row["processor"] for row in workload["rows"])
    assert lines["peak_mb"] > by_case["ten lines", "Vowpal Wabbit"]["peak_mb"] > 1
    assert lines["command"].startswith("dwindle train ten.vw -m ")
    assert "ten lines" in done.stdout
    assert found["about"]["versions"]["vowpalwabbit"] in done.stdout
    assert [*tmp_path.iterdir()] == [results]  # the data is gone


def test_an_unknown_workload_is_refused():
    done = run("stop")
    assert done.returncode == 2
    assert "expected names out of eat, rcv1, " in done.stderr
    assert done.stderr.endswith("got stop\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in {"start", *LONG}])
def test_each_workload_runs(name, tmp_path):
    results = tmp_path / "results.json"
    done = run(name, json=results, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [workload] = json.loads(results.read_text())["workloads"]
    assert workload["workload"] == name
    assert "dwindle" in {row["contestant"] for row in workload["rows"]}
    assert all(row["seconds"]["median"] > 0 for row in workload["rows"])
    wanted = {(case, what) for of, case, what in bars.BARS if of == name}
    held = {(figure["case"], figure["what"]) for figure in workload["figures"] if figure["bar"]}
    assert held == wanted if name != "growth" else not held  # it has bars from 10^6 on
    assert [*tmp_path.iterdir()] == [results]


def test_a_process_that_fails_stops_the_run():
    with pytest.raises(subprocess.CalledProcessError, match="exit status 3"):
        interleaved({"bad": [sys.executable, "-c", "raise SystemExit(3)"]}, 1)


def test_contestants_take_turns_and_the_first_round_is_not_counted():
    turns = []
    runs = interleaved({"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, 2)
    assert turns == ["a", "b"] * 3
    assert [len(each) for each in runs.values()] == [2, 2]


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


def test_a_bar_is_met_by_the_whole_command_or_by_work_alone_or_not():
    said = [verdict("eat", figure, FIGURES) for figure in FIGURES]
    assert said == [MET, WORK_ALONE, NOT_MET]
    assert verdict("eat", Figure("other", bars.SECONDS, Spread(1, 1, 1)), FIGURES) == ""
    slow, fast = (Figure("--help", bars.SECONDS, Spread(s, s, s)) for s in (0.31, 0.3))
    assert verdict("start", slow, [slow]) == NOT_MET
    assert verdict("start", fast, [fast]) == MET


def test_of_two_bars_for_parsing_one_is_enough():
    fast = Figure("parsing", bars.MB_A_CORE, Spread(801, 800, 802))
    slow = Figure("parsing", bars.OF_WC, Spread(0.1, 0.1, 0.1))
    assert [verdict("rcv1", figure, [fast, slow]) for figure in (fast, slow)] == [MET, MET]
    assert verdict("rcv1", slow, [slow]) == NOT_MET


@pytest.mark.slow
def test_the_page_shows_every_figure_its_bar_and_the_commands(tmp_path):
    row = Row(
        "text", "dwindle", Spread(1.5, 1.4, 1.6), 2.9, 251.2, 0.8, {"kept": 1234}, "dwindle x"
    )
    found = Found("who eats what", [row], FIGURES)
    results = {
        "about": about({"rounds": 5, "small": False}),
        "workloads": [
            as_json("eat", "Eaten.", found),
            as_json("wide", "W.", Found("wide", [row], [])),
        ],
    }
    results = json.loads(json.dumps(results))
    text = page(results)
    for line in (
        "| eat | text | 6 times as fast as Vowpal Wabbit (5 to 7) | 9 | at least 5 | met |",
        "| eat | cached | 6 times as fast as Vowpal Wabbit (5 to 7) | 9 | at least 8 | met excluding start-up |",
        "| eat | predict | 4 times as fast as Vowpal Wabbit (3 to 7) | 4.5 | at least 5 | not met |",
        "| text | dwindle | 1.5 | 0.8 | 2.9 | 251 | kept 1,234 |",
        "which is `python -m benchmarks eat wide --rounds 5`.",
    ):
        assert f"\n{line}\n" in text
    assert "\n### eat: who eats what\n\nEaten.\n" in text
    assert "\n```\ndwindle x\n```\n" in text
    (tmp_path / "results.json").write_text(json.dumps(results))
    command = [sys.executable, "-m", "benchmarks.page", tmp_path / "results.json"]
    subprocess.run([*command, "--output", tmp_path], check=True, cwd=ROOT)
    assert (tmp_path / "performance.md").read_text() == text
    drawn = (tmp_path / "performance.svg").read_bytes()
    draw(results, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == drawn  # the same results, the same picture


@pytest.mark.parametrize("name", ["eat", "ads", "rcv1"])
def test_data_is_the_same_for_the_same_seed_and_is_read_with_the_labels_that_were_drawn(
    name, tmp_path
):
    def write(path, seed):
        if name == "rcv1":
            with path.open("wb") as file:
                return data.Rcv1().write(file, 1, seed)
        return getattr(data, name)(path, 6_000, seed)

    first, second, other = (tmp_path / f"{k}.vw" for k in range(3))
    labels = write(first, 0)
    write(second, 0)
    write(other, 1)
    assert first.read_bytes() == second.read_bytes() != other.read_bytes()
    batches = [parsed.batch for parsed in read([str(first)])]
    assert np.array_equal(np.concatenate([batch.label for batch in batches]) > 0, labels)
    features = sum(len(batch.key) for batch in batches) / len(labels)
    assert features == pytest.approx({"eat": 12, "ads": 30, "rcv1": 77}[name], abs=1)
    assert 0.3 < labels.mean() < 0.7


@pytest.mark.parametrize("program", ["gzip", "zstd"])
def test_without_the_program_arrow_compresses_and_decompresses(program, tmp_path, monkeypatch):
    text, packed = tmp_path / "text", tmp_path / "packed"
    text.write_bytes(b"1 |f a\n" * 10_000)
    monkeypatch.setenv("PATH", "")
    command = packed_by(program, text, packed)
    assert command[0] == sys.executable
    with pa.input_stream(packed, compression=program) as file:
        assert file.read() == text.read_bytes()
    subprocess.run(command, check=True)
    packed.write_bytes(text.read_bytes())  # it does read it
    assert subprocess.run(command, check=False, capture_output=True).returncode


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
    assert figures.count(" times as fast as ") == len(README) <= 4
    assert not re.findall(r"\d+(?:\.\d+)? (?:%|(?:times|[kMG]B|m?s|seconds)\b)", before + after)
    assert not results["about"]["small"]


def test_the_readme_s_figures_are_written_between_two_marks():
    results = {"workloads": [as_json("eat", "", Found("t", [], FIGURES))]}
    text = f"above\n{BEGIN}\nolder\n{END}\nbelow\n"
    found = with_figures(text, results)
    assert found.startswith(f"above\n{BEGIN}\n|  | dwindle is |")
    assert found.endswith(f"|\n{END}\nbelow\n")
    assert "6 times as fast as Vowpal Wabbit" in found
    assert "older" not in found
    assert with_figures(found, results) == found
    assert with_figures("no marks", results) == "no marks"
