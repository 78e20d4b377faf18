"""JSON lines are what the reference makes of them, and of every other line it is said what is wrong."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwindle.data.formats import jsonl
from dwindle.data.formats.block import Block
from dwindle.data.formats.vw import parser as vw
from helpers import reference_columns as reference

INTERACTIONS = (("price", "color"), ("user", "user"), ("user", "price", "user"), ("color", "color"))


def parse(data, line=1, **options):
    data = data.encode() if isinstance(data, str) else data
    return jsonl.parse(Block(np.frombuffer(data, np.uint8), "data.jsonl", line), **options)


numbers = st.one_of(
    st.sampled_from([0, -0.0, 1, 3.5, 1e30, 1e39, 1e-46, 2**53 + 1, 2**70, True, False]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**63), 2**64 - 1),
)
scalars = st.one_of(
    st.none(), numbers, st.sampled_from(["", "red", "a\0b", "ü"]), st.text(max_size=6)
)
names = st.sampled_from(["price", "color", "user", "on", "12", "", "ü", "a\0b"])
values = st.one_of(
    scalars,
    scalars,
    st.dictionaries(names, st.one_of(scalars, st.just({"a": 1})), max_size=3),
    st.sampled_from([[1, 2], [], ["red", "blue", "red"], ["red", 1]]),
)
objects = st.fixed_dictionaries(
    {"features": st.dictionaries(names, values, max_size=5)},
    optional={
        "label": st.one_of(st.none(), numbers),
        "weight": st.one_of(st.none(), st.sampled_from([0, 2.5, -1, 1e39])),
        "tag": st.sampled_from([None, "", "t", 5]),
        "extra": st.just(1),
    },
)
scraps = st.sampled_from(
    [
        "",
        "  ",
        "\r",
        "{",
        "1",
        "[]",
        "null",
        '{"label": NaN, "features": {}}',
        '{"features": 1}',
        "{}",
    ]
)
lines = st.one_of(
    objects.map(json.dumps), objects.map(lambda o: json.dumps(o, ensure_ascii=False)), scraps
)
texts = st.lists(lines, max_size=5).map("\n".join).map(lambda text: text.encode("utf-8", "replace"))


@given(texts, st.sampled_from([1, 7]))
@example(b'{"features": {"a": 1}}\r\n\r\n{"features": {"a": 0, "a": 2}}', 1)
def test_lines_are_read_as_the_reference_reads_them(data, line):
    reference.check(parse(data, line), reference.jsonl(data, line))


@given(texts, st.frozensets(st.sampled_from(["on", "12", "ü"])))
def test_products_and_what_is_ignored_are_those_of_the_reference(data, ignore):
    options = {"interactions": INTERACTIONS, "ignore": ignore}
    reference.check(parse(data, **options), reference.jsonl(data, **options))


@given(st.lists(objects.map(json.dumps), min_size=2, max_size=5), st.integers(1, 4))
def test_lines_are_read_alike_wherever_the_text_is_cut_into_blocks(lines, at):
    whole = parse("\n".join(lines))
    first, rest = parse("\n".join(lines[:at])), parse("\n".join(lines[at:]), 1 + len(lines[:at]))
    assert whole.bad == first.bad + rest.bad
    assert whole.line.tolist() == [*first.line, *rest.line]
    assert list(whole.batch.names) == [*first.batch.names, *rest.batch.names]
    assert whole.batch.key.tolist() == [*first.batch.key, *rest.batch.key]


def test_tags_are_kept_for_the_examples_that_are():
    lines = ['{"tag": "a", "features": {}}', "{", '{"features": {}}']
    assert parse("\n".join(lines)).tags == ["a", ""]
    assert parse(lines[2]).tags is None
    large = '{"tag": "b", "features": {"a": 1e39}}'
    assert parse("\n".join([large, lines[0]])).tags == ["a"]
    product = '{"tag": "b", "features": {"a": 1e30}}'
    assert parse("\n".join([product, lines[0]]), interactions=(("a", "a"),)).tags == ["a"]


def test_a_namespace_is_that_of_vw_text():
    line = '{"label": 1, "features": {"user": {"age": 30, "city": "x"}, "12": 2}}'
    batch = parse(line, interactions=(("user", "user"),)).batch
    text = np.frombuffer(b"1 |user age:30 city:x | 12:2", np.uint8)
    same = vw.parse(Block(text, "data.vw"), interactions=(("user", "user"),)).batch
    assert list(batch.names) == list(same.names)
    assert batch.key.tolist() == same.key.tolist()
    assert batch.x.tolist() == same.x.tolist()


def test_a_byte_order_mark_is_skipped_on_line_1_only():
    line = b'\xef\xbb\xbf{"features": {"a": 1}}'
    assert len(parse(line, 1).line) == 1
    assert len(parse(line, 2).bad) == 1


def test_an_ignored_member_is_not_looked_at():
    line = '{"features": {"a": 1, "b": [1, {}]}}'
    assert list(parse(line, ignore=frozenset(["b"])).batch.names) == ["a"]


def test_what_is_not_labeled_is_not_learned_from():
    batch = parse('{"weight": 3, "features": {}}\n{"label": null, "features": {}}').batch
    assert (batch.label.tolist(), batch.importance.tolist()) == ([0, 0], [0, 0])


def test_more_products_than_fit_are_a_bad_line():
    members = ", ".join(f'"{i}": 1' for i in range(6000))
    parsed = parse(f'{{"features": {{"f": {{{members}}}}}}}', interactions=(("f", "f"),))
    assert [fault.message for fault in parsed.bad] == [
        "the interactions make more than 2097152 products of this row: leave one of them out, or split the row"
    ]


LIKE = 'like {"label": 1, "features": {"price": 3.5, "color": "red"}}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", f"not JSON at its end: write one line {LIKE}"),
        ('{"label": nan}', f"not JSON from 'nan}}' on: write one line {LIKE}"),
        ('{"label": 1} x', f"not JSON from 'x' on: write one line {LIKE}"),
        ("1 | a:2", f"not JSON from '| a:2' on: write one line {LIKE}"),
        ("[1]", f"expected an object, got [1]: write one {LIKE}"),
        ("{}", f'no "features", which the first line has: write one {LIKE}'),
        ('{"label": 1, "price": 3.5, "on": 1}', 'unknown member "price", "on": write it inside "features"'),
        ('{"features": [1]}', 'expected an object as "features", got [1]: write {"name": value}'),
        ('{"label": [1], "features": {}}', 'expected a number as "label", got [1]: write a number or null'),
        ('{"label": 1e39, "features": {}}', '"label" is 1e+39, too large for single precision: write a number below 3.4e38 in size'),
        ('{"weight": [], "features": {}}', 'expected a number as "weight", got []: write a number or null'),
        ('{"weight": -1, "features": {}}', '"weight" is -1.0: write 0 to learn nothing from the line'),
        ('{"tag": 5, "features": {}}', 'expected a string as "tag", got 5: write it in quotes'),
        ('{"features": {"a": 1e39}}', 'feature "a" is 1e+39, too large for single precision: write a number below 3.4e38 in size'),
        ('{"features": {"u": {"a": -1e39}}}', 'feature "u.a" is -1e+39, too large for single precision: write a number below 3.4e38 in size'),
        ('{"features": {"a": [1, 2]}}', 'expected a number, a string, true, false, null or a list of strings as feature "a", got [1,2]: write an object, like {"a": 1, "b": 1}'),
        ('{"features": {"u": {"a": [1]}}}', 'expected a number, a string, true, false, null or a list of strings as feature "u.a", got [1]: write an object, like {"a": 1, "b": 1}'),
        ('{"features": {"u": {"v": {}}}}', 'feature "u.v" is an object inside a namespace: write namespaces one level deep'),
        ('{"features": {"a\\u0000": 1}}', 'NUL character in feature "a\\u0000": remove it'),
        ('{"features": {"a": 1, "b": 2, "a": 3}}', 'member "a" is there 2 times: write it once'),
        (b'{"features": {"\xff": 1}}', None),
    ],
)  # fmt: skip
def test_a_bad_line_says_what_was_expected_and_found(line, message):
    line = line.encode() if isinstance(line, str) else line
    parsed = parse(b'{"features": {"a": 1}}\n' + line + b'\n{"features": {"a": 2}}\n')
    assert [fault.line for fault in parsed.bad] == [2]
    assert parsed.batch.x.tolist() == [1, 2]
    assert message is None or str(parsed.bad[0]) == f"data.jsonl:2: {message}"


def test_an_interaction_of_one_is_refused():
    with pytest.raises(ValueError, match="an interaction is of 2 or 3 members"):
        parse("", interactions=(("a",),))
