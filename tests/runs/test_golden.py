"""A small file in, the whole table and every weight out, as they were: helpers/write_golden.py."""

import pytest

from dwindle import Logistic
from helpers.write_golden import CASES, GOLDEN, train, weights


def read(text):
    """The weights of a golden file, and all else that it says."""
    rows = [line.split(maxsplit=3) for line in text.splitlines()]
    return [float.fromhex(row[0]) for row in rows], [row[2:] for row in rows]


@pytest.mark.parametrize("kind", CASES)
def test_training_prints_and_learns_what_it_did(kind):
    printed, model = train(kind)
    assert printed == (GOLDEN / kind / "printed.txt").read_text()
    found, about = read(weights(model))
    expected, known = read((GOLDEN / kind / "weights.txt").read_text())
    assert about == known
    if isinstance(model.loss, Logistic):
        # Its exp is the C library's, which need not round the last bit alike on another machine.
        assert found == pytest.approx(expected, rel=1e-12, abs=0)
    else:
        assert found == expected
