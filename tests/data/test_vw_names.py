"""VW text: keys are those of the names, and names are whole when they are asked for."""

import numpy as np
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from dwindle.data.formats.vw.names import GUESS, LONG
from dwindle.features import xxh64 as keys
from dwindle.features.keys import key_of
from dwindle.features.names import decoded
from helpers import reference_parsers as reference
from helpers.compiled import kernel_of
from helpers.vw_lines import names, parse

xxh64, key_of_number, mix = map(kernel_of, (keys.xxh64, keys.key_of_number, keys.mix))


@pytest.mark.slow
@given(st.binary(max_size=100), st.integers(0, 2**64 - 1), st.integers(0, 99))
def test_xxh64_is_that_of_the_xxhash_package(data, seed, at):
    text = np.frombuffer(data + b" ", np.uint8)
    n = len(data)
    assert xxh64(text.ctypes.data, 0, n, np.uint64(seed), -1) == xxhash.xxh64_intdigest(data, seed)
    if at < n:
        colon, equals = bytearray(data), bytearray(data)
        colon[at : at + 1], equals[at : at + 1] = b":", b"="
        text = np.frombuffer(colon, np.uint8)
        expected = xxhash.xxh64_intdigest(bytes(equals), seed)
        assert xxh64(text.ctypes.data, 0, n, np.uint64(seed), at) == expected


@given(st.integers(0, 10**16 - 1), st.sampled_from(["", "f", "ü"]))
@example(10**16 - 1, "f")
@example(10**8 - 1, "f")
@example(10**8, "f")
def test_the_key_of_an_unnamed_feature_is_that_of_its_number(number, namespace):
    seed = xxhash.xxh64_intdigest(namespace.encode())
    assert key_of_number(number, np.uint64(seed)) == key_of(str(number), namespace)


@given(st.integers(0, 2**64 - 2), st.integers(0, 2**64 - 2))
def test_mixing_depends_on_the_order_and_is_xxh64_of_one_seeded_by_the_other(a, b):
    assert mix(np.uint64(a), np.uint64(b)) == reference.mix(a, b)


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


def test_products_are_named_by_their_parts():
    batch = parse("1 |A a:2 |B b:3", interactions=(("A", "B"), ("A", "A"), ("B", "A", "B"))).batch
    assert list(batch.names)[2:] == ["A*B\0a*b", "A*A\0a*a", "B*A*B\0b*a*b"]
    assert batch.x.tolist() == [2, 3, 6, 4, 18]
    mix, a, b = reference.mix, key_of("a", "A"), key_of("b", "B")
    assert batch.key[2] == mix(a, b) != mix(b, a)
    assert batch.key[4] == mix(mix(b, a), b)


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
