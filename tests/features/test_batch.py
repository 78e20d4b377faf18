"""What is let in at the door, and what is refused with a sentence."""

import numpy as np
import pytest
import scipy.sparse
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Batch, DataError, Learner
from dwindle.features.keys import LARGEST, key_of
from helpers.compiled import signatures


def same(a, b):
    return all(
        np.array_equal(getattr(a, field), getattr(b, field))
        for field in ("start", "key", "x", "label", "importance")
    )


def test_dicts_csr_and_arrays_make_the_same_batch():
    from_dicts = Batch.from_dicts([{"0": 1.5, "2": -1}, {}, {"7": True}], [1, -1, 1], [1, 2, 0])
    matrix = scipy.sparse.csr_array(([1.5, -1.0, 1.0], ([0, 0, 2], [0, 2, 7])), shape=(3, 8))
    from_csr = Batch.from_csr(matrix, np.array([1, -1, 1]), [1, 2, 0])
    from_arrays = Batch.from_arrays([0, 2, 2, 3], [0, 2, 7], [1.5, -1, 1], [1, -1, 1], [1, 2, 0])
    assert same(from_dicts, from_csr)
    assert same(from_dicts, from_arrays)
    assert from_dicts.names == ["0", "2", "7"]


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_any_scipy_matrix_gives_the_kernels_a_type_they_know(index, value, form):
    dense = np.array([[0, 1, 2], [3, 0, 0]], value)
    matrix = scipy.sparse.csr_array(dense)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    batch = Batch.from_csr(matrix.asformat(form), [1, 1])
    assert (batch.start.dtype, batch.x.dtype) == (np.int64, np.float32)
    assert batch.key.dtype in (np.uint32, np.uint64)
    assert batch.start.tolist() == [0, 2, 3]
    assert batch.key.tolist() == [1, 2, 0]
    assert batch.x.tolist() == [1, 2, 3]


def test_single_precision_and_64_bit_keys_are_taken_without_a_copy():
    start, key = np.array([0, 2]), np.array([3, 4], np.uint64)
    x, label = np.array([1, 2], np.float32), np.array([1], np.float32)
    batch = Batch.from_arrays(start, key, x, label)
    assert batch.start is start
    assert batch.key is key
    assert batch.x is x
    assert batch.label is label


def test_columns_of_a_matrix_are_taken_without_a_copy():
    matrix = scipy.sparse.csr_array(np.eye(3, dtype=np.float32))
    batch = Batch.from_csr(matrix)
    assert np.shares_memory(batch.key, matrix.indices)
    assert np.shares_memory(batch.x, matrix.data)


def test_narrow_and_wide_keys_are_the_same_features():
    narrow = Batch.from_arrays([0, 2], np.array([7, 2**31], np.uint32), [1, 1], [1])
    wide = Batch.from_arrays([0, 2], np.array([7, 2**31], np.uint64), [1, 1], [1])
    learner = Learner()
    learner.learn(narrow)
    assert learner.predict(narrow) == learner.predict(wide)
    assert learner.weights().keys() == {"7", str(2**31)}


def test_strided_and_read_only_arrays_do_not_compile_the_kernel_again():
    x = np.arange(1, 9, dtype=np.float32)[::2]
    frozen = np.frombuffer(np.array([1, -1], np.float32).tobytes(), np.float32)
    batch = Batch.from_arrays([0, 2, 4], [1, 2, 3, 4], x, frozen)
    learner = Learner()
    learner.learn(Batch.from_dicts([{"a": 1}], [1]))
    compiled = len(signatures(learner))
    learner.learn(batch)
    assert len(signatures(learner)) == compiled


def test_read_only_memory_is_read_where_it_stands(tmp_path):
    np.save(tmp_path / "x.npy", np.array([1, 2], np.float32))
    np.save(tmp_path / "key.npy", np.array([3, 4], np.int64))
    x, key = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("x", "key"))
    batch = Batch.from_arrays([0, 2], key, x, [1])
    assert np.shares_memory(batch.x, x)
    assert np.shares_memory(batch.key, key)
    learner = Learner()
    learner.learn(batch)
    assert learner.weights().keys() == {"3", "4"}
    del x, key  # what the batch reads stays
    assert batch.x.tolist() == [1, 2]


def test_a_dense_array_makes_the_same_batch_as_a_sparse_one():
    dense = np.array([[0, 1.5, 0], [0, 0, 0], [2, -1, 3]])
    assert same(
        Batch.from_dense(dense, [1, 1, -1]),
        Batch.from_csr(scipy.sparse.csr_array(dense), [1, 1, -1]),
    )


@given(st.lists(st.integers(0, 4), max_size=8))
def test_rows_are_taken_in_any_order(order):
    rows = [{"a": 1, "b": 2}, {}, {"c": 3}, {"a": 4}, {"d": 5, "e": 6, "f": 7}]
    batch = Batch.from_dicts(rows, [1, 2, 3, 4, 5], [5, 4, 3, 2, 1])
    taken = batch.take(np.array(order, np.int64))
    expected = Batch.from_dicts(
        [rows[i] for i in order], [i + 1 for i in order], [5 - i for i in order]
    )
    assert same(taken, expected)
    assert list(taken.names) == expected.names


def test_values_of_zero_are_left_out():
    batch = Batch.from_dicts([{"a": 0, "b": 1}, {"c": 0.0}, {"d": False, "e": 2}], [1, 1, 1])
    assert batch.names == ["b", "e"]
    assert batch.start.tolist() == [0, 1, 1, 2]
    assert batch.x.tolist() == [1, 2]


def test_a_value_that_is_text_is_the_feature_name_equals_text():
    assert Batch.from_dicts([{"color": "red"}]).names == ["color=red"]


BAD = [
    (
        lambda: Batch.from_dicts([{"a": 1}, {"b": float("nan")}]),
        "example 1: the value of feature 'b' is nan, not finite",
    ),
    (
        lambda: Batch.from_dicts([{"a": float("inf")}]),
        "example 0: the value of feature 'a' is inf, not finite",
    ),
    (
        lambda: Batch.from_dicts([{"a": 1e39}]),
        "example 0: the value of feature 'a' is 1e+39, too large for single precision",
    ),
    (
        lambda: Batch.from_dicts([{"a": None}]),
        "example 0: feature 'a' must be a number or a string, got None",
    ),
    (
        lambda: Batch.from_dicts([{3: 1.0}]),
        "example 0: a feature's name must be a string, got 3 (write '3')",
    ),
    (lambda: Batch.from_dicts([["a"]]), "example 0: expected a dict of name: value, got list"),
    (
        lambda: Batch.from_dicts([{"a": 1}] * 3, [1, 2, float("nan")]),
        "example 2: the label is nan, not finite",
    ),
    (lambda: Batch.from_dicts([{"a": 1}], ["spam"]), "expected one row of numbers, got <U4 (1,)"),
    (lambda: Batch.from_dicts([{"a": 1}], [1, 2]), "there are 1 examples, but 2 values of label"),
    (
        lambda: Batch.from_dicts([{"a": 1}], [1], [-1]),
        "example 0: importance must be 0 or more, got -1.0 (0 learns nothing from it)",
    ),
    (
        lambda: Batch.from_dicts([{"a": 1}], [1], [float("inf")]),
        "example 0: the importance is inf, not finite",
    ),
    (
        lambda: Batch.from_arrays([0, 2, 1], [1], [1.0]),
        "example 1: it starts at 2 but ends before, at 1",
    ),
    (lambda: Batch.from_arrays([1, 2], [1], [1.0]), "start must begin with 0, got 1"),
    (lambda: Batch.from_arrays([0, 2], [1], [1.0]), "start ends at 2, but there are 1 keys"),
    (lambda: Batch.from_arrays([0, 1], [1], [1.0, 2.0]), "there are 1 keys, but 2 values"),
    (
        lambda: Batch.from_arrays([0, 1], [1], [1.0], names=["a", "b"]),
        "there are 1 keys, but 2 names",
    ),
    (
        lambda: Batch.from_arrays([0, 1], [-4], [1.0]),
        "a key must be between 0 and 18446744073709551614, got -4",
    ),
    (
        lambda: Batch.from_arrays([0, 1], np.array([2**64 - 1], np.uint64), [1.0]),
        "a key must be between 0 and 18446744073709551614, got 18446744073709551615",
    ),
    (
        lambda: Batch.from_arrays([0, 1], [1.5], [1.0]),
        "keys must be one row of integers, got float64 (1,)",
    ),
    (
        lambda: Batch.from_arrays([], [1], [1.0]),
        "start must be one row of integers, got float64 (0,)",
    ),
    (
        lambda: Batch.from_arrays([0, 1], [1], [[1.0]]),
        "expected one row of numbers, got float64 (1, 1)",
    ),
    (
        lambda: Batch.from_csr(scipy.sparse.csr_array([[np.nan, 1]])),
        "example 0: the value of feature 0 is nan, not finite",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused_in_one_line_that_says_where(make, message):
    with pytest.raises(DataError) as caught:
        make()
    assert str(caught.value) == message


@given(st.text(st.characters(codec="utf-8")))
def test_a_name_is_hashed_by_xxh64_seeded_by_the_namespace(name):
    raw = name.encode()
    plain_number = name.isascii() and name.isdecimal() and str(int(name)) == name
    expected = (
        int(name) if plain_number else xxhash.xxh64(raw, xxhash.xxh64_intdigest(b"")).intdigest()
    )
    assert key_of(name) == min(expected, LARGEST) or int(name) > LARGEST


@pytest.mark.parametrize(
    "name", ["012", "-1", "+1", "1.0", "1_0", " 1", "²", "٣", "9" * 30, str(2**64 - 1)]
)
def test_only_a_plain_decimal_integer_is_its_own_key(name):
    assert key_of(name) == min(
        xxhash.xxh64_intdigest(name.encode(), xxhash.xxh64_intdigest(b"")), LARGEST
    )


def test_the_largest_number_is_its_own_key():
    assert key_of(str(LARGEST)) == LARGEST
