"""VW text: the kernel reads what the reference reads, and says of every other line what is wrong."""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

import reference_parsers as reference
from dwindle.formats import keys, vw
from dwindle.formats.block import Block
from dwindle.formats.spans import GUESS, LONG
from dwindle.hashing import key_of
from dwindle.names import decoded

INTERACTIONS = (("f", "g"), ("f", "f"), ("", "f"), ("g", "f", "g"), ("f", "f", "f"), ("", "g", "ü"))


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
pieces = st.sampled_from(
    [b"\0", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"|", b"'", b"\xff", b"9"]
)


@st.composite
def mutations(draw):
    data = bytearray(draw(texts))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 2))] = draw(pieces)
    return bytes(data)


scraps = st.lists(st.sampled_from([bytes([b]) for b in b"|||:: \t\n\r1.-+e'af"]), max_size=40)
anything = st.one_of(texts, mutations(), scraps.map(b"".join), st.binary(max_size=60))


@given(anything, st.sampled_from([1, 7]))
@example(b"\xef\xbb\xbf1 | a", 1)
@example(b"\xef\xbb\xbf1 | a", 7)
@example(b"1 | a\r\n\r\n1 | b\r", 1)
@example(b"1 | :0 :2 x :3 |f :4 :0 | :5\n", 1)
def test_the_kernel_reads_what_the_reference_reads(data, line):
    check(data, line)


@given(anything)
@example(b"1 |f a:2 b |g c |f d:1e-30 |g e:1e-30 | x\n")
@example(b"1 |f a:1e30 |g b:1e30\n1 |f a:1e20 |g b\n")
def test_products_of_namespaces_are_those_of_the_reference(data):
    check(data, interactions=INTERACTIONS)


@given(anything, st.frozensets(st.sampled_from(["", "f", "g", "h", "\udcff"])))
def test_ignored_namespaces_are_checked_and_left_out(data, ignore):
    check(data, ignore=ignore, interactions=INTERACTIONS[:2])


@given(anything, st.integers(0, 60))
def test_lines_are_read_alike_wherever_the_text_is_cut_into_blocks(data, at):
    at = data.find(b"\n", at) + 1
    one, rest = block(data[:at]), block(data[at:], 1 + data[:at].count(b"\n"))
    if rest.line == 1:
        return
    parts = vw.parse(one), vw.parse(rest)
    whole = vw.parse(block(data))
    assert whole.bad == parts[0].bad + parts[1].bad
    assert whole.line.tolist() == [line for part in parts for line in part.line]
    assert list(whole.batch.names) == [name for part in parts for name in part.batch.names]
    assert whole.batch.x.tolist() == [x for part in parts for x in part.batch.x]


long_names = st.sampled_from(["a", "b:0", "c:0.5", "12", "d:1e-7", "e:red", "n" * 20, "w" * 3000])


@given(st.lists(st.tuples(namespaces, st.lists(long_names, max_size=9)), max_size=9), st.data())
def test_long_lines_with_many_namespaces_and_long_names_are_read_like_others(sections, data):
    line = "".join(f" |{name} {' '.join(features)}" for name, features in sections)
    line = "1" + line * data.draw(st.sampled_from([1, 20]))
    other = data.draw(st.sampled_from(["1 |f a |g b", "2 |g a:0 |f b", "1 2 'tag |f a |g:2 b", ""]))
    text = "\n".join(data.draw(st.permutations([line, line, other, other])))
    check(text.encode(), ignore={"g"})


# Numbers


@given(numbers)
@example("16777217")
@example("16777217.000000000000000001")
@example("16777216.999999999999999999")
@example("1.00000005960464477539062500000")
@example("1.00000005960464477539062500001")
@example("340282356779733661637539395458142568447")
@example("340282356779733661637539395458142568448")
@example("340282356779733661637539395458142568447.9999")
@example(
    "7.00649232162408535461864791644958065640130970938257885878534141944895541342930300743319e-46"
)
@example("0" * 400 + "1" + "0" * 400 + "e-400")
@example("." + "0" * 400 + "1e401")
@example("1e99999999999999999999999")
@example("1e-99999999999999999999999")
@example("0e99999999999999999999999")
@example("9007199254740993e22")
@example("18446744073709551616")
@example("." + "9" * 60)
def test_a_number_is_what_python_reads_rounded_to_single_precision(text):
    parsed = parse(f"{text} | a:{text}\n")
    try:
        expected = reference.single(text)
    except ValueError:
        assert parsed.batch.n_examples == 0
        return
    if not np.isfinite(expected):
        assert "too large for single precision" in parsed.bad[0].message
        return
    assert parsed.batch.label.tobytes() == expected.tobytes()
    assert parsed.batch.x.tolist() == ([expected] if expected else [])


@given(st.floats(2.0**-140, 2.0**120, width=32), st.sampled_from([0, 1, -1, 10, -10]), st.data())
def test_numbers_beside_the_middle_of_two_singles_are_rounded_as_python_rounds_them(low, off, data):
    """Where the kernel cannot be sure: 25 digits around (low + high) / 2, which is exact in double."""
    middle = (float(low) + float(np.nextafter(low, np.float32(np.inf)))) / 2
    beside = data.draw(
        st.sampled_from([middle, np.nextafter(middle, 0), np.nextafter(middle, 1e99)])
    )
    mantissa, power = f"{beside:.24e}".split("e")
    text = f"{int(mantissa.replace('.', '')) + off}e{int(power) - 24}"
    check(f"{text} {text} | a:{text} b |f:{text} c\n".encode())


def test_many_numbers_that_the_kernel_is_not_sure_of_cost_one_more_walk(monkeypatch):
    walks = []
    read = vw.read
    monkeypatch.setattr(vw, "read", lambda *args: walks.append(1) or read(*args))
    unsure = "1.00000005960464477539062500001"
    check((f"1 | a b:{unsure}" + f" c:{unsure}" * 500 + "\n").encode() * 50)
    assert len(walks) == 2 * 2  # `check` reads twice


# Memory and machine code


@pytest.mark.skipif(sys.platform != "linux", reason="protects a page as Linux does")
def test_nothing_is_read_past_the_end_of_the_data():
    """The data ends where a page begins that must not be touched: a read there kills the process."""
    script = """
        import ctypes, mmap
        import numpy as np
        from dwindle.formats import svmlight, vw
        from dwindle.formats.block import Block

        page = mmap.PAGESIZE
        memory = np.frombuffer(mmap.mmap(-1, 2 * page), np.uint8)
        address = ctypes.c_void_p(memory.ctypes.data + page)
        assert ctypes.CDLL(None).mprotect(address, page, 0) == 0  # PROT_NONE
        for line in (b"1 2 3 'tag|f:2 abcdefgh:1.5e-3 12:345678 ab:cdefghijk :7 |g:1e5 h",
                     b"1 qid:3 1:2 18446744073709551614:1.5e-3 # comment", b"-inf |f:nan infinity:inf"):
            for n in range(len(line) + 1):
                for text in (line[:n], b"1 |f " + line[:n], b"1 " + line[n:], line[:n] + b"\\r"):
                    data = memory[page - len(text) : page]
                    data[:] = list(text)
                    vw.parse(Block(data, "data"), interactions=(("f", "g"),))
                    svmlight.parse(Block(data, "data"))
        for n in range(100, 300):  # lines that are read the quick way end at each place before it
            text = b"1 |f a:1 b\\n" * 40 + b"1 |ffffffff " + b"word:0.25 " * 30
            text = text[: 440 + n]
            data = memory[page - len(text) : page]
            data[:] = list(text)
            vw.parse(Block(data, "data"))
        print("alive")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
    )
    assert run.stdout == "alive\n", run.stderr[-2000:]


@pytest.mark.slow
def test_a_second_process_compiles_nothing_and_features_are_not_reference_counted(tmp_path):
    script = """
        import re, sys
        import numpy as np
        from dwindle.formats import scan, svmlight, vw
        from dwindle.formats.block import Block

        for raw in (b"1 |f a\\n", bytearray(b"1 |f a\\n")):  # read-only, and not
            data = np.frombuffer(raw, np.uint8)
            vw.parse(Block(data, "data"), interactions=(("f", "f"),))
            svmlight.parse(Block(data, "data"))
        kernels = scan._counts, vw.read, svmlight._read
        assert all(len(kernel.signatures) == 1 for kernel in kernels)
        print(sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels))
        if sys.argv[1:]:
            for kernel in kernels:
                for ir in kernel.inspect_llvm().values():
                    for body in re.split("^define ", ir, flags=re.MULTILINE)[1:]:
                        if "feature" in body.partition("(")[0] or "number" in body.partition("(")[0]:
                            assert "call void @NRT_incref" not in body
    """

    def run(*args):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), *args],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    assert run("inspect") == "3\n"
    assert run() == "0\n"


# Keys and names


@given(st.binary(max_size=100), st.integers(0, 2**64 - 1), st.integers(0, 99))
def test_xxh64_is_that_of_the_xxhash_package(data, seed, at):
    text = np.frombuffer(data + b" ", np.uint8)
    n = len(data)
    assert keys.xxh64(text.ctypes.data, 0, n, np.uint64(seed), -1) == xxhash.xxh64_intdigest(
        data, seed
    )
    if at < n:
        colon, equals = bytearray(data), bytearray(data)
        colon[at : at + 1], equals[at : at + 1] = b":", b"="
        text = np.frombuffer(colon, np.uint8)
        expected = xxhash.xxh64_intdigest(bytes(equals), seed)
        assert keys.xxh64(text.ctypes.data, 0, n, np.uint64(seed), at) == expected


@given(st.integers(0, 10**16 - 1), st.sampled_from(["", "f", "ü"]))
@example(10**16 - 1, "f")
@example(10**8 - 1, "f")
@example(10**8, "f")
def test_the_key_of_an_unnamed_feature_is_that_of_its_number(number, namespace):
    seed = xxhash.xxh64_intdigest(namespace.encode())
    assert keys.key_of_number(number, np.uint64(seed)) == key_of(str(number), namespace)


@given(st.integers(0, 2**64 - 2), st.integers(0, 2**64 - 2))
def test_mixing_depends_on_the_order_and_is_xxh64_of_one_seeded_by_the_other(a, b):
    assert keys.mix(np.uint64(a), np.uint64(b)) == reference.mix(a, b)


@given(st.lists(st.tuples(st.sampled_from(["", "f", "ü"]), names.filter(bool)), max_size=5))
def test_a_name_has_the_key_that_hashing_gives_it(named):
    parsed = parse(
        "1 " + " ".join(f"|{namespace} {name}" for namespace, name in named) + "|" * (not named)
    )
    assert parsed.bad == []
    assert parsed.batch.key.tolist() == [key_of(name, namespace) for namespace, name in named]


def test_names_are_made_only_when_asked_for_and_can_be_sliced():
    names = parse("1 |f a:2 :3 c:d | e").batch.names
    assert len(names) == 4
    assert names[0] == "f\0a"
    assert names[-1] == "e"
    assert names[1:3] == ["f\0000", "f\0c=d"]
    with pytest.raises(IndexError):
        names[4]


def test_unnamed_features_of_a_long_line_are_numbered_from_each_bar():
    n = 20_000
    names = parse("1 | " + " ".join(":1" for _ in range(n)) + " |f :1").batch.names
    assert list(names) == [*map(str, range(n)), "f\0000"]


# Faults

MALFORMED = {
    "": "blank line: remove it, or write '|' for an example with no features",
    " \t ": "blank line: remove it, or write '|' for an example with no features",
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


def test_products_are_named_by_their_parts():
    batch = parse("1 |A a:2 |B b:3", interactions=(("A", "B"), ("A", "A"), ("B", "A", "B"))).batch
    assert list(batch.names)[2:] == ["A*B\0a*b", "A*A\0a*a", "B*A*B\0b*a*b"]
    assert batch.x.tolist() == [2, 3, 6, 4, 18]
    mix, a, b = reference.mix, key_of("a", "A"), key_of("b", "B")
    assert batch.key[2] == mix(a, b) != mix(b, a)
    assert batch.key[4] == mix(mix(b, a), b)


def test_a_product_that_is_too_large_is_refused_by_the_name_of_its_interaction():
    bad = parse("1 |A a:1e30 |B b:1e30", interactions=(("A", "B"),)).bad
    assert [fault.message for fault in bad] == [
        "a product of the interaction A*B is too large for single precision: scale its values down"
    ]


def test_a_line_that_would_make_too_many_products_is_refused():
    data = b"1 |f" + b" a" * 6000 + b"\n"
    message = (
        "the interactions make more than 16777216 products of this line: "
        "leave one of them out, or split the line"
    )
    check(data, interactions=(("f", "f"),))
    parsed = parse(data, interactions=(("f", "f"), ("f", "f", "f")))
    assert [bad.message for bad in parsed.bad] == [message]


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b", "c", "d")])
def test_an_interaction_of_other_than_two_or_three_namespaces_is_refused(names):
    with pytest.raises(ValueError, match="2 or 3 namespaces, got " + re.escape(repr(names))):
        parse("1 | a", interactions=(names,))


def test_an_empty_block_has_no_examples():
    check(b"")
    check(b"\xef\xbb\xbf")


def test_names_that_are_counts_are_counted_once_a_line():
    parsed = parse("1 |f " + ":1 " * 30_000 + "|g :2 a :3\n")
    names = parsed.batch.names
    where = np.arange(len(names))
    bound, text = names.spelled(where)
    expected = [f"f\0{k}" for k in range(30_000)] + ["g\0" + "0", "g\0a", "g\0" + "1"]
    assert text.tobytes().decode() == "".join(expected)
    assert names[29_999] == "f\0" + "29999"
    assert len(bound) == len(names) + 1


@pytest.mark.parametrize("n", [1, 3, 128])
def test_names_are_whole_however_much_room_they_take(n):
    """A guess of the room they take is as likely to be just right as wrong by a byte."""
    room = GUESS * n + LONG
    for total in (*range(room - 10, room + 3), 2 * room - 1, 2 * room, 5 * room):
        sizes = [total // n + (k < total % n) for k in range(n)]
        names = [chr(ord("a") + k % 26) * size for k, size in enumerate(sizes)]
        batch = parse(f"1 | {' '.join(names)}\n").batch
        assert decoded(*batch.names.spelled(np.arange(n))) == names
