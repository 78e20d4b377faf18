"""A model in other programs predicts what it predicts here: each runs the real one."""

import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import dwindle
from dwindle import DataError, ReadOptions, SettingError, TrainSettings
from dwindle.algorithm.losses import boundary
from dwindle.data.frames import read_frame
from dwindle.data.options import as_before
from dwindle.data.schema import ColumnKinds
from dwindle.features.names import shown
from dwindle.model.export.linear import linear_of
from dwindle.model.export.targets import TARGETS
from dwindle.model.loading import load_model
from dwindle.runs.predict import conversion
from helpers.commands import dwindle as command

ROOT = Path(__file__).parents[2]
# What ends a string, a comment or a script somewhere, or is not ASCII.
NASTY = ["it's", 'a"b', "back\\slash", "größe→€", "*/", "</script>", "x=y", "??/", "%d*2", "a^b"]
CLOSE = {"rtol": 1e-6, "atol": 1e-6}
N = 400


def table(kind):
    """Rows of a category, a number and a category, and labels that they decide."""
    chance = np.random.default_rng(5)
    ad, size, place = (
        chance.integers(10, size=N),
        chance.integers(-3, 4, N),
        chance.integers(3, size=N),
    )
    truth = 0.7 * (ad % 3) - 0.4 * size + (place == 1) - (ad == 4) * size
    label = {
        "classes": np.digitize(truth, [-0.5, 1.0]).astype(str),
        "number": truth,
        "share": np.clip(truth / 4 + 0.5, 0, 1),
        "count": chance.poisson(np.exp(truth / 4)),
    }.get(kind, np.where(truth > chance.normal(size=N), "yes", "no"))
    return pa.table(
        {
            'it\'s "ad"': [NASTY[i] for i in ad],
            "size": pa.array(size * 0.25, pa.float32()),
            "größe": [[None, "p", "*/"][i] for i in place],
            "label": label,
        }
    )


AD = 'it\'s "ad"'
MODELS = {
    "names": ("two", {}, ()),
    "interactions": ("two", {}, ((AD, "size"), (AD, "größe"), (AD, "größe", "size"), ("size", "size"))),
    "several classes": ("classes", {"loss": "logistic"}, (("größe", "size"),)),
    "intercept": ("number", {"loss": "squared"}, ()),
    "clipped": ("share", {"loss": "clipped-squared"}, ()),
    "counts": ("count", {"loss": "poisson", "learning_rate": 0.1}, ()),
    "margins": ("two", {"loss": "hinge", "intercept": False}, ()),
    "clipped classes": ("two", {"loss": "clipped-squared", "update": "plain"}, ()),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def trained(folder):
    @cache
    def made(name):
        kind, settings, interactions = MODELS[name]
        rows = table(kind)
        pa.parquet.write_table(rows, folder / f"{name}.rows.parquet")
        reading = ReadOptions(interactions=interactions)
        given = TrainSettings(gravity=1e-4, reading=reading, **settings)
        dwindle.train([str(folder / f"{name}.rows.parquet")], folder / f"{name}.parquet", given)
        model = load_model(folder / f"{name}.parquet")
        how = as_before(model.metadata["reading"], ReadOptions())
        batch = read_frame(rows, how, ColumnKinds(None, how.schema)).batch
        assert len(model) > 8
        return model, rows, np.reshape(model.predict(batch), (N, -1))

    return made


@pytest.fixture(params=list(MODELS))
def case(request, trained):
    return request.param, *trained(request.param)


def by_name(model, rows):
    """The features of each row, without products, as pairs of a name and a value."""
    how = as_before(model.metadata["reading"] | {"interactions": []}, ReadOptions())
    batch = read_frame(rows, how, ColumnKinds(None, how.schema)).batch
    names = [*map(shown, batch.names)]
    return [
        list(zip(names[a:b], batch.x[a:b].tolist(), strict=True))
        for a, b in pairwise(batch.start.tolist())
    ]


def means(model, scores):
    linear = linear_of(model)
    return linear.predicted(scores if linear.classes else scores[:, 0]).reshape(scores.shape)


def rows_as_dicts(rows):
    return rows.drop_columns("label").to_pylist()


def test_onnxruntime_scores_columns_as_the_model(case, folder):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    name, model, rows, expected = case
    dwindle.export(model, folder / "m.onnx")
    session = runtime.InferenceSession(folder / "m.onnx")
    columns = {
        "size": rows["size"].to_numpy()[:, None],
        AD: np.array(rows[AD].to_pylist(), object)[:, None],
        "größe": np.array([each or "" for each in rows["größe"].to_pylist()], object)[:, None],
    }
    found = session.run(None, {each.name: columns[each.name] for each in session.get_inputs()})
    np.testing.assert_allclose(found[0], expected, **CLOSE)
    if name in {"names", "interactions", "several classes", "counts"}:
        np.testing.assert_allclose(found[1], means(model, expected), **CLOSE)


def test_onnxruntime_scores_features_by_name_as_the_model(case, folder):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    _, model, rows, expected = case
    dwindle.export(model, folder / "f.onnx", "onnx-features")
    session = runtime.InferenceSession(folder / "f.onnx")
    examples = by_name(model, rows)
    width = max(map(len, examples))
    feature, value = np.full((N, width), "", object), np.zeros((N, width), np.float32)
    for i, example in enumerate(examples):
        for k, (one, x) in enumerate(example):
            feature[i, k], value[i, k] = one, x
    found = session.run(["score"], {"feature": feature, "value": value})
    np.testing.assert_allclose(found[0], expected, **CLOSE)


def in_sqlite(rows, statements, query):
    with closing(sqlite3.connect(":memory:")) as base:
        names = ", ".join('"' + each.replace('"', '""') + '"' for each in rows.column_names)
        base.execute(f"CREATE TABLE rows ({names})")
        marks = ", ".join("?" * rows.num_columns)
        base.executemany(
            f"INSERT INTO rows VALUES ({marks})", [tuple(r.values()) for r in rows.to_pylist()]
        )
        base.executescript(statements)
        cursor = base.execute(query)
        titles = [each[0] for each in cursor.description]
        return [dict(zip(titles, row, strict=True)) for row in cursor]


def in_duckdb(rows, statements, query):
    base = pytest.importorskip("duckdb").connect()
    base.register("given", rows)
    base.execute("CREATE TABLE rows AS SELECT * FROM given")
    if statements:
        base.execute(statements)
    return base.sql(query).to_arrow_table().to_pylist()


@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_sql_adds_scores_to_the_rows_of_a_table(case, folder, database):
    _, model, rows, expected = case
    dwindle.export(model, folder / "m.sql", table="rows")
    found = database(rows, "", (folder / "m.sql").read_text())
    scores = [each for each in found[0] if each.startswith("score")]
    np.testing.assert_allclose([[r[s] for s in scores] for r in found], expected, **CLOSE)
    mean = [each for each in found[0] if each.startswith(("probability", "prediction"))]
    if mean:
        np.testing.assert_allclose(
            [[r[s] for s in mean] for r in found], means(model, expected), **CLOSE
        )
    assert [r["size"] for r in found] == rows["size"].to_pylist()


@pytest.mark.parametrize("database", [in_sqlite, in_duckdb])
def test_sql_joins_features_with_a_table_of_weights(case, folder, database):
    _, model, rows, expected = case
    dwindle.export(model, folder / "join.sql", "sql-join", table="rows")
    long = [(i, *each) for i, example in enumerate(by_name(model, rows)) for each in example]
    features = pa.table(
        dict(zip(("example", "feature", "value"), zip(*long, strict=True), strict=True))
    )
    query = "SELECT * FROM rows_scores ORDER BY example, class"
    found = database(features, (folder / "join.sql").read_text(), query)
    at = np.unique([i for i, *_ in long])  # who has no feature is in no row
    scores = np.reshape([row["score"] for row in found], (len(at), -1))
    np.testing.assert_allclose(scores, expected[at], **CLOSE)


def test_json_says_every_term(case, folder):
    _, model, rows, expected = case
    dwindle.export(model, folder / "m.json")
    said = json.loads((folder / "m.json").read_text())
    found = []
    for example in by_name(model, rows):
        x = dict(example)
        score = np.array(said["intercept"], float)
        for term in said["terms"]:
            names = [f"{space}^{name}" if space else name for space, name in term["factors"]]
            score = score + np.array(term["weight"]) * np.prod([x.get(each, 0.0) for each in names])
        found.append(np.reshape(score, -1))
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_runs_the_function_on_rows(case, folder):
    name, model, rows, expected = case
    dwindle.export(model, folder / f"{name}.js")
    assert "</script>" not in (folder / f"{name}.js").read_text().split("=> {", 1)[1]
    script = (
        f"const m = require({json.dumps(str(folder / f'{name}.js'))});"
        f"const rows = {json.dumps(rows_as_dicts(rows))};"
        "console.log(JSON.stringify(rows.map((r) => [m.score(r), m.predict(r)])));"
    )
    done = subprocess.run(["node", "-"], input=script.encode(), capture_output=True, check=True)  # noqa: S607  (whichever is there)
    scores, predictions = zip(*json.loads(done.stdout), strict=True)
    np.testing.assert_allclose(np.reshape(scores, (N, -1)), expected, **CLOSE)
    np.testing.assert_allclose(np.reshape(predictions, (N, -1)), means(model, expected), **CLOSE)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.slow
def test_a_c_program_scores_features_as_the_model(trained, folder):
    for name in MODELS:
        model, rows, expected = trained(name)
        dwindle.export(model, folder / "m.h")
        (folder / "main.c").write_text(C_PROGRAM)
        flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        subprocess.run(["cc", *flags, "main.c", "-o", "scored", "-lm"], cwd=folder, check=True)  # noqa: S607  (whichever is there)
        lines = [
            "".join(f"{one}\t{value!r}\n" for one, value in example) + "\n"
            for example in by_name(model, rows)
        ]
        done = subprocess.run(
            [folder / "scored"], input="".join(lines).encode(), capture_output=True, check=True
        )
        found = np.reshape(np.array(done.stdout.split(), float), (N, 2, -1))
        np.testing.assert_allclose(found[:, 0], expected, **CLOSE)
        np.testing.assert_allclose(found[:, 1], means(model, expected), **CLOSE)


C_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include "m.h"
int main(void) {
  static char text[64][256];
  char line[256];
  dwindle_feature x[64];
  size_t n = 0;
  while (fgets(line, sizeof line, stdin)) {
    char *tab = strchr(line, '\t');
    if (tab) {
      *tab = 0;
      strcpy(text[n], line);
      x[n].name = text[n];
      x[n].value = atof(tab + 1);
      n++;
      continue;
    }
    double score[DWINDLE_CLASSES];
    dwindle_score(x, n, score);
    for (int i = 0; i < DWINDLE_CLASSES; i++) printf("%.17g ", score[i]);
    dwindle_predict(score);
    for (int i = 0; i < DWINDLE_CLASSES; i++) printf("%.17g ", score[i]);
    printf("\n");
    n = 0;
  }
  (void)dwindle_classes;
  return 0;
}
"""


def test_a_scikit_learn_pipeline_predicts_as_the_model(case):
    name, model, rows, expected = case
    pipeline = dwindle.to_sklearn(model)
    given = [{k: v for k, v in row.items() if v is not None} for row in rows_as_dicts(rows)]
    if name in {"intercept", "clipped", "counts"}:
        np.testing.assert_allclose(pipeline.predict(given), means(model, expected)[:, 0], **CLOSE)
        return
    scores = np.reshape(pipeline.decision_function(given), (N, -1))
    np.testing.assert_allclose(scores + boundary(model.loss), expected, **CLOSE)
    label = conversion(model, "label")
    assert (
        pipeline.predict(given) == label(expected if name == "several classes" else expected[:, 0])
    ).all()
    if name not in {"margins", "clipped classes"}:
        found = pipeline.predict_proba(given)
        found = found if name == "several classes" else found[:, 1:]
        np.testing.assert_allclose(found, means(model, expected), **CLOSE)


# Vowpal Wabbit


def vw_lines(kind):
    rows = table(kind).to_pylist()
    label = {"yes": 1, "no": -1}
    return [
        f"{label.get(r['label'], r['label']) if kind != 'classes' else int(r['label']) + 1} "
        f"|a {r[AD]} 7 |bold size:{r['size']} {r['größe'] or 'none'}\n"
        for r in rows
    ]


VW_MODELS = {
    "names": ("two", {}, ()),
    "interactions": ("two", {}, (("a", "bold"), ("bold", "a", "a"))),
    "several classes": ("classes", {"loss": "logistic"}, (("a", "bold"),)),
    "intercept": ("number", {"loss": "squared"}, ()),
    "clipped": ("share", {"loss": "clipped-squared"}, ()),
}


@pytest.fixture(params=list(VW_MODELS))
def from_vw_text(request, folder):
    kind, settings, interactions = VW_MODELS[request.param]
    data, path = folder / "rows.vw", folder / "vw.parquet"
    data.write_text("".join(vw_lines(kind)))
    reading = ReadOptions(interactions=interactions[:1])
    dwindle.train([str(data)], path, TrainSettings(gravity=1e-4, reading=reading, **settings))
    scores = [p.prediction for p in dwindle.predict(path, [str(data)], kind="score")]
    return path, data.read_text().splitlines(), np.concatenate(scores).reshape(N, -1)


def vw_with(text):
    """Vowpal Wabbit with the weights of its readable model."""
    workspace = pytest.importorskip("vowpalwabbit").Workspace
    header, _, weights = text.partition("\n:0\n")
    said = dict(line.partition(":")[::2] for line in header.splitlines())
    scores = " --scores" if "--oaa" in said["options"] else ""
    options = said["options"].replace("--link logistic", "") + scores
    # Whose predictions are not clipped to the labels that it saw.
    vw = workspace(f"--quiet --sgd --loss_function logistic -b {said['bits']} {options}")
    for line in weights.splitlines():
        *_, place, weight = line.split(":")
        vw.set_weight(int(place), 0, float(weight))
    return vw


@pytest.mark.parametrize("to", ["vw-readable", "vw-names"])
def test_vowpal_wabbit_predicts_the_same_with_the_weights_of_its_text(from_vw_text, folder, to):
    path, lines, expected = from_vw_text
    dwindle.export(path, folder / "vw.txt", to)
    vw = vw_with((folder / "vw.txt").read_text())
    found = [vw.predict(line.split(" ", 1)[1]) for line in lines]
    vw.finish()
    np.testing.assert_allclose(
        np.reshape(found, (N, -1)), expected, rtol=1e-6, atol=1e-6
    )  # single precision


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ("--loss_function logistic --link logistic", "two"),
        ("-q ab --loss_function logistic --l1 1e-3", "two"),
        ("--oaa 3 --loss_function logistic", "classes"),
        ("--cubic aab --noconstant -b 22", "number"),
        ("-q a: --ftrl --loss_function logistic", "two"),
    ],
)
def test_a_model_of_vowpal_wabbit_predicts_the_same_here(folder, options, kind):
    workspace = pytest.importorskip("vowpalwabbit").Workspace
    data, text = folder / "rows.vw", folder / "names.txt"
    data.write_text("".join(vw_lines(kind)) + "1 |a color:red\n")
    vw = workspace(f"--quiet --holdout_off {options} -d {data} --invert_hash {text}")
    again = workspace(f"--quiet --holdout_off {options} -d {data} -f {folder / 'm.vw'}")
    again.finish()
    vw.finish()
    command("import", text, "-m", folder / "from-vw.parquet")
    kind = "probability" if "--link" in options else "score"
    parts = dwindle.predict(folder / "from-vw.parquet", [str(data)], kind=kind)
    found = np.concatenate([part.prediction for part in parts])
    scores = "--scores" if "--oaa" in options else ""
    kept = " ".join(re.findall(r"--loss_function \w+|--l1 \S+", options))
    tester = workspace(f"--quiet -t -i {folder / 'm.vw'} {kept} {scores}")
    lines = data.read_text().splitlines()
    expected = [tester.predict(line.split(" ", 1)[1]) for line in lines]
    tester.finish()
    np.testing.assert_allclose(
        found.reshape(len(lines), -1), np.reshape(expected, (len(lines), -1)), rtol=1e-4, atol=1e-4
    )


# What cannot be said there is refused by name


def test_a_name_that_vw_text_cannot_spell_is_refused(tmp_path):
    learner = dwindle.Learner()
    learner.learn_one({"two words": 1.0}, 1)
    model = dwindle.Model.of(learner)
    with pytest.raises(DataError, match="'two words': a name in VW text has no space"):
        dwindle.export(model, tmp_path / "m.txt", "vw-names")
    assert list(tmp_path.iterdir()) == []


def test_products_of_columns_are_no_products_of_namespaces(trained, tmp_path):
    with pytest.raises(SettingError, match="Vowpal Wabbit multiplies namespaces"):
        dwindle.export(trained("interactions")[0], tmp_path / "m.txt", "vw-names")


def test_a_model_of_no_table_has_no_columns_to_read(tmp_path):
    learner = dwindle.Learner()
    learner.learn_one({"ad": "shoes"}, 1)
    for name in ("m.sql", "m.onnx"):
        with pytest.raises(SettingError, match="was not trained on one: export to json"):
            dwindle.export(dwindle.Model.of(learner), tmp_path / name)


def test_words_and_dates_are_not_made_in_sql(tmp_path):
    rows = pa.table(
        {"body": [f"some words {i % 7} here" for i in range(99)], "label": [0, 1, 1] * 33}
    )
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    command(
        "train",
        tmp_path / "rows.parquet",
        "--text",
        "body",
        "--dense",
        "-m",
        tmp_path / "m.parquet",
    )
    done = command("export", tmp_path / "m.parquet", tmp_path / "m.sql", check=False, text=True)
    assert done.returncode == 2
    assert "is part of a text: only numbers and categories are read there" in done.stderr
    command("export", tmp_path / "m.parquet", tmp_path / "m.js")


def test_a_normalized_model_is_refused(tmp_path):
    learner = dwindle.Learner(normalize=True)
    learner.learn_one({"a": 1}, 1)
    with pytest.raises(SettingError, match="--normalize"):
        dwindle.export(dwindle.Model.of(learner), tmp_path / "m.json")


def test_the_product_of_two_features_of_one_namespace_is_refused(tmp_path):
    (tmp_path / "d.vw").write_text("1 |a x y\n-1 |a x z\n" * 50)
    command(
        "train", tmp_path / "d.vw", "--interactions", "a*a", "--dense", "-m", tmp_path / "m.parquet"
    )
    done = command("export", tmp_path / "m.parquet", tmp_path / "m.json", check=False, text=True)
    assert done.returncode == 2
    assert "depends on the order in which an example names them" in done.stderr


def test_the_command_says_what_it_wrote_and_what_it_could_write(trained, folder):
    trained("names")
    done = command("export", folder / "names.parquet", folder / "x.h", text=True)
    assert re.fullmatch(r"C header: \d+ features, in [\d,]+ bytes\n", done.stderr)
    done = command("export", folder / "names.parquet", folder / "x.pmml", check=False, text=True)
    assert done.returncode == 2
    assert ".onnx, .sql, .json, .js" in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hello\n", ":1: expected a text that vw --invert_hash wrote"),
        ("Version 9\nbits:18\n", "cut short"),
        ("{head}12:0.5\n", ":9: a weight without a name"),
        ("{head}a^x:55432:nan\n", ":9: expected a weight, got 'nan'"),
        ("{head}a^x:1:0.5\n", "another number than Vowpal Wabbit would give it"),
        ("{head}what is this\n", "expected name:number:weight"),
    ],
)
def test_a_text_that_is_no_model_of_vw_is_refused_with_its_line(tmp_path, text, told):
    head = "Version 9.11.9\nId \nMin label:0\nMax label:3\nbits:18\noptions: \nChecksum: 0\n:0\n"
    (tmp_path / "m.txt").write_text(text.replace("{head}", head))
    done = command(
        "import", tmp_path / "m.txt", "-m", tmp_path / "m.parquet", check=False, text=True
    )
    assert done.returncode == 1
    assert told in done.stderr
    assert not (tmp_path / "m.parquet").exists()


def test_the_page_lists_every_target():
    page = (ROOT / "docs" / "export.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| (?:`(\.\w+)`)? ?\| (\w+) \|", page, re.MULTILINE)
    assert rows == [(each.name, (*each.extensions, "")[0], each.takes) for each in TARGETS]
