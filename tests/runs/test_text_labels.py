"""Labels that are text: two classes by their names, from every table and from JSON lines."""

import json
from io import StringIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dwindle import Model
from helpers.commands import dwindle

MAILS = """\
kind,free,meeting,length
spam,3,0,120
ham,0,1,300
spam,2,0,90
ham,0,2,410
ham,1,1,280
spam,4,0,60
,1,1,100
"""


def table():
    return pyarrow.csv.read_csv(pa.BufferReader(MAILS.encode()))


def written(folder, ending):
    """The mails in a file of this ending."""
    path = folder / f"mails.{ending}"
    match ending:
        case "csv":
            path.write_text(MAILS)
        case "tsv":
            path.write_text(MAILS.replace(",", "\t"))
        case "parquet":
            pq.write_table(table(), path)
        case "jsonl":
            lines = []
            for row in table().to_pylist():
                label = row.pop("kind") or None
                lines.append(json.dumps({"label": label, "features": row}))
            path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl"])
def test_spam_and_ham_are_learned_and_predicted_by_name(tmp_path, ending):
    mails, model = written(tmp_path, ending), tmp_path / "m.parquet"
    done = dwindle(
        "train", mails, "-m", model, "--label-column", "kind", "--passes", "5", text=True
    )
    assert "two classes: 'spam' is the positive one (+1), 'ham' the other (-1)" in done.stderr
    assert Model.load(model).metadata["labels"] == {"ham": -1.0, "spam": 1.0}
    said = dwindle("predict", model, mails, "--label", text=True).stdout.split()
    assert said[:6] == ["spam", "ham", "spam", "ham", "ham", "spam"]
    found = json.loads(dwindle("evaluate", model, mails, "--json", text=True).stdout)
    assert (found["examples"], found["accuracy"]) == (6, 1.0)


def test_text_labels_give_the_weights_of_the_numbers_they_stand_for(tmp_path):
    (tmp_path / "text.csv").write_text(MAILS)
    (tmp_path / "number.csv").write_text(MAILS.replace("spam,", "1,").replace("ham,", "-1,"))
    for name in ("text", "number"):
        dwindle("train", f"{name}.csv", "-m", name, "--label-column", "kind", cwd=tmp_path)
    text, number = (Model.load(tmp_path / name) for name in ("text", "number"))
    assert np.array_equal(text.weight, number.weight)
    assert text.intercept == number.intercept


def test_a_text_label_that_the_model_does_not_know_is_named_with_its_line(tmp_path):
    (tmp_path / "a.csv").write_text(MAILS)
    (tmp_path / "b.csv").write_text(MAILS + "eggs,1,1,1\n")
    how = ("--label-column", "kind")
    dwindle("train", "a.csv", "-m", "m", *how, cwd=tmp_path)
    done = dwindle("evaluate", "m", "b.csv", check=False, cwd=tmp_path, text=True)
    assert done.returncode == 1
    assert "b.csv:9: expected a label among ham, spam, got 'eggs'" in done.stderr


def test_one_text_label_alone_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("label,x\nspam,1\nspam,2\n")
    done = dwindle("train", "a.csv", "-m", "m", check=False, cwd=tmp_path, text=True)
    assert done.returncode == 1
    assert "all labels at the beginning are 'spam'" in done.stderr


def test_text_labels_are_no_numbers_for_a_loss_of_numbers(tmp_path):
    (tmp_path / "a.csv").write_text(MAILS)
    how = ("--label-column", "kind", "--loss", "squared")
    done = dwindle("train", "a.csv", "-m", "m", *how, check=False, cwd=tmp_path, text=True)
    assert done.returncode == 1
    assert "a.csv:2: expected a number as label, got 'spam'" in done.stderr


def test_one_word_among_many_numbers_is_a_bad_line(tmp_path):
    lines = StringIO()
    lines.writelines(f"{i % 2},{i}\n" for i in range(40))
    (tmp_path / "a.csv").write_text("label,x\n" + lines.getvalue() + "yes,3\n")
    done = dwindle("train", "a.csv", "-m", "m", check=False, cwd=tmp_path, text=True)
    assert "a.csv:42: expected a number in label column 'label', got 'yes'" in done.stderr


def test_text_labels_of_several_passes_and_a_holdout_are_those_of_the_first(tmp_path):
    (tmp_path / "a.csv").write_text(MAILS * 1)
    how = ("--label-column", "kind", "--passes", "3", "--holdout", "3")
    dwindle("train", "a.csv", "-m", "m", *how, cwd=tmp_path)
    assert Model.load(tmp_path / "m").metadata["classes"] == ["ham", "spam"]


def test_formats_that_hold_numbers_do_not_take_text_labels(tmp_path):
    (tmp_path / "a.csv").write_text(MAILS)
    how = ("--label-column", "kind")
    done = dwindle("convert", "a.csv", "a.vw", *how, check=False, cwd=tmp_path, text=True)
    assert done.returncode == 1
    assert "labels are text, such as 'spam'" in done.stderr
