"""Lines of VW text, well formed or not, and whether the kernel reads them as the reference does."""

import numpy as np
from hypothesis import strategies as st

from dwindle.data.formats.block import Block
from dwindle.data.formats.vw import parser as vw
from helpers import reference_parsers as reference
from helpers.damaged_text import anything


def block(data, line=1):
    return Block(np.frombuffer(data, np.uint8), "data.vw", line)


def parse(text, **options):
    return vw.parse(block(text.encode() if isinstance(text, str) else text), **options)


FAR = b"\n1 | " + b"far " * 40  # what comes last in a block is read with more care


def check(data, line=1, **options):
    for text in (data, data + FAR):
        reading = reference.vw(text, line, **options)
        reference.check(vw.parse(block(text, line), **options), reading, "data.vw", named=True)


# Lines that may be well formed, and what may happen to them


digits = st.text("0123456789", max_size=25)
plain_numbers = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "", "-", "+"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(st.just(""), st.builds("e{}".format, st.integers(-60, 60)), st.just("E+7")),
)
numbers = st.one_of(
    st.sampled_from(
        ["1", "-1", "0", "0.5", "2.25", "1e-3", "3e38", "1e39", "-0", "1e-46", "7e-46"]
    ),
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    plain_numbers,
)
names = st.one_of(
    st.sampled_from(["a", "b", "12", "0", "007", "18446744073709551614", "18446744073709551615"]),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r:|\0"), max_size=40
    ),
    st.sampled_from(["x" * 31, "x" * 32, "y" * 33, "z" * 70]),
)
values = st.one_of(
    st.just(""),
    st.just(""),
    numbers.map(":{}".format),
    names.map(":{}".format),
    st.sampled_from([":inf", ":NaN", ":Infinity", ":-inf", ":", ":1y", ":1:2", ":.", ":1e", ":+"]),
)
features = st.builds("{}{}".format, names, values)
gaps = st.sampled_from([" ", " ", " ", "  ", "\t", " \t "])
namespaces = st.one_of(
    st.sampled_from(["", "f", "g", "ü", "long namespace".replace(" ", "_")]), names
)
scales = st.one_of(st.just(""), st.just(""), st.just(""), numbers.map(":{}".format))


@st.composite
def sections(draw):
    header = f"|{draw(namespaces)}{draw(scales)}"
    return header + "".join(draw(gaps) + draw(features) for _ in range(draw(st.integers(0, 5))))


@st.composite
def lines(draw):
    head = " ".join(draw(st.lists(numbers, max_size=3)))
    tag = draw(st.sampled_from(["", "", "", "'tag", "tag", "'", "'5"]))
    head += (" " if head else "") + tag + draw(st.sampled_from(["", " ", " ", " "]))
    return head + draw(gaps).join(draw(st.lists(sections(), min_size=1, max_size=3)))


texts = st.lists(lines(), max_size=4).map("\n".join).map(str.encode)
pieces = [b"\0", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"|", b"'", b"\xff", b"9"]
everything = anything(texts, pieces, b"|||:: \t\n\r1.-+e'af")
