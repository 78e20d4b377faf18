"""Texts, dates, lists and objects give the same features from every format, and those of VW text."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dwindle import TruncatedGradientClassifier, batch_of, load
from dwindle._base.errors import DataError
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers.commands import dwindle

WORDS = [f"word{i}" for i in range(400)]
SPAM, HAM = ["free", "money", "winner"], ["meeting", "report", "lunch"]


def mails(n=600, seed=0):
    """Mails as people write them, with a label that some of their words tell."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        label = int(rng.random() < 0.4)
        words = [WORDS[int(w) % 400] for w in rng.zipf(1.3, rng.integers(6, 20))]
        if rng.random() < 0.9:
            words.insert(int(rng.integers(len(words))), str(rng.choice(SPAM if label else HAM)))
        text = " ".join(word.title() if rng.random() < 0.2 else word for word in words)
        rows.append({"text": text + "!", "label": label})
    return pd.DataFrame(rows)


def words_of(text):
    """The distinct words of such a mail, in their order."""
    return list(dict.fromkeys(text.strip("!").lower().split()))


def features(path, **options):
    """[{name: value}, ...] of the rows of a file."""
    rows = []
    for parsed in read([str(path)], ReadOptions(**options)):
        parsed.n_bad(skip_bad=False)
        rows += rows_of(parsed.batch)
    return rows


def rows_of(batch):
    names = [name.replace("\0", "^") for name in batch.names]
    return [
        dict(zip(names[a:b], batch.x[a:b].tolist(), strict=True))
        for a, b in zip(batch.start[:-1], batch.start[1:], strict=True)
    ]


def written(frame, folder):
    """The same table in every format: {format: path}."""
    frame.to_json(folder / "data.jsonl", orient="records", lines=True, date_format="iso")
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "data.parquet")
    frame.to_csv(folder / "data.csv", index=False)
    return [folder / f"data.{kind}" for kind in ("csv", "jsonl", "parquet")]


def as_vw(frame, path):
    lines = [f"{row.label} |text {' '.join(words_of(row.text))}" for row in frame.itertuples()]
    path.write_text("\n".join(lines) + "\n")
    return path


def learned(path, *options, cwd):
    """What is learned from a file: its names, weights and what the screen says."""
    done = dwindle(
        *("train", path.name, "--model", "m.parquet", "--gravity", "1e-3", *options),
        cwd=cwd,
        text=True,
    )
    table = pq.read_table(cwd / "m.parquet").to_pylist()
    auc = float(done.stderr.partition("\nAUC")[2].split()[0])
    return table, auc, done.stderr


def test_a_csv_of_mails_is_learned_as_their_words_in_vw_text_are_to_the_bit(tmp_path):
    frame = mails()
    frame.to_csv(tmp_path / "mails.csv", index=False)
    as_vw(frame, tmp_path / "mails.vw")
    table, auc, said = learned(tmp_path / "mails.csv", cwd=tmp_path)
    same, as_good, _ = learned(tmp_path / "mails.vw", cwd=tmp_path)
    assert table == same
    assert auc == as_good > 0.9
    assert "column 'text': 13 words in a cell, 600 of 600 cells distinct: taken as text" in said


def test_a_csv_of_mails_is_converted_to_vw_text_with_its_pairs_of_words(tmp_path):
    frame = mails(200)
    frame.to_csv(tmp_path / "mails.csv", index=False)
    dwindle("convert", "mails.csv", "mails.vw", "--ngrams", 2, cwd=tmp_path)
    table, _, _ = learned(tmp_path / "mails.csv", "--ngrams", 2, cwd=tmp_path)
    assert any("_" in row["feature"] for row in table)
    assert table == learned(tmp_path / "mails.vw", cwd=tmp_path)[0]


def test_a_mail_is_scored_as_its_words_are(tmp_path):
    frame = mails()
    frame.to_csv(tmp_path / "mails.csv", index=False)
    dwindle("train", "mails.csv", "--model", "m.parquet", "--ngrams", 2, "--counts", cwd=tmp_path)
    one = frame.tail(1).drop(columns="label").assign(text="Free money")
    one.to_json(tmp_path / "one.jsonl", orient="records", lines=True)
    done = dwindle("explain", "m.parquet", "one.jsonl", cwd=tmp_path, text=True, check=False)
    by_json = dwindle("predict", "m.parquet", "one.jsonl", cwd=tmp_path).stdout
    (tmp_path / "one.csv").write_text("text\nfree MONEY\n")
    assert by_json == dwindle("predict", "m.parquet", "one.csv", cwd=tmp_path).stdout
    (tmp_path / "one.vw").write_text("|text free money free_money\n")
    assert by_json == dwindle("predict", "m.parquet", "one.vw", cwd=tmp_path).stdout
    assert done.returncode in (0, 2)


texts = st.text("aB ,.'é1\"\n", min_size=1, max_size=12)
tables = st.lists(
    st.fixed_dictionaries(
        {
            "body": st.one_of(st.none(), texts),
            "lang": st.sampled_from(["en", "de"]),
            "when": st.sampled_from(["2024-05-31T13:45:00", "2024-02-29", "2025-12-01 00:00"]),
            "n": st.sampled_from([0.0, 1.5, -2.0]),
            "label": st.just(1),
        }
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=25)
@given(tables, st.integers(1, 2), st.booleans())
def test_every_format_of_a_table_gives_the_same_features(tmp_path_factory, rows, ngrams, counts):
    folder, frame = tmp_path_factory.mktemp("same"), pd.DataFrame(rows)
    columns = {"body": "text", "when": "date"}
    how = {"columns": columns, "ngrams": ngrams, "counts": counts}
    expected = rows_of(batch_of(frame, label="label", **how))
    for path in written(frame, folder):
        assert features(path, **how) == expected, path.suffix
    for row, found in zip(rows, expected, strict=True):
        assert {f"lang={row['lang']}"} <= found.keys()
        assert (row["n"] or None) == found.get("n")
        assert ("when.hour=13" in found) == ("13:45" in row["when"])


def test_dates_are_hour_weekday_and_month(tmp_path):
    when = pd.to_datetime(["2024-05-31 13:45", "2024-06-01 00:30"])
    frame = pd.DataFrame({"when": when, "label": [0, 1]})
    expected = [
        {"when.hour=13": 1.0, "when.weekday=Fri": 1.0, "when.month=5": 1.0},
        {"when.hour=0": 1.0, "when.weekday=Sat": 1.0, "when.month=6": 1.0},
    ]
    for path in written(frame, tmp_path):
        assert features(path) == expected, path.suffix
    assert rows_of(batch_of(frame, label="label")) == expected
    rome = frame.assign(when=when.tz_localize("Europe/Rome"))
    assert rows_of(batch_of(rome, label="label")) == expected
    rome.to_csv(tmp_path / "rome.csv", index=False)
    assert features(tmp_path / "rome.csv") == expected


def test_days_have_no_hour(tmp_path):
    when = pd.to_datetime(["2024-05-31", "2024-06-01"])
    expected = [{"d.weekday=Fri": 1.0, "d.month=5": 1.0}, {"d.weekday=Sat": 1.0, "d.month=6": 1.0}]
    for column in (when, when.date):
        frame = pd.DataFrame({"d": column, "label": [0, 1]})
        assert rows_of(batch_of(frame, label="label")) == expected
        for path in written(frame, tmp_path):
            assert features(path) == expected, path.suffix


def test_what_is_no_date_is_a_bad_line(tmp_path):
    days = [f"2024-05-{i:02d}" for i in range(1, 29)]
    (tmp_path / "a.csv").write_text("d,label\n" + "".join(f"{d},1\n" for d in [*days, "soon"]))
    with pytest.raises(DataError, match=r"a.csv:30: column 'd': expected a date \(28 of 29 cells"):
        features(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("d,label\n2024-05-31,1\n2024-02-30,1\n\xff,0\n", "latin-1")
    parsed = next(read([str(tmp_path / "b.csv")], ReadOptions(columns={"d": "date"})))
    assert [fault.line for fault in parsed.bad] == [3, 4]
    frame = pd.DataFrame({"d": pd.to_datetime(days[:2]).astype("int64"), "label": [1, 1]})
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    with pytest.raises(DataError, match=r"expected a date \(as told\), got '17145"):
        features(tmp_path / "a.jsonl", columns={"d": "date"})


def test_lists_of_strings_are_several_values_of_a_category(tmp_path):
    tags = [["red", "blue", "red"], [], None, ["blue", None, ""]]
    frame = pd.DataFrame({"tags": tags, "label": [1, 0, 1, 0]})
    expected = [{"tags=red": 1.0, "tags=blue": 1.0}, {}, {}, {"tags=blue": 1.0}]
    _, lines, parquet = written(frame, tmp_path)
    assert features(lines) == features(parquet) == expected
    assert rows_of(batch_of(frame, label="label")) == expected
    nested = [
        {"label": y, "features": {"tags": t}} for t, y in zip(tags[:3], [1, 0, 1], strict=True)
    ]
    (tmp_path / "nested.jsonl").write_text("\n".join(map(json.dumps, nested)))
    assert features(tmp_path / "nested.jsonl") == expected[:3]


def test_lists_of_numbers_are_refused_unless_they_are_said_to_be_categories(tmp_path):
    frame = pd.DataFrame({"v": [[1, 2], [3]], "label": [1, 0]})
    _, lines, parquet = written(frame, tmp_path)
    for data in (lambda: features(lines), lambda: features(parquet), lambda: batch_of(frame)):
        with pytest.raises(DataError, match=r"'v' is of type list.*: make it numbers or strings"):
            data()
    how = {"columns": {"v": "category"}}
    assert features(lines, **how) == features(parquet, **how) == [{"v=1": 1, "v=2": 1}, {"v=3": 1}]


def test_a_list_of_numbers_among_lists_of_strings_is_a_bad_line(tmp_path):
    lines = ['{"label": 1, "tags": ["a"]}', '{"label": 1, "tags": [1]}', '{"tags": "b"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    parsed = next(read([str(tmp_path / "a.jsonl")]))
    assert rows_of(parsed.batch) == [{"tags=a": 1}, {"tags=b": 1}]
    assert parsed.bad[0].message == 'expected a list of strings as member "tags", got [1]: write it alike'  # fmt: skip


def test_an_object_is_no_category():
    frame = pd.DataFrame({"user": [{"age": 30}]})
    with pytest.raises(DataError, match=r"'user' is of type struct.*, which is no category"):
        batch_of(frame, columns={"user": "category"})
    with pytest.raises(ValueError, match="of kind 'object': expected one of number, category"):
        batch_of(frame, columns={"user": "object"})


def test_objects_are_namespaces(tmp_path):
    user = [{"age": 30, "city": "Rome"}, {"age": None, "city": "Oslo"}, None]
    frame = pd.DataFrame({"user": user, "label": [1, 0, 1]})
    expected = [{"user^age": 30.0, "user^city=Rome": 1.0}, {"user^city=Oslo": 1.0}, {}]
    _, lines, parquet = written(frame, tmp_path)
    assert features(lines) == features(parquet) == expected
    assert rows_of(batch_of(frame, label="label")) == expected


def test_a_text_can_be_crossed_with_another_column(tmp_path):
    (tmp_path / "a.csv").write_text("text,lang,label\nFree money now,en,1\n")
    [row] = features(tmp_path / "a.csv", columns={"text": "text"}, interactions=(("text", "lang"),))
    assert {"text*lang^free*lang=en", "text*lang^money*lang=en", "text^free"} <= row.keys()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["New York City", "Los Angeles", "San Juan Bautista de las Misiones"] * 9, "category"),
        ([f"Smith, Mr. John {i}" for i in range(40)], "category"),
        (["Dell XPS 13 laptop, 16 GB", "Apple MacBook Air 13 inch"] * 20, "category"),
        ([f"550e8400-e29b-41d4-a716-{i:012d}" for i in range(40)], "category"),
        ([f"https://a.example/b/c/d/e/{i}" for i in range(40)], "category"),
        ([f"Call me at {i} about the red bike" for i in range(40)], "text"),
        (["ok thanks"] * 5 + [f"See you at {i}, and bring the kids too" for i in range(15)], "text"),
        ([f"2024-05-{i:02d}" for i in range(1, 29)], "date"),
        ([f"2024-05-{i:02d} 10:00" for i in range(1, 29)] + ["NA", "", "?"], "date"),
        ([f"2024-05-{i:02d} 10:00" for i in range(1, 29)] + ["soon", "today"] * 3, "category"),
    ],
)  # fmt: skip
def test_a_column_of_strings_is_a_text_if_it_reads_like_one(tmp_path, values, kind):
    frame = pd.DataFrame({"column": values, "label": np.arange(len(values)) % 2})
    for path in written(frame, tmp_path):
        dwindle("train", path.name, "--model", "m.parquet", cwd=tmp_path)
        said = json.loads(dwindle("inspect", "m.parquet", "--json", cwd=tmp_path).stdout)
        [column] = said["metadata"]["reading"]["schema"]
        assert column["kind"] == kind, path.suffix


def test_an_estimator_learns_the_words_of_a_frame_and_its_file_scores_alike(tmp_path):
    frame = mails(300)
    model = TruncatedGradientClassifier(gravity=1e-3, ngrams=2, counts=True, shuffle=False)
    with pytest.warns(UserWarning, match="taken as text"):
        model.fit(frame[["text"]], frame["label"])
    assert {"text^free", "text^meeting"} <= set(list(model.weights())[:10])
    frame.to_csv(tmp_path / "mails.csv", index=False)
    again = TruncatedGradientClassifier(gravity=1e-3, ngrams=2, counts=True)
    with pytest.warns(UserWarning, match="taken as text"):
        again.fit_file(tmp_path / "mails.csv")
    assert again.weights() == model.weights()
    model.save(tmp_path / "m.parquet")
    one = pd.DataFrame({"text": ["Free money!", "lunch"]})
    assert load(tmp_path / "m.parquet").predict_proba(one).tolist() == model.predict_proba(one).tolist()  # fmt: skip
    assert model.explain({"text": "free money"}).prediction == model.decision_function(one[:1])[0]
