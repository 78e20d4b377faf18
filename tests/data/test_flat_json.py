"""Flat JSON lines: members are columns, as of any other table."""

import json

import pandas as pd
import pytest

from dwindle._base.errors import DataError
from dwindle.data.formats import json_columns
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers.commands import dwindle


@pytest.fixture
def lines(tmp_path):
    """A function that writes objects as lines, and reads them: (rows, bad lines)."""

    def found(*objects, **options):
        path = tmp_path / "data.jsonl"
        text = [each if isinstance(each, str) else json.dumps(each) for each in objects]
        path.write_text("\n".join(text) + "\n")
        parsed = list(read([str(path)], ReadOptions(**options)))
        rows = [row for each in parsed for row in rows_of(each)]
        bad = [str(fault).removeprefix(f"{path}:") for each in parsed for fault in each.bad]
        return rows, bad

    return found


def rows_of(parsed):
    """[(label, {name: value}), ...], with a tag if there is one."""
    batch = parsed.batch
    names = [name.replace("\0", "^") for name in batch.names]
    rows = []
    for i, (a, b) in enumerate(zip(batch.start[:-1], batch.start[1:], strict=True)):
        row = (parsed.label(i), dict(zip(names[a:b], batch.x[a:b].tolist(), strict=True)))
        rows.append((*row, parsed.tags[i]) if parsed.tags else row)
    return rows


def test_what_pandas_writes_is_trained_on_and_scored(tmp_path):
    """A frame with a text, a category with a missing value, a number and a label of its own name."""
    frame = pd.DataFrame(
        {
            "text": [f"win free money now {i}" if i % 2 else f"see you at lunch {i}" for i in range(50)],
            "city": ["Rome", "Oslo", None, "Rome", "Oslo"] * 10,
            "age": [30.0, None, 20.0, 40.0, 50.0] * 10,
            "spam": [i % 2 for i in range(50)],
        }
    )  # fmt: skip
    frame.to_json(tmp_path / "mails.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "mails.parquet", index=False)
    models = []
    for name in ("mails.jsonl", "mails.parquet"):
        dwindle("train", name, "--label-column", "spam", "--model", f"{name}.model", cwd=tmp_path)
        models.append(dwindle("inspect", f"{name}.model", "--top", 99, cwd=tmp_path).stdout)
        models[-1] = models[-1].partition(b"intercept")[2]
    assert models[0] == models[1]
    assert b"text^free" in models[0]
    one = b'{"text": "Free money!", "city": null}\n'
    done = dwindle("predict", "mails.jsonl.model", "-", stdin=one, cwd=tmp_path)
    assert float(done.stdout) > 0.5


def test_null_and_what_is_not_there_are_missing(lines):
    rows, bad = lines({"label": 1, "a": 2, "b": None, "c": "x"}, {"label": 0, "b": "y"}, {"a": 3})
    assert rows == [(1, {"a": 2, "c=x": 1}), (0, {"b=y": 1}), (0, {"a": 3})]
    assert bad == []


def test_true_is_one_and_false_is_absent(lines):
    rows, _ = lines({"label": True, "a": True}, {"label": False, "a": False})
    assert rows == [(1, {"a": 1}), (0, {})]


def test_numbers_of_a_category_are_written_as_whole_numbers_are(lines):
    rows, _ = lines(
        *({"label": 1, "zip": 94110}, {"label": 1, "zip": 94110.0}, {"label": 1, "zip": 2.5}),
        columns={"zip": "category"},
    )
    assert [list(row) for _, row in rows] == [["zip=94110"], ["zip=94110"], ["zip=2.5"]]


def test_numbers_and_strings_in_one_column_are_categories(lines):
    rows, _ = lines({"label": 1, "zip": 94110}, {"label": 1, "zip": "K1A 0B1"})
    assert [list(row) for _, row in rows] == [["zip=94110"], ["zip=K1A 0B1"]]


def test_a_string_among_numbers_is_a_bad_line(lines):
    rows, bad = lines(*({"label": 1, "x": i} for i in range(1, 20)), {"label": 1, "x": "abc"})
    assert len(rows) == 19
    assert bad == [
        "20: column 'x': expected a number (19 of 20 cells are numbers), got 'abc': write a number "
        "or nothing, or skip such lines with --skip-bad, or read categories with --categorical x"
    ]


def test_numbers_of_any_size_are_read(lines):
    rows, bad = lines({"label": 1, "x": 2**64 - 1}, {"label": 1, "x": 0.5}, {"label": 1, "x": 1e39})
    assert [row["x"] for _, row in rows] == [2.0**64, 0.5]
    assert "too large for single precision" in bad[0]


def test_the_first_line_says_whether_lines_are_flat(lines):
    flat, nested = {"label": 1, "a": 2}, {"label": 1, "features": {"a": 2}}
    rows, bad = lines(flat, nested)
    assert rows == [(1, {"a": 2})]
    assert bad == ['2: "features" is an object, but the first line is flat: write all lines alike']
    rows, bad = lines("", "{", nested, flat)
    assert rows == [(1, {"a": 2})]
    assert [fault.split(":")[0] for fault in bad] == ["2", "4"]
    assert 'unknown member "a": write it inside "features"' in bad[1]


def test_members_of_features_are_columns_if_their_kind_is_said(lines):
    rows, bad = lines(
        {"label": 1, "tag": "t", "weight": 2, "features": {"body": "Free money", "zip": 1}},
        {"label": 1, "features": {"label": 3}},
        columns={"body": "text", "zip": "category"},
    )
    assert rows == [(1, {"body^free": 1, "body^money": 1, "zip=1": 1}, "t")]
    assert bad == ['2: feature "label" has the name of another member: rename it']


def test_a_member_that_is_there_twice_is_refused(lines):
    twice = '{"label": 1, "a": 2, "a": 3}'
    colons = {"label": 1, "a": 'he said: "b": c', "o": {"x": 1}}
    rows, bad = lines(
        colons, twice, '{"label" : 1, "a" : 2}', '{"label": 1, "o": {"x": 1, "x": 1}}'
    )
    assert [label for label, _ in rows] == [1, 1]
    assert bad == [f'{n}: member "{name}" is there 2 times: write it once' for n, name in ((2, "a"), (4, "x"))]  # fmt: skip


def test_an_object_is_a_namespace_and_nothing_else(lines):
    rows, bad = lines(
        {"label": 1, "user": {"age": 3, "tags": ["a", "b"]}},
        {"label": 0, "user": None},
        {"label": 1, "user": 3},
        {"label": 1, "user": {"a": {"b": 1}}},
    )
    assert rows == [(1, {"user^age": 3, "user^tags=a": 1, "user^tags=b": 1}), (0, {})]
    assert bad == [
        '3: member "user" is of kind object, got 3: write it alike',
        '4: feature "user.a" is an object inside a namespace: write namespaces one level deep',
    ]


def test_lines_of_objects_alone_or_of_nothing_are_read(lines):
    rows, bad = lines({"user": {"age": 3}}, {}, {"user": {"age": 4}}, labelled=False)
    assert rows == [(0, {"user^age": 3}), (0, {}), (0, {"user^age": 4})]
    assert bad == []


def test_an_object_is_no_label(lines):
    _, bad = lines({"label": 1, "x": 1}, {"label": {"a": 1}, "x": 1})
    assert bad == ['2: expected a number as "label", got {"a":1}: write a number or null']


def test_a_name_with_a_nul_is_refused(lines):
    with pytest.raises(DataError, match=r"the name of column 'a\\x00b' holds a NUL: rename it"):
        lines({"label": 1, "a\0b": 1})


def test_a_list_where_a_value_was_is_a_bad_line(lines):
    rows, bad = lines({"label": 1, "a": 2.5}, {"label": 1, "a": ["x"]}, {"label": 1, "a": "x"})
    assert [list(row) for _, row in rows] == [["a=2.5"], ["a=x"]]
    assert bad == ['2: member "a" is ["x"], elsewhere it is a value: write it alike']


def test_a_column_that_is_not_there_is_named(lines):
    with pytest.raises(
        DataError, match="no column 'y' for the label; the columns are 'label', 'a'"
    ):
        lines({"label": 1, "a": 2}, label_column="y")
    with pytest.raises(DataError, match="no column 'zip'; the columns are 'a'"):
        lines({"label": 1, "a": 2}, columns={"zip": "category"})


def test_too_many_members_are_refused(lines, monkeypatch):
    monkeypatch.setattr(json_columns, "MOST", 3)
    with pytest.raises(DataError, match="more than 3 members: write rare ones inside an object"):
        lines({"label": 1, "a": 2}, {"label": 1, "b": 2, "c": 3})


def test_lines_are_read_alike_whatever_the_size_of_blocks(lines):
    objects = [
        {"label": i % 2, "text": f"free money {i}", "n": i, "m": None if i < 20 else "late"}
        for i in range(40)
    ]
    assert lines(*objects, block_size=150) == lines(*objects)


def test_a_word_among_labels_that_are_numbers_is_a_bad_line(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [*({"label": i, "price": 1} for i in range(30)), {"label": "abc", "price": 1}]
    path.write_text("\n".join(map(json.dumps, lines)))
    parsed = list(read(path))  # a last line that does not end is a block of its own
    assert [each.label_names for each in parsed] == [None, None]
    assert [str(bad) for bad in parsed[1].bad] == [
        f'{path}:31: expected a number as "label", got "abc": write a number or null'
    ]


def test_lines_that_are_no_json_are_bad_before_the_columns_are_known(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("garbage\n")
    (parsed,) = read(path, ReadOptions(columns={"price": "category"}))
    assert [bad.line for bad in parsed.bad] == [1]
