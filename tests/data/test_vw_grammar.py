"""VW text: what each part of a line means, and what is said of a line that is wrong."""

import re

import pytest

from helpers.vw_lines import check, parse

MALFORMED = {
    "1 a b": "expected 'label |namespace features', got '1 a b': write '|' before the features",
    "1\t2 |f a": "TAB before '|' in '1\\t2 ': write spaces between label, importance, base and tag",
    "1\t|f a": "TAB before '|' in '1\\t': write spaces between label, importance, base and tag",
    "1|f a": "label '1' touches '|': write '1 |'",
    "-1e3|f a": "label '-1e3' touches '|': write '-1e3 |'",
    "nan|f a": "label 'nan' touches '|': write 'nan |'",
    "abc |f a": "expected a number as label, got 'abc': write a number, or ' before a tag",
    "1y |f a": "expected a number as label, got '1y': write a number, or ' before a tag",
    "'tag 1 |f a": """expected a number as label, got "'tag": write a number, or ' before a tag""",
    "inf |f a": "label 'inf' is not finite: write a finite number",
    "1e39 |f a": (
        "label '1e39' is too large for single precision: write a number below 3.4e38 in size"
    ),
    "1 tag |f a": "expected a number as importance, got 'tag': write a number, or ' before a tag",
    "1 -2 |f a": "importance '-2' is negative: write 0 to learn nothing from the line",
    "1 1 x |f a": "expected a number as base, got 'x': write a number, or ' before a tag",
    "1 2 3 4 |f a": (
        "expected at most label, importance and base, got '4' too: write ' before a tag"
    ),
    "1 |f: a": "scale of nothing in '|f:': write '|f', or a number after ':'",
    "1 |f:x a": "expected a number as scale, got 'x': write a number",
    "1 |f:2x a": "expected a number as scale, got '2x': write a number",
    "1 |f:0 a": "scale of 0 in '|f:0': ignore the namespace, or leave it out",
    "1 |f:1e-99 a": "scale of 0 in '|f:1e-99': ignore the namespace, or leave it out",
    "1 |f:nan a": "scale 'nan' is not finite: write a finite number",
    "1 |f:1e40 a": (
        "scale '1e40' is too large for single precision: write a number below 3.4e38 in size"
    ),
    "1 |f:1:2 a": "second ':' in '|f:1:2': write |namespace:scale",
    "1 |:2 a": "scale of no namespace in '|:2': write |namespace:scale",
    "1 |f|g a": "'|' inside '|f|g': write a space before it",
    "1 ||f a": "'|' inside '||f': write a space before it",
    "1 | a|b c": "'|' inside 'a|b': write a space before it",
    "1 | a:1|b c": "'|' inside 'a:1|b': write a space before it",
    "1 | a:1y": (
        "expected a number as value, got '1y': write a number, or text that does not begin like one"
    ),
    "1 | a:1_000": (
        "expected a number as value, got '1_000': "
        "write a number, or text that does not begin like one"
    ),
    "1 | a:0x10": (
        "expected a number as value, got '0x10': "
        "write a number, or text that does not begin like one"
    ),
    "1 | a:-inf": "value '-inf' is not finite: write a finite number",
    "1 | a:1:2": "second ':' in 'a:1:2': write name:value",
    "1 | a::2": "second ':' in 'a::2': write name:value",
    "1 | a:": "value of nothing in 'a:': write 'a', or a number after ':'",
    "1 | :": "value of nothing in ':': write name:value",
    "1 | :x": "text without a name in ':x': write name:text",
    "1 | b:inf": "value 'inf' is not finite: write a finite number",
    "1 | b:NaN": "value 'NaN' is not finite: write a finite number",
    "1 | b:Infinity": "value 'Infinity' is not finite: write a finite number",
    "1 | b:1e39": (
        "value '1e39' is too large for single precision: write a number below 3.4e38 in size"
    ),
    "1 |f:1e30 b:1e30": (
        "'b:1e30' times the scale of its namespace is too large for single precision: "
        "scale one of them down"
    ),
    "1 | a\0b": "NUL byte in the line: remove it",
    "1 | a\rb": "carriage return inside the line: end lines with \\n or \\r\\n",
    "1 | a:1" + "0" * 50 + "y": (
        f"expected a number as value, got '1{'0' * 39}'...: "
        "write a number, or text that does not begin like one"
    ),
}


def test_blank_lines_are_skipped_counted_and_no_examples():
    parsed = parse("\n1 | a\n\n \t \r\n-1 | b\n\n\n")
    assert parsed.line.tolist() == [2, 5]
    assert (parsed.bad, parsed.n_blank) == ([], 5)


@pytest.mark.parametrize(("line", "message"), MALFORMED.items())
def test_a_malformed_line_is_refused_in_these_words(line, message):
    parsed = parse(f"1 | before\n{line}\n1 | after\n")
    assert [str(bad) for bad in parsed.bad] == [f"data.vw:2: {message}"]
    assert list(parsed.batch.names) == ["before", "after"]
    assert parsed.line.tolist() == [1, 3]


WELL_FORMED = {
    "|": (0, 0, ""),
    "| a": (0, 0, ""),
    "1 |f a": (1, 1, ""),
    "  1  |f a": (1, 1, ""),
    "1 0.5 |f a": (1, 0.5, ""),
    "1 0 |f a": (1, 0, ""),
    "1 tag|f a": (1, 1, "tag"),
    "1 2|f a": (1, 1, "2"),
    "abc|f a": (0, 0, "abc"),
    "'tag |f a": (0, 0, "tag"),
    "1 'tag |f a": (1, 1, "tag"),
    "'1|f a": (0, 0, "1"),
    "1 2 3 'it's|f a": (1, 2, "it's"),
}


@pytest.mark.parametrize(("line", "expected"), WELL_FORMED.items())
def test_label_importance_and_tag_are_told_apart(line, expected):
    batch, _, bad, tags, *_ = parse(line)
    assert bad == []
    assert (batch.label[0], batch.importance[0], tags[0] if tags else "") == expected


def test_a_base_is_given_only_if_some_line_has_one():
    assert parse("1 2 |f a\n").batch.base is None
    assert parse("1 2 |f a\n1 2 0.25 |f a").batch.base.tolist() == [0, 0.25]


def test_a_product_that_is_too_large_is_refused_by_the_name_of_its_interaction():
    bad = parse("1 |A a:1e30 |B b:1e30", interactions=(("A", "B"),)).bad
    assert [fault.message for fault in bad] == [
        "a product of the interaction A*B is too large for single precision: scale its values down"
    ]


def test_a_line_that_would_make_too_many_products_is_refused():
    data = b"1 |f" + b" a" * 6000 + b"\n"
    message = (
        "the interactions make more than 2097152 products of this line: "
        "leave one of them out, or split the line"
    )
    check(data, interactions=(("f", "f"),))
    parsed = parse(data, interactions=(("f", "f"), ("f", "f", "f")))
    assert [bad.message for bad in parsed.bad] == [message]


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b", "c", "d")])
def test_an_interaction_of_other_than_two_or_three_namespaces_is_refused(names):
    with pytest.raises(ValueError, match="2 or 3 namespaces, got " + re.escape(repr(names))):
        parse("1 | a", interactions=(names,))
