"""`dwindle vw`: command lines of Vowpal Wabbit, run by both programs."""

import json
import re
import shlex
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dwindle.cli import COMMANDS, main
from dwindle.cli.vw_flags import DONE, FLAGS, REFUSED, UNNEEDED, read_flags
from dwindle.cli.vw_translation import translated
from helpers.commands import dwindle

ROOT = Path(__file__).parents[2]
N = 1500

HOUSE = """\
0 | price:.23 sqft:.25 age:.05 2006
1 2 'second_house | price:.18 sqft:.15 age:.35 1976
0 1 0.5 'third_house | price:.53 sqft:.32 age:.87 1924
"""


def examples(kind, seed):
    """Lines of ads, bids and a number, with labels that they decide, and the same as VW's JSON."""
    chance = np.random.default_rng(seed)
    ad, bid = chance.integers(8, size=N), chance.integers(5, size=N)
    x, noise = chance.integers(0, 100, N) / 100, chance.normal(size=N)
    score = 0.8 * (ad % 3) - 0.9 + 0.5 * (bid == 2) - x + 1.5 * ((ad == 1) & (bid == 3))
    label = {
        "two": np.where(score + 0.3 * noise > 0, 1, -1),
        "classes": np.digitize(score, [-0.7, 0.3]) + 1,
        "number": np.round(score + 0.1 * noise, 3),
        "count": chance.poisson(np.exp(score)),
    }[kind].tolist()
    rows = list(zip(label, ad.tolist(), bid.tolist(), x.tolist(), strict=True))
    text = [f"{y} 'row{i} |ads a{a} |bid b{b} |cost x:{v}\n" for i, (y, a, b, v) in enumerate(rows)]
    objects = [
        {"_label": y, "_tag": "t", "ads": {"id": f"a{a}"}, "bid": {f"b{b}": 1}, "cost": {"x": v}}
        for y, a, b, v in rows
    ]
    return "".join(text), "".join(f"{json.dumps(each)}\n" for each in objects), np.array(label)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder for each program, with the same data."""
    both = tmp_path_factory.mktemp("theirs"), tmp_path_factory.mktemp("ours")
    for folder in both:
        (folder / "house_dataset").write_text(HOUSE)
        for kind in ("two", "classes", "number", "count"):
            for name, seed in (("train", 1), ("test", 2)):
                text, objects, _ = examples(kind, seed)
                (folder / f"{kind}.{name}.dat").write_text(text)
                (folder / f"{kind}.{name}.json").write_text(objects)
    return both


def by_vw(folder, line):
    workspace = pytest.importorskip("vowpalwabbit").Workspace
    with chdir(folder):
        workspace(f"{line} --quiet").finish()


def predictions(folder, file):
    return np.array([line.split()[0] for line in (folder / file).read_text().splitlines()], float)


def error(kind, predicted):
    """What each kind of label is judged by: the log loss, the share of errors or the squares."""
    label = examples(kind, 2)[2]
    if kind == "two":
        return np.mean(np.log1p(np.exp(-label * predicted)))
    if kind == "classes":
        return np.mean(predicted != label)
    return np.mean((predicted - label) ** 2)


def _numbers(text):
    """The numbers of weights in VW's text of a model."""
    weights = re.split(r"^:\d+\n", text, flags=re.MULTILINE)[1]
    found = (re.search(r"(\d+):[-+.\de]+( .*)?$", line) for line in weights.splitlines())
    return {each[1] for each in found if each}


# From VW's tutorial, its wiki and its own tests, with other file names.
LINES = [
    ("number", "number.train.dat -f m"),
    ("number", "-d number.train.dat -f m -l 0.5 -c -k --passes 5 --holdout_off"),
    ("number", "number.train.dat -c -k --passes 4 -f m -q ab -b 22"),
    ("number", "-d number.train.dat --loss_function quantile --quantile_tau 0.5 -f m"),
    ("number", "--sgd -l 0.1 --power_t 0.5 --initial_t 10 -d number.train.dat -f m"),
    ("number", "--adaptive --normalized --invariant -d number.train.dat -f m -P 100"),
    ("number", "-d number.train.dat --noconstant -f m --cubic abc"),
    ("number", "-d number.train.dat -f m -q :: --random_seed 7 --hash all"),
    ("count", "-d count.train.dat --loss_function poisson -l 0.1 -f m"),
    ("two", "-d two.train.dat -f m --loss_function logistic"),
    ("two", "two.train.dat -c -k --passes 4 -f m --loss_function logistic --interactions ab -b 26"),
    ("two", "-d two.train.dat --loss_function=logistic --ftrl --ftrl_alpha 0.5 --ftrl_beta 1 -f m"),
    ("two", "--loss_function logistic -b18 -qab -f m two.train.dat"),
    ("two", "-d two.train.dat --loss_function logistic --l1 1e-6 -f m --readable_model r.txt"),
    ("two", "-d two.train.dat --loss_function logistic --passes 3 -k -c --holdout_period 5 -f m"),
    ("two", "-d two.train.dat --loss_function logistic --passes 9 -c -k --early_terminate 2 -f m"),
    ("two", "-d two.train.dat --loss_function logistic --ignore c -f m --invert_hash i.txt"),
    ("two", "--json -d two.train.json --loss_function logistic -f m"),
    ("two", "--json -q ab -d two.train.json --loss_function logistic -f m --save_resume"),
    ("classes", "--oaa 3 -d classes.train.dat --loss_function logistic -f m"),
    ("classes", "--oaa 3 classes.train.dat --loss_function logistic -k -c --passes 3 -q ab -f m"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "line"), LINES)
def test_a_command_line_of_vw_learns_about_as_well(folders, kind, line):
    theirs, ours = folders
    by_vw(theirs, line)
    dwindle("vw", *shlex.split(line), "--quiet", cwd=ours)
    form = "json" if "--json" in line else "dat"
    test = f"-t -i m -d {kind}.test.{form} -p p.txt" + (" --json" if form == "json" else "")
    by_vw(theirs, f"{test} {' '.join(re.findall(r'--loss_function[ =][a-z]+', line))}")
    dwindle("vw", *shlex.split(test), "--quiet", cwd=ours)
    label = examples(kind, 2)[2]
    predicted = [predictions(folder, "p.txt") for folder in folders]
    if kind == "count":  # VW writes the mean, dwindle the score before its link
        predicted = [predicted[0], np.exp(predicted[1])]
    there, here = (error(kind, each) for each in predicted)
    constant = {"two": np.log(2), "classes": 2 / 3}.get(kind, np.var(label))
    assert here < (0.9 if kind == "count" else 0.75) * constant
    assert here < 1.15 * there + 0.02
    if "readable_model" in line or "invert_hash" in line:
        file = re.findall(r"[ri]\.txt", line)[0]
        numbers = [_numbers((folder / file).read_text()) for folder in folders]
        assert numbers[1] <= numbers[0]


def test_the_tutorial_s_first_lines_run(folders):
    _, ours = folders
    done = dwindle("vw", "house_dataset", cwd=ours, text=True)
    assert "$ dwindle train house_dataset --model" in done.stderr
    dwindle(
        "vw",
        *shlex.split("house_dataset -l 10 -c --passes 25 --holdout_off -f house.model"),
        cwd=ours,
    )
    done = dwindle(
        "vw",
        *shlex.split("-i house.model -t house_dataset -p /dev/stdout --quiet"),
        cwd=ours,
        text=True,
    )
    assert [line.split()[1:] for line in done.stdout.splitlines()] == [
        [],
        ["second_house"],
        ["third_house"],
    ]


def test_probabilities_and_labels_are_what_link_and_binary_ask_for(folders):
    _, ours = folders
    dwindle(
        "vw", *shlex.split("-d two.train.dat --loss_function logistic -f links --quiet"), cwd=ours
    )
    dwindle(
        "vw",
        *shlex.split("-t -i links two.test.dat --link logistic -p a.txt -r b.txt --quiet"),
        cwd=ours,
    )
    dwindle("vw", *shlex.split("-t -i links two.test.dat --binary -p c.txt --quiet"), cwd=ours)
    probability, score, label = (predictions(ours, f"{each}.txt") for each in "abc")
    np.testing.assert_allclose(probability, 1 / (1 + np.exp(-score)), rtol=1e-6)
    assert set(label) == {-1.0, 1.0}
    assert (label == np.sign(score)).all()


def test_predictions_are_lines_of_text_whatever_the_file_is_called(folders):
    with chdir(folders[1]):
        dwindle(
            "vw",
            *[
                "two.train.dat",
                "--loss_function",
                "logistic",
                "-f",
                "named",
                "-p",
                "p.csv",
                "--quiet",
            ],
        )
    assert len(predictions(folders[1], "p.csv")) == N


def test_learning_on_takes_the_loss_of_the_model(folders):
    with chdir(folders[1]):
        dwindle("vw", *["two.train.dat", "--loss_function", "logistic", "-f", "first", "--quiet"])
        dwindle("vw", *["two.train.dat", "-i", "first", "-f", "second", "--quiet"])
        assert "Logistic" in dwindle("inspect", "second", text=True).stdout


def test_what_becomes_of_each_flag_is_said(folders):
    _, ours = folders
    done = dwindle(
        "vw",
        *shlex.split("-d two.train.dat -q ab -b 24 --passes 2 -c --l1 1e-4 -f m.vw"),
        cwd=ours,
        text=True,
    )
    told = done.stderr.splitlines()
    assert (
        "dwindle: -b 24: not needed: every feature has a weight of its own; --max-live N bounds them"
        in told
    )
    assert "dwindle: ab: the namespaces ads*bid" in told
    words = "train two.train.dat --model m.vw.parquet --format vw --interactions 'ads*bid' --loss squared --gravity 1e-4 --passes 2 --holdout 10"
    assert f"$ dwindle {words}" in told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("-d d.dat --nn 5", "--nn is not done here: only linear models are learned here."),
        ("-d d.dat --bfgs", "--bfgs is not done here: several `--passes`"),
        ("--dsjson d.json", "--dsjson is not done here: contextual bandits"),
        ("-d d.dat --cb_explore_adf", "--cb_explore_adf is not done here"),
        ("-d d.dat --frobnicate", "No such flag of Vowpal Wabbit here: --frobnicate"),
        ("-d d.dat -q abc", "--quadratic: expected 2 letters, got 'abc'"),
        ("-d two.train.dat -q az", "no namespace of the data begins with 'z'"),
        (
            "-d two.train.dat --loss_function expectile",
            "--loss_function expectile is not done here",
        ),
        ("-t d.dat", "-t tests a model: name it with -i"),
        ("-d", "-d needs a value: -d FILE"),
        ("--quiet=1", "--quiet takes no value, got '1'"),
        ("-d two.train.dat --link glf1 -p p", "--link glf1 is not done here"),
        ("-p p.txt", "standard input is read once"),
    ],
)
def test_a_flag_that_is_not_done_is_named_with_what_to_use(folders, line, told):
    done = dwindle("vw", *line.split(), cwd=folders[1], check=False, text=True)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_json_with_other_labels_is_refused_by_name(tmp_path):
    (tmp_path / "d.json").write_text('{"_label": {"Label": 1}, "a": {"x": 1}}\n')
    done = dwindle("vw", "--json", "-d", "d.json", cwd=tmp_path, check=False, text=True)
    assert done.returncode == 2
    assert "_label is an object: only examples with a number as _label are read" in done.stderr


def test_every_flag_that_is_taken_makes_words_of_dwindle_that_exist(tmp_path, folders):
    """The flags that are done, all at once or those that exclude each other apart."""
    _, ours = folders
    apart = {"--ftrl", "--ftrl_alpha", "--ftrl_beta", "-t", "--oaa", "--json", "--quiet"}
    values = {"FILE": "f", "AB": "ab", "ABC": "abc", "AB|ABC": "ab", "A": "a", "NAME": "hinge"}
    values |= {"identity|logistic": "logistic", "strings|all": "all"}
    lines = [
        [w for f in (*DONE, *UNNEEDED) if f.names[0] not in {*apart, "-d", "-i", "-r"} for w in (f.names[0], *([values.get(f.value, "3")] if f.value else []))],
        ["--ftrl", "--ftrl_alpha", "1", "--ftrl_beta", "1", "--oaa", "3", "-i", "m", "--quiet"],
        ["-t", "-i", "m", "-r", "f"],
    ]  # fmt: skip
    with chdir(ours):
        for line in lines:
            for words in translated([*line, "-d", "two.train.dat"], tmp_path).commands:
                command = main.get_command(None, words[0])
                command.make_context(
                    words[0], words[1:]
                )  # which refuses an option that is not there


def test_no_flag_is_listed_twice():
    assert len(FLAGS) == sum(len(flag.names) for flag in (*DONE, *UNNEEDED, *REFUSED))


def test_words_are_read_as_vw_reads_them():
    given = read_flags(["--l1=1e-6", "-l0.5", "-qab", "--loss-function", "hinge", "file"])
    assert [(each.flag.name, each.value) for each in given] == [
        ("l1", "1e-6"), ("learning_rate", "0.5"), ("quadratic", "ab"), ("loss_function", "hinge"), ("data", "file"),
    ]  # fmt: skip


def test_the_page_is_written_from_the_same_table():
    import runpy  # noqa: PLC0415  (only here)

    write = runpy.run_path(str(ROOT / "docs" / "write_from_vw.py"))
    page = (ROOT / "docs" / "from-vowpal-wabbit.md").read_text()
    assert write["tables"]() in page, "run: python docs/write_from_vw.py"


def test_help_needs_no_data():
    done = CliRunner().invoke(main, ["vw", "-h"])
    assert done.exit_code == 0
    assert "vw" in COMMANDS
