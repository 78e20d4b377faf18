"""Writes tests/golden again: what `dwindle train` prints for each format, and what it learns.

cd tests && python -m helpers.write_golden

Do so on purpose, when a change is meant to show, and read the difference. Text inputs are written
by hand; of the binary ones only those that are missing are made, since old files must stay readable.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dwindle.data.stream import ReadOptions
from dwindle.features.names import shown
from dwindle.model.model import Model
from dwindle.runs.convert import convert
from helpers.commands import dwindle

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = {
    "vw": "data.vw --gravity 2e-3 --interactions user*ad --ignore debug --passes 2",
    "svmlight": "data.svm --update plain --learning-rate 0.02 --gravity 0.02 --truncate-every 5 --threshold 0.5",
    "csv": "data.csv --label-column clicked --weight-column weight --interactions member*color --gravity 1e-3",
    "tsv": "data.tsv --label-column minutes --ignore id --passes 3 --learning-rate 6 --power-t 0.2 --pass-decay 0.7 --shrinkage rounding --threshold 1.5 --truncate-every 12",
    "jsonl": "data.jsonl --loss hinge --gravity 1e-3 --interactions user*ad --skip-bad",
    "parquet": "data.parquet --label-column clicked --weight-column weight --loss squared --learning-rate 0.05 --keep 8",
    "arrow": "data.arrow --gravity 2e-3 --shrinkage subgradient",
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
    for kind in CASES:
        printed, model = train(kind)
        (GOLDEN / kind / "printed.txt").write_text(printed)
        (GOLDEN / kind / "weights.txt").write_text(weights(model))


if __name__ == "__main__":
    main()
