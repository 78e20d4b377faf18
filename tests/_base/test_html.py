"""Whatever a name says, it is text on the page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle._base.pages.charts import Axis, Chart, Guide, Series, figure_of
from dwindle._base.pages.document import document, fragment
from dwindle._base.pages.html import Markup, join, stranger, tag
from dwindle._base.pages.tables import pairs, section, table, tiles
from dwindle._base.pages.weights import Share, Weight, namespaces_table, weights_table
from helpers.html import read

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></script><svg onload=alert(1)>",
    "'; --w:1; background:url(//example.org)",
    "&lt;script&gt;",
    "a\0b\x1b]0;title\x07\u202egnp.exe",
    "\udcff lone",
    "]]> --> <!--",
]


def everything(name):
    """A page with this name in every place that takes one."""
    chart = Chart(name, name, Axis(name), Axis(name), [1, 2], [Series(name, [1, 2])],
                  [Guide(name, (0, 0), (1, 1))], marked=(0, name))  # fmt: skip
    parts = [
        section(name, table(name, [name], [[name]]), pairs([(name, name)]), id_="a", about=name),
        tiles([(name, name, name)]),
        weights_table([Weight(name, name, 1.0, name), Weight("", name, -1.0, "b")], 9),
        namespaces_table([Share(name, 1, 1.0), Share("b", 1, 2.0)]),
        figure_of(chart),
    ]
    return document(name, stranger(name), parts)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_adds_no_element_and_no_attribute(name):
    hostile, harmless = read(everything(name)), read(everything("plain"))
    assert hostile.tags == harmless.tags
    assert [(tag, key) for tag, key, _ in hostile.attributes] == [
        (tag, key) for tag, key, _ in harmless.attributes
    ]


def pictured(character):
    """A control character is shown as its picture, half a surrogate pair as a question mark."""
    if character in "\t\n" or character.isprintable():
        return character
    code = ord(character)
    if code < 32 or code == 127:
        return chr(0x2400 + code) if code < 32 else "\N{SYMBOL FOR DELETE}"
    if 0x80 <= code < 0xA0:
        return "\N{REPLACEMENT CHARACTER}"
    return "?" if 0xD800 <= code < 0xE000 else character


@given(st.text(st.characters(codec=None)) | st.sampled_from(HOSTILE))
def test_any_text_comes_back_as_it_was_but_for_control_characters(text):
    page = read(tag("p", text, title=text))
    assert page.text == "".join(map(pictured, text))
    assert page.attributes == [("p", "title", page.text)]
    assert page.tags == ["p"]


def test_markup_in_an_attribute_is_escaped_all_the_same():
    page = read(tag("iframe", srcdoc=tag("p", "a & b", title='"')))
    assert page.attributes == [("iframe", "srcdoc", '<p title="&quot;">a &amp; b</p>')]


def test_markup_is_not_escaped_twice():
    assert join([tag("b", "a & b"), "<", Markup("<br>")]) == "<b>a &amp; b</b>&lt;<br>"


def test_the_page_allows_no_request_and_only_its_own_script():
    page = document("t", "s", [])
    policy = next(v for _, k, v in read(page).attributes if k == "content" and "src" in v)
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "http" not in page.split("<body")[0].replace("http-equiv", "")


def test_a_page_and_a_fragment_carry_style_and_script_and_name_nothing_elsewhere():
    for page in (document("t", "s", [tag("p", "x")]), fragment(tag("p", "x"))):
        found = read(page)
        assert found.tags.count("style") == found.tags.count("script") == 1
        assert not [each for each in found.attributes if each[1] in {"src", "srcset"}]
        assert "@import" not in page
        assert "url(" not in page
        assert len(page) < 25_000
