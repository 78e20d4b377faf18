"""Writes tests/golden again: what `dwindle train` prints for each format, and what it learns.

cd tests && python -m helpers.write_golden

Do so on purpose, when a change is meant to show, and read the difference. Text inputs are written
by hand; of the binary ones, and of model files and checkpoints, only those that are missing are
made, since files of earlier versions must stay readable.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import dwindle as dw
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from dwindle.features.names import shown
from dwindle.model.model import Model
from dwindle.model.storage import FORMAT
from dwindle.runs.convert import convert
from helpers.commands import dwindle

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = {
    "vw": "data.vw --gravity 2e-3 --interactions user*ad --drop debug --passes 2",
    "svmlight": "data.svm --update plain --learning-rate 0.02 --gravity 0.02 --truncate-every 5 --threshold 0.5 --no-standardize",
    "csv": "data.csv --label-column clicked --weight-column weight --interactions member*color --gravity 1e-3",
    "tsv": "data.tsv --label-column minutes --drop id --passes 3 --learning-rate 6 --power-t 0.2 --pass-decay 0.7 --shrinkage rounding --threshold 1.5 --truncate-every 12 --no-standardize",
    "jsonl": "data.jsonl --loss hinge --gravity 1e-3 --interactions user*ad --skip-bad",
    "parquet": "data.parquet --label-column clicked --weight-column weight --loss squared --learning-rate 0.05 --keep 8 --no-standardize",
    "arrow": "data.arrow --gravity 2e-3 --shrinkage subgradient",
}  # fmt: skip
# Learners whose checkpoints and models are kept: in each format, the same for each name.
LEARNERS = {
    "truncation": lambda: dw.Learner(
        dw.Logistic(), dw.Truncation(2e-3, truncate_every=3, threshold=0.5), dw.Adaptive(0.3),
        dw.Schedule(0.5, 0.25, 10.0, 0.9),
    ),
    "rounding": lambda: dw.Learner(
        dw.Hinge(0.5), dw.Rounding(0.01, truncate_every=5), dw.Plain(), 0.1, normalize=True
    ),
    "subgradient": lambda: dw.Learner(
        dw.Logistic(), dw.Subgradient(1e-3, truncate_every=2), dw.Plain(), 0.1, intercept=False
    ),
    "averaged": lambda: dw.Learner(dw.Logistic(), dw.Truncation(1e-3), dw.Averaged(), 0.1),
    "ftrl": lambda: dw.Learner(dw.Logistic(), dw.Truncation(0.1), dw.FTRL(0.5), 0.2, max_live=60),
    "rda": lambda: dw.Learner(
        dw.Logistic(), dw.Truncation(1e-3, truncate_every=2), dw.RDA(0.5), 0.2
    ),
    "unshrunk": lambda: dw.Learner(dw.Logistic(), dw.NoShrinkage(), dw.Adaptive(), 0.2),
}  # fmt: skip
MEASURED = re.compile(r"^(time|memory|model) .*", re.MULTILINE)  # another on each machine


def train(kind):
    """What a run on the input of this format prints, and the model that it writes."""
    with TemporaryDirectory() as folder:
        model = Path(folder) / "model.parquet"
        done = dwindle("train", *CASES[kind].split(), "--model", model, cwd=GOLDEN / kind)
        assert done.stdout == b""
        return MEASURED.sub(r"\1 ...", done.stderr.decode()), Model.load(model)


def weights(model):
    """A line for each feature kept, heaviest first: the weight in hexadecimal, in decimal, key and name."""
    rows = [(model.intercept, "-", "(intercept)")]
    rows += zip(model.weight.tolist(), model.key.tolist(), map(shown, model.names), strict=True)
    return "".join(f"{w.hex():>24} {w:>24} {key:>20} {name}\n" for w, key, name in rows)


def batches():
    """The examples of the VW file, with labels as losses of two classes want them."""
    how = ReadOptions(interactions=(("user", "ad"),), columns={"debug": "drop"})
    labels = Labels()
    for parsed in read([str(GOLDEN / "vw" / "data.vw")], how):
        yield parsed.batch._replace(label=labels.mapped(parsed, dw.Logistic()))


def learn_first_half(learner):
    """What a golden checkpoint has learned from."""
    for batch in batches():
        learner.learn(batch.rows(0, batch.n_examples // 2))


def learn_the_rest(learner):
    """What the golden model of the same name has learned from after that."""
    for batch in batches():
        learner.learn(batch.rows(batch.n_examples // 2, batch.n_examples))
    learner.next_pass()
    for batch in batches():
        learner.learn(batch)
    learner.cooldown(3)


def three_classes():
    """A classifier of three classes."""
    x = np.random.default_rng(3).normal(size=(200, 6))
    y = np.array(["a", "b", "c"])[np.argmax(x[:, :3], axis=1)]
    return dw.TruncatedGradientClassifier(gravity=1e-3, random_state=0).fit(x, y)


def write_missing_models():
    """Models and checkpoints in the present format, unless they are there."""
    folder = GOLDEN / f"format-{FORMAT}"
    folder.mkdir(exist_ok=True)
    for name, make in LEARNERS.items():
        if not (path := folder / f"{name}.parquet").exists():
            learner = make()
            learn_first_half(learner)
            learner.save(path.with_suffix(".checkpoint"))
            learn_the_rest(learner)
            Model.of(learner, {"examples": learner.n_steps}).save(path)
    if not (path := folder / "three-classes.parquet").exists():
        three_classes().save(path)
    if not (path := folder / "train.parquet").exists():
        train("vw")[1].save(path)


def make_missing_inputs():
    """The binary ones, of the same examples as text."""
    if not (parquet := GOLDEN / "parquet" / "data.parquet").exists():
        table = pyarrow.csv.read_csv(GOLDEN / "csv" / "data.csv")
        color = table["color"].combine_chunks().dictionary_encode()
        table = table.set_column(table.column_names.index("color"), "color", color)
        size = table["size"].cast(pa.int8())
        table = table.set_column(table.column_names.index("size"), "size", size)
        pq.write_table(table, parquet, row_group_size=16)
    if not (arrow := GOLDEN / "arrow" / "data.arrow").exists():
        crossed = ReadOptions(interactions=(("user", "ad"),), block_size=1000)
        convert([str(GOLDEN / "vw" / "data.vw")], str(arrow), crossed)


def main():
    make_missing_inputs()
    write_missing_models()
    for kind in CASES:
        printed, model = train(kind)
        (GOLDEN / kind / "printed.txt").write_text(printed)
        (GOLDEN / kind / "weights.txt").write_text(weights(model))


if __name__ == "__main__":
    main()
