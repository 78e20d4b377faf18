"""Rows of numbers: each operation against NumPy's, to the bit, and compiled into packed ones."""

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dwindle.jit.compile import kernel
from dwindle.jit.vectors import (
    added,
    all_between,
    all_within,
    as_doubles,
    as_singles,
    at_most,
    element,
    filled,
    four_at,
    gathered,
    nonzero,
    place_of_least,
    plus,
    product,
    quotient,
    root,
    row,
    scattered,
    set_row,
    shifted,
    summed,
    times,
    truncated,
    where_at_least,
    where_positive,
    within,
)
from helpers.effort import few_examples

ROWS = (
    *("filled", "times", "added", "product", "quotient", "plus", "where_positive", "shifted"),
    *("truncated", "within", "where_at_least"),
)


@kernel
def operate(given, x, found, truths):
    v, w, m = row(given[0], "v"), row(given[0], "w"), row(given[0], "m")
    set_row(found[0], "filled", filled(v, x))
    set_row(found[0], "times", times(v, x))
    set_row(found[0], "added", added(v, x))
    set_row(found[0], "product", product(v, w))
    set_row(found[0], "quotient", quotient(v, w))
    set_row(found[0], "plus", plus(v, w))
    set_row(found[0], "where_positive", where_positive(m, v, w))
    set_row(found[0], "shifted", shifted(v, row(given[0], "k")))
    set_row(found[0], "truncated", truncated(v, w))
    set_row(found[0], "within", within(v, w, x))
    set_row(found[0], "where_at_least", where_at_least(v, w, m))
    truths[0] = nonzero(v)
    truths[1] = all_within(v, x)
    truths[2] = place_of_least(w)


def expected(v, w, m, k, x):
    """The same in NumPy."""
    x = np.float32(x)
    with np.errstate(all="ignore"):
        most = np.where(v > -w, v, -w)
        rows = (
            *(np.full_like(v, x), v * x, v + x, v * w, v / w, v + w),
            *(np.where(m > 0, v, w), np.ldexp(v, k)),
            *(v - np.where(most < w, most, w), np.where(np.abs(v) <= x, w, v)),
            np.where(np.abs(v) >= w, m, np.float32(0)),
        )
    return dict(zip(ROWS, rows, strict=True))


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0**-149, 2.0**-126, 1e-30, 1e30, 3.4028235e38, np.inf, -np.inf]
finite = st.floats(-(2.0**100), 2.0**100, width=32)
numbers = st.one_of(finite, st.sampled_from(np.float32(SPECIAL).tolist()))


@pytest.mark.parametrize("n", [8, 16])
@given(data=st.data(), x=st.one_of(st.floats(0, 1e30), st.sampled_from([0.0, 1.0, 0.1])))
@few_examples(100)
def test_an_operation_on_rows_is_numpy_s_to_the_bit(n, data, x):
    v, w, m = (data.draw(arrays(np.float32, n, elements=numbers)) for _ in range(3))
    w = np.abs(w)  # the limits of some operations
    k = data.draw(arrays(np.int32, n, elements=st.integers(-20, 20)))
    given_row = np.zeros(1, [(name, "f4", (n,)) for name in "vwmk"])
    given_row["v"], given_row["w"], given_row["m"] = v, w, m
    given_row["k"] = k.view(np.float32)
    found = np.zeros(1, [(name, "f4", (n,)) for name in ROWS])
    truths = np.zeros(3, np.int64)
    operate(given_row, x, found, truths)
    for name, numbers_expected in expected(v, w, m, k, x).items():
        if name == "shifted":  # a change of the exponent, for numbers that stay normal
            normal = (np.abs(v) > 1e-30) & (np.abs(v) < 1e30)
            np.testing.assert_array_equal(found[name][0][normal], numbers_expected[normal])
        else:
            np.testing.assert_array_equal(found[name][0], numbers_expected, err_msg=name)
    assert truths[0] == sum(1 << k for k in np.flatnonzero(v).tolist())
    assert truths[1] == (np.abs(v) <= np.float32(x)).all()
    assert truths[2] == np.argmin(w)


RECORD = [("f", "f4"), ("g", "f8"), ("n", "u4"), ("f_out", "f4"), ("g_out", "f8")]


@kernel
def operate_on_four(records, x, k, limit, found):
    a, b, c, d = records[0], records[1], records[2], records[3]
    f, g, n = gathered(a, b, c, d, "f"), gathered(a, b, c, d, "g"), gathered(a, b, c, d, "n")
    scattered(a, b, c, d, "f_out", at_most(quotient(root(f), plus(n, as_singles(g))), limit))
    wide = times(added(as_doubles(f), 0.1), limit)
    scattered(a, b, c, d, "g_out", within(g, truncated(product(g, wide), wide), limit))
    at = four_at(x, k)
    found[0] = summed(0.1, at)
    found[1] = element(at, 2)
    found[2] = all_between(f, 0.0, limit)


positive = st.floats(2.0**-60, 2.0**60, width=32)


@given(data=st.data(), limit=st.sampled_from([0.1, 1.0, 1e10, 1e30]), kind=st.sampled_from("fd"))
@few_examples(100)
def test_an_operation_on_four_records_is_numpy_s_to_the_bit(data, limit, kind):
    records = np.zeros(4, RECORD)
    f = records["f"] = data.draw(arrays(np.float32, 4, elements=positive))
    g = records["g"] = data.draw(arrays(np.float64, 4, elements=positive))
    n = records["n"] = data.draw(arrays(np.uint32, 4, elements=st.integers(0, 2**32 - 1)))
    k = data.draw(st.integers(0, 5))
    x = data.draw(arrays(kind, 9, elements=positive))
    found = np.zeros(3)
    operate_on_four(records, x, k, limit, found)
    single = np.sqrt(f) / (n.astype(np.float32) + g.astype(np.float32))
    np.testing.assert_array_equal(records["f_out"], np.minimum(single, np.float32(limit)))
    wide = (f.astype(float) + 0.1) * limit
    v = g * wide
    expected = np.where(np.abs(g) <= limit, v - np.clip(v, -wide, wide), g)
    np.testing.assert_array_equal(records["g_out"], expected)
    assert found[0] == 0.1 + x[k].item() + x[k + 1].item() + x[k + 2].item() + x[k + 3].item()
    assert found[1] == x[k + 2]
    assert found[2] == (f < np.float32(limit)).all()


COMPILED = """
import json, re
from collections import Counter
from dwindle import *
from dwindle.engine import lane_kernels
from dwindle.engine.lanes import LaneLearner
LaneLearner().learn(Batch.from_dicts([{"a": 1}], [1]))
[code] = lane_kernels.learn.compiled()
[assembly] = code.inspect_asm().values()
counts = Counter(re.findall(r"^\\s+v?(\\w+)", assembly, re.M))
print(json.dumps({op: [counts[op + "ps"], counts[op + "ss"]] for op in ("mul", "sub", "add")}))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine().lower() not in {"x86_64", "amd64"},
    reason=f"the names of packed instructions of {platform.machine()} are not known to this test",
)
def test_all_lanes_are_learned_by_packed_instructions(tmp_path):
    """What lanes share is arithmetic of single numbers; what they do not would be 8 times as much."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILED],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    packed, single = counts["mul"]
    assert packed > 20
    assert single < 4 * packed
    packed, single = counts["sub"]  # T1 is a subtraction, and hardly anything else is
    assert packed > 3
    assert single < 2 * packed
    assert counts["add"][0] > 10
