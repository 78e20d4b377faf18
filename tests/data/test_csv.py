"""CSV is what the reference makes of it, in blocks of any size; of other rows it is said what is wrong."""

import csv as python_csv
import io
import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwindle._base.errors import DataError
from dwindle.data.formats import csv
from dwindle.data.options import ReadOptions
from helpers import reference_columns as reference

HEADER = "y,w,price,color,on"


def read(data, delimiter=",", **options):
    data = data.encode() if isinstance(data, str) else data
    said = ReadOptions(**{"label_column": "y"} | options)
    return list(csv.batches(io.BytesIO(data), "shop.csv", said, delimiter))


def only(parts):
    assert len(parts) == 1
    return parts[0]


numbers = st.one_of(
    st.sampled_from(
        ["0", "1", "-1", "3.5", "+2", " 7", "8 ", "1e-46", "1e39", "1e400", "5.", ".5"]
    ),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(2**70), 2**70).map(str),
)
truths = st.sampled_from(list(reference.TRUTH))
missing = st.sampled_from(["", "", "", "NA", "nan", "NaN", "null", "-", "inf"])
words = st.one_of(
    st.sampled_from(["red", "blue", "ü", 'say "hi"', "a,b", "two\nlines", " ", "1x"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=5),
)
columns = st.sampled_from(
    [
        numbers,
        truths,
        words,
        st.one_of(numbers, missing),
        st.one_of(truths, missing),
        words | missing,
    ]
)


@st.composite
def tables(draw):
    kinds = [draw(st.sampled_from([numbers, truths, numbers | missing])), numbers | missing]
    kinds += [draw(columns) for _ in range(3)]
    rows = draw(st.lists(st.tuples(*kinds), max_size=6))
    text = io.StringIO()
    writer = python_csv.writer(text, lineterminator=draw(st.sampled_from(["\n", "\r\n"])))
    writer.writerow(HEADER.split(","))
    for row in rows:
        if any(row):
            writer.writerow(row)
        else:
            text.write("\n")
    return text.getvalue()


@given(tables())
@example("y,w,price,color,on\n")
@example("y,w,price,color,on\n1,1,NA,NA,NA\n1,1,3,red,true")
@example("y,w,price,color,on\n1,1,1, 7,0\n1,1,1,inf,0\n")
def test_cells_are_read_as_the_reference_reads_them(text):
    options = {"label_column": "y", "weight_column": "w"}
    parts = read(text, **options)
    expected = reference.csv(text, **options)
    if parts:
        reference.check(only(parts), expected)
    else:
        assert expected == ({}, [])


@given(tables())
def test_products_and_what_is_ignored_are_those_of_the_reference(text):
    options = {
        "label_column": "y",
        "interactions": (("price", "color"), ("on", "on"), ("on", "price", "color")),
        "columns": {"w": "drop"},
    }
    for parsed in read(text, **options):
        rows = list(python_csv.reader(io.StringIO(text, newline="")))[1:]
        if all(any(cell for c, cell in enumerate(row) if c != 1) for row in rows):
            del options["columns"]
            reference.check(parsed, reference.csv(text, ignore={"w"}, **options))


ROWS = [f"{i % 2},{i},{i / 7},color{i % 5},{'true' if i % 3 else 'false'}" for i in range(1, 200)]


@pytest.mark.parametrize("block", [64, 100, 1000, 1 << 20])
@pytest.mark.parametrize("at", [0, 3, 150, 199])
def test_lines_are_numbered_alike_whatever_the_size_of_blocks(monkeypatch, block, at):
    monkeypatch.setattr(csv, "BLOCK", block)
    faulty = ["1,2,3", "1,2,3,x,true,5", "", "1,2,inf,red,true", "", "nan,2,3,red,true"]
    rows = [*ROWS[:at], *(faulty if at else []), *ROWS[at:], *faulty[:3]]
    parts = read("\n".join([HEADER, *rows]) + "\n")
    lines = [int(line) for parsed in parts for line in parsed.line]
    bad = [fault.line for parsed in parts for fault in parsed.bad]
    good = [i for i, row in enumerate(rows, 2) if row in set(ROWS)]
    faults = [i for i, row in enumerate(rows, 2) if row and row not in set(ROWS)]
    assert (lines, bad) == (good, faults)
    for parsed in parts:
        for i, line in enumerate(parsed.line):
            first = int(parsed.batch.start[i])
            assert parsed.batch.x[first] == int(rows[line - 2].split(",")[1])


def test_rows_come_in_batches_of_bounded_size(monkeypatch):
    monkeypatch.setattr(csv, "MOST_ROWS", 50)
    rows = [*ROWS[:60], "1,2", *ROWS[60:120], "1,2,x,red,true"]
    parts = read("\n".join([HEADER, *rows]))
    assert [len(parsed.line) for parsed in parts] == [50, 50, 20]
    assert [[fault.line for fault in parsed.bad] for parsed in parts] == [[], [62], [123]]


def test_a_column_is_what_its_first_cells_are_even_if_these_come_late(monkeypatch):
    monkeypatch.setattr(csv, "BLOCK", 40)
    text = "y,price\n" + "1,\n" * 50 + "1,2.5\n" + "1,\n" * 50 + "1,red\n"
    parts = read(text)
    assert [name for parsed in parts for name in parsed.batch.names] == ["price"]
    assert [str(fault) for parsed in parts for fault in parsed.bad] == [
        "shop.csv:103: column 'price': expected a number (all of the first 1 are), got "
        "'red': write a number or nothing, or skip such lines with --skip-bad, or read categories "
        "with --categorical price"
    ]


def test_newlines_and_delimiters_may_stand_in_quotes():
    parsed = only(read('y;text\n1;"a;b\nc"\n-1;d\n', delimiter=";"))
    assert list(parsed.batch.names) == ["text=a;b\nc", "text=d"]
    assert parsed.line.tolist() == [2, 4]


@pytest.mark.parametrize("block", [40, 64, 1 << 20])
def test_newlines_in_quotes_count_as_lines(monkeypatch, block):
    monkeypatch.setattr(csv, "BLOCK", block)
    rows = [
        '1,"a\nb",x',
        "1,c,x",
        '1,"d\n\n",x',
        "1,2",
        '0,"e\nf"',
        "1,g,x",
        '1,"\n",x',
        "1",
        "1,h,x",
        "0,1",
    ]
    parts = read("y,text,u\n" + "\n".join(rows) + "\n")
    starts = list(itertools.accumulate((1 + row.count("\n") for row in rows[:-1]), initial=2))
    good = [at for at, row in zip(starts, rows, strict=True) if row.endswith("x")]
    assert [int(line) for parsed in parts for line in parsed.line] == good
    bad = [fault.line for parsed in parts for fault in parsed.bad]
    assert bad == [at for at, row in zip(starts, rows, strict=True) if not row.endswith("x")]


def test_a_byte_order_mark_is_no_part_of_the_first_name():
    assert list(only(read(b"\xef\xbb\xbfa,y\n2,1\n")).batch.names) == ["a"]


def test_a_header_without_rows_is_no_examples():
    assert read("y,price\n") == []
    assert read("y,price") == []


def test_a_cell_without_a_label_is_not_learned_from():
    batch = only(read("y,w,a\n,5,1\n1,,1\n", weight_column="w")).batch
    assert (batch.label.tolist(), batch.importance.tolist()) == ([0, 1], [0, 1])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"1,2", "expected 3 cells, got 2 in '1,2': write one for each column, in quotes if it holds the delimiter"),
        (b"1,2,a,b", "expected 3 cells, got 4 in '1,2,a,b': write one for each column, in quotes if it holds the delimiter"),
        (b"yes,2,a", "expected a number in label column 'y', got 'yes': write a number, or an empty cell for a missing value"),
        (b"nan,2,a", "label column 'y' is nan: write an empty cell or null for a missing value"),
        (b"1,cheap,a", "column 'price': expected a number (all of the first 3 are), got 'cheap': write a number or nothing, or skip such lines with --skip-bad, or read categories with --categorical price"),
        (b"1,inf,a", "column 'price' is inf: write a finite number"),
        (b"1,1e300,a", "column 'price' is 1e+300, too large for single precision: write a number below 3.4e38 in size"),
        (b"1,0x10,a", "column 'price': expected a number (all of the first 3 are), got '0x10': write a number or nothing, or skip such lines with --skip-bad, or read categories with --categorical price"),
        (b"1,2,\xff", "column 'color' is not UTF-8 in '\\udcff': save the file as UTF-8"),
    ],
)  # fmt: skip
def test_a_bad_row_says_what_was_expected_and_found(monkeypatch, row, message):
    monkeypatch.setattr(csv, "BLOCK", 32)  # so that the first block knows nothing of the bad row
    parts = read(b"y,price,color\n" + b"1,2.5,red\n" * 10 + row + b"\n1,3.5,blue\n")
    assert [str(fault) for parsed in parts for fault in parsed.bad] == [f"shop.csv:12: {message}"]
    assert sum(len(parsed.line) for parsed in parts) == 11


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"", {}, "shop.csv:1: expected a header with the names of the columns, got nothing"),
        (b"\n1,2\n", {}, "shop.csv:1: expected a header with the names of the columns, got nothing"),
        (b"\xff,y\n", {}, "shop.csv:1: the header is not UTF-8: save the file as UTF-8"),
        (b",y\n", {}, "shop.csv:1: column 1 has no name: write one (pandas leaves the index out with to_csv(index=False))"),
        (b"a,b\n1,2\n", {}, "shop.csv: no column 'y' for the label; the columns are 'a', 'b'"),
        (b"y,a,a\n", {}, "shop.csv: 2 columns are named 'a': rename all but one"),
        (b"y,a\n", {"interactions": (("a", "b"),)}, "shop.csv: no column 'b' for an interaction; the columns are 'y', 'a'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_whole_file_is_said_at_once(data, options, message):
    with pytest.raises(DataError) as caught:
        read(data, **options)
    assert str(caught.value) == message


def test_a_row_longer_than_a_block_is_refused(monkeypatch):
    monkeypatch.setattr(csv, "BLOCK", 32)
    with pytest.raises(DataError, match=r"^shop.csv: "):
        read(b"y,a\n1," + b"x" * 1000 + b"\n1,2\n")


def test_names_of_rows_that_are_not_utf_8_are_bad_lines():
    file = io.BytesIO(b"label,id,a\n1,caf\xe9,2\n0,tea,3\n")
    (parsed,) = csv.batches(file, "a.csv", ReadOptions(id_column="id"))
    assert parsed.tags == ["tea"]
    assert [bad.line for bad in parsed.bad] == [2]


@pytest.mark.parametrize("tail", ["", "\n", "1,2\n", "1,2\n" * 10, "1,2\n" * 2_000_000])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('y,a\n1,"never closed\n', 2),
        ('y,a\n1,"x\ny"\n-1,"never ""closed""\n', 4),
        ('y,a\r\n1,5" pipe\r\n"never closed,2\r\n', 3),
        ('y,a\n1,2\n1,"""never closed\n', 3),
    ],
)
def test_a_quote_that_is_not_closed_is_refused_where_it_is_opened(text, tail, line):
    file = io.BytesIO((text + tail).encode())
    with pytest.raises(DataError) as caught:
        list(csv.batches(file, "shop.csv", ReadOptions(label_column="y")))
    assert str(caught.value) == (
        f"shop.csv:{line}: a quote is opened here and not closed: close it, or write a quote that "
        "belongs to a cell twice, and the cell in quotes"
    )


def test_a_quote_of_the_header_that_is_not_closed_is_refused():
    with pytest.raises(DataError, match=r"^shop\.csv:1: a quote is opened here and not closed"):
        list(csv.batches(io.BytesIO(b'y,"a\n1,2\n'), "shop.csv", ReadOptions(label_column="y")))


def test_no_row_is_used_of_a_part_that_ends_in_an_open_quote():
    file = io.BytesIO(b'y,a\n1,2\n1,"x\n')
    parts = csv.batches(file, "shop.csv", ReadOptions(label_column="y"))
    with pytest.raises(DataError):
        next(parts)


@pytest.mark.parametrize("cut", range(1, 24))
def test_quotes_are_followed_wherever_the_file_is_cut(cut):
    text = b'1,"a""b",c"\n"x\ny",""\r\n"z'
    quotes = csv.Quotes(io.BytesIO(text), "shop.csv", ",")
    assert quotes.read(cut) + quotes.read(99) == text
    with pytest.raises(DataError, match=r"shop.csv:4: "):
        quotes.check()
