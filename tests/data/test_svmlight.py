"""svmlight: the kernel reads what the reference reads, and says of every other line what is wrong."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwindle.data.formats import svmlight
from dwindle.data.formats.block import Block
from helpers import reference_parsers as reference
from helpers.damaged_text import anything


def block(data, line=1):
    return Block(np.frombuffer(data, np.uint8), "data.svm", line)


def parse(text):
    return svmlight.parse(block(text.encode()))


FAR = b"\n1 " + b"77:1 " * 40  # what comes last in a block is read with more care


def check(data, line=1):
    for text in (data, data + FAR):
        reading = reference.svmlight(text, line)
        reference.check(svmlight.parse(block(text, line)), reading, "data.svm", named=False)


numbers = st.one_of(
    st.sampled_from(
        ["1", "-1", "+1", "0", "0.5", "1e-3", "3e38", "1e39", "-0", "1e-46", "5.", ".5"]
    ),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["inf", "-NaN", "", "1y", "1:2", "0x1", "1_0", "1,3", ".", "-", "1e", "½"]),
)
indices = st.one_of(
    st.integers(0, 10**6).map(str),
    st.integers(2**64 - 3, 2**64 + 1).map(str),
    st.sampled_from(["007", "00", "", "-1", "+1", "1.0", "a", "qid", "0", "9" * 19, "9" * 20]),
)
features = st.one_of(
    st.builds("{}:{}".format, indices, numbers),
    st.builds("{}:{}".format, st.integers(0, 10**6), st.floats(-10, 10)),
    st.builds("{}:{}".format, st.integers(0, 10**6), st.floats(-10, 10)),
)
gaps = st.sampled_from([" ", " ", " ", "  ", "\t"])
qids = st.sampled_from(
    ["", "", "", " qid:3", " qid:-1", " qid:", " qid:x", " qid:1.0", "\tqid:007"]
)
comments = st.sampled_from(["", "", " # a 1:2 comment", "#", " "])


@st.composite
def lines(draw):
    body = "".join(draw(gaps) + draw(features) for _ in range(draw(st.integers(0, 5))))
    lead = draw(st.sampled_from(["", "", "", " "]))
    return lead + draw(numbers) + draw(qids) + body + draw(comments)


texts = st.lists(lines(), max_size=4).map("\n".join).map(str.encode)
pieces = [b"\0", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"#", b",", b"\xff", b"9"]
everything = anything(texts, pieces, b":: \t\n\r01.-+e#q,")


@given(everything, st.sampled_from([1, 7]))
@example(b"\xef\xbb\xbf1 1:1", 1)
@example(b"\xef\xbb\xbf1 1:1", 7)
@example(b"1 1:1\r\n\r\n# only a comment\r\n-1 2:2\r", 1)
@example(b"1 1:1.00000005960464477539062500001 2:1.00000005960464477539062500000\n", 1)
@example(b"1.00000005960464477539062500001#\n", 1)
@example(b"", 1)
def test_the_kernel_reads_what_the_reference_reads(data, line):
    check(data, line)


tokens = [
    "3:0.5",
    "7",
    "#c 1:2",
    "x",
    "4:1e-5",
    "5:",
    "",
    "\t",
    "qid:1",
    "+1",
    "9:0",
    "1:2#",
    "\r",
    "|",
]


@given(
    st.lists(st.lists(st.sampled_from([*tokens, "9" * 11 + ":1.5e-07"]), max_size=12), min_size=1)
)
@example([["7"], ["#c"], ["1:2", "#c 1:2"], ["x", "1:1"]])
def test_tokens_that_are_no_features_end_a_line_or_make_it_bad(rows):
    check("".join(f"1 {' '.join(row)}\n" for row in rows).encode())


MALFORMED = {
    "1:2 3:4": "expected a target first, got '1:2': write a number before it",
    "1,3 1:1": "multi-label targets are not supported: got '1,3', write one number",
    "abc 1:1": "expected a number as target, got 'abc': write a number",
    "nan 1:1": "target 'nan' is not finite: write a finite number",
    "1e39 1:1": (
        "target '1e39' is too large for single precision: write a number below 3.4e38 in size"
    ),
    "1 qid:x 1:1": "expected an integer as qid, got 'qid:x': write qid:1",
    "1 1:1 qid:3": "qid out of place: write 'qid:3' after the target, once",
    "1 foo": "expected index:value, got 'foo': write an integer, ':' and a number",
    "1 foo:1": "expected index:value, got 'foo:1': write an integer, ':' and a number",
    "1 -1:1": "expected index:value, got '-1:1': write an integer, ':' and a number",
    "1 :1": "expected index:value, got ':1': write an integer, ':' and a number",
    "1 5": "expected index:value, got '5': write an integer, ':' and a number",
    "1 007:1": "index '007' has leading zeros: write '7'",
    "1 00:1": "index '00' has leading zeros: write '0'",
    "1 18446744073709551615:1": (
        "index '18446744073709551615' is too large: write at most 18446744073709551614"
    ),
    "1 1:": "value of nothing in '1:': write a number after ':'",
    "1 1:2:3": "second ':' in '1:2:3': write index:value",
    "1 1:x": "expected a number as value, got 'x': write a number",
    "1 1:inf": "value 'inf' is not finite: write a finite number",
    "1 1:-1e39": (
        "value '-1e39' is too large for single precision: write a number below 3.4e38 in size"
    ),
    "1 1:1\0": "NUL byte in the line: remove it",
    "1 1:1\r2:2": "carriage return inside the line: end lines with \\n or \\r\\n",
}


@pytest.mark.parametrize(("line", "message"), MALFORMED.items())
def test_a_malformed_line_is_refused_in_these_words(line, message):
    parsed = parse(f"1 1:1\n{line}\n1 2:2\n")
    assert [str(bad) for bad in parsed.bad] == [f"data.svm:2: {message}"]
    assert parsed.batch.key.tolist() == [1, 2]
    assert parsed.line.tolist() == [1, 3]


def test_blank_lines_and_comments_are_skipped_and_counted():
    parsed = parse("# head\n\n1 3:2 3:4 2:0 # tail\n \t\n-1 qid:7 18446744073709551614:1\n")
    assert parsed.bad == []
    assert parsed.line.tolist() == [3, 5]
    assert parsed.batch.start.tolist() == [0, 2, 3]
    assert parsed.batch.key.tolist() == [3, 3, 2**64 - 2]
    assert parsed.batch.importance.tolist() == [1, 1]


@pytest.mark.parametrize("options", [{"interactions": (("a", "b"),)}, {"ignore": frozenset("a")}])
def test_namespaces_are_refused_because_there_are_none(options):
    with pytest.raises(ValueError, match="svmlight has no namespaces"):
        svmlight.parse(block(b"1 1:1\n"), **options)
