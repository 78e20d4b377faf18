"""Numbers and weights are sorted as NumPy sorts them, ties included."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dwindle.features.sorting import radix_order, radix_sorted
from dwindle.model.order import heaviest_first

FEW = st.integers(0, 50)
NUMBERS = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 3), st.just(2**63))
WEIGHTS = st.one_of(
    st.floats(-10, 10), st.sampled_from([0.5, -0.5, 0.5 + 2**-52, 5e-324, 0.0, -0.0, 1e38])
)


@given(arrays(np.uint64, FEW, elements=NUMBERS), st.integers(0, 64))
def test_radix_sort_is_stable_and_ignores_the_last_bits(number, n_last):
    first_bits = [int(each) >> n_last for each in number]
    expected = number[np.argsort(np.array(first_bits, object), kind="stable")]
    assert radix_sorted(number.copy(), n_last).tolist() == expected.tolist()


@given(arrays(np.uint64, FEW, elements=NUMBERS))
def test_radix_order_is_that_of_a_stable_sort(number):
    assert radix_order(number).tolist() == np.argsort(number, kind="stable").tolist()


@given(arrays(np.float64, FEW, elements=WEIGHTS), st.randoms())
def test_the_heaviest_feature_is_first_and_ties_are_by_key(weight, random):
    key = np.array(random.sample(range(2**62), len(weight)), np.uint64)
    expected = np.lexsort((key, -np.abs(weight)))
    assert heaviest_first(key, weight).tolist() == expected.tolist()
    assert heaviest_first(key, np.float32(weight)).tolist() == (
        np.lexsort((key, -np.abs(np.float32(weight)))).tolist()
    )


def test_a_run_of_equal_weights_is_in_the_order_of_keys_however_long_it_is():
    key = np.random.default_rng(0).permutation(5000).astype(np.uint64)
    weight = np.repeat([0.5, -0.25, 0.125], [2100, 1900, 1000])
    expected = np.lexsort((key, -np.abs(weight)))
    assert heaviest_first(key, weight).tolist() == expected.tolist()
