"""Numbers as text are those that Python writes."""

import numpy as np
import pytest

from dwindle.data.text.decimals import lines

POWERS = np.array([float(f"1e{k}") for k in range(-323, 309)])
ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308]


def by_python(number):
    return "".join(f"{each:.9g}\n" for each in number.tolist())


def of_any_size(rng):
    return rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)


def of_everyday_size(rng):
    return rng.normal(size=20_000) * 10.0 ** rng.integers(-7, 12, 20_000)


def halfway_between_nine_digits(rng):
    whole = rng.integers(10**8, 10**9, 20_000) + rng.choice([0.5, 0.25, 0.0], 20_000)
    return whole / 2.0 ** rng.integers(0, 20, 20_000)


def next_to_halfway(rng):
    half = (rng.integers(10**8, 10**9, 20_000) + 0.5) * 10.0 ** rng.integers(-30, 30, 20_000)
    return np.nextafter(half, rng.choice([-np.inf, np.inf], 20_000))


def next_to_powers_of_ten(rng):
    factor = rng.choice([1.0, 1 - 5e-10, 1 - 4.9e-10, 1 + 5e-9, 1 - 2**-53, 1 + 2**-52], 20_000)
    return rng.choice(POWERS, 20_000) * factor * rng.choice([-1.0, 1.0], 20_000)


@pytest.mark.parametrize(
    "drawn",
    [
        of_any_size,
        of_everyday_size,
        halfway_between_nine_digits,
        next_to_halfway,
        next_to_powers_of_ten,
        lambda _: POWERS,
        lambda _: np.array(ODD),
        lambda _: np.arange(-2000.0, 2000.0) / 4,
        lambda _: np.empty(0),
    ],
)
def test_numbers_are_written_as_python_writes_them(drawn):
    number = drawn(np.random.default_rng(7))
    assert lines(number).tobytes().decode() == by_python(number)


def test_numbers_that_do_not_stand_side_by_side_are_written_too():
    number = np.arange(20.0)[::3]
    assert lines(number).tobytes().decode() == by_python(number)
