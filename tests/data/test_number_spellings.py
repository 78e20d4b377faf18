"""Numbers and integer names in the spellings that programs write, read side by side to the bit."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwindle.data.formats import svmlight
from dwindle.data.formats.block import Block
from dwindle.data.formats.vw import parser as vw
from dwindle.features.keys import key_of
from helpers import vw_lines
from helpers.effort import FULL

SPELLINGS = {
    **{form: form.__mod__ for form in ("%.4f", "%.12f", "%.6g", "%.9g", "%.16g", "%.17g")},
    **{form: form.__mod__ for form in ("%.0e", "%.2e", "%.7e", "%.16e", "%.18e", "%.7E")},
    "repr": repr,
    "single": lambda v: str(np.float32(v)),
    "integer": lambda v: str(round(v)),
    "without a 0": lambda v: f"{v:.5f}".replace("0.", "."),
    "with a plus": lambda v: f"{v:+.6g}",
    "as Java": lambda v: f"{v:.9e}".replace("e-0", "E-").replace("e+0", "E").replace("e", "E"),
    "as JavaScript": lambda v: repr(v).replace("e-0", "e-"),
}
N = 20_000 if FULL else 2_000


def drawn(seed):
    """Draw numbers of either sign, as features are, from very small to large ones, and zeros."""
    rng = np.random.default_rng(seed)
    size = np.concatenate([rng.random(N), np.exp(rng.normal(-3, 12, N)), rng.random(N) * 300])
    sign = np.where(rng.random(3 * N) < 0.3, -1.0, 1.0)
    return np.where(rng.random(3 * N) < 0.01, 0.0, size * sign).tolist()


def check_values(parse, texts, line):
    """Read the numbers as values of long lines: zeros are left out, and the rest are the same."""
    texts = [text for text in texts if abs(float(text)) < 3e38]
    rows = (" ".join(f"{k}:{text}" for k, text in enumerate(texts[i::97])) for i in range(97))
    data = "".join(f"{line} {row}\n" for row in rows).encode()
    parsed = parse(Block(np.frombuffer(data, np.uint8), "data"))
    expected = np.concatenate(
        [np.float32([float(text) for text in texts[i::97]]) for i in range(97)]
    )
    places = np.concatenate([np.arange(len(texts[i::97])) for i in range(97)])
    assert parsed.bad == []
    assert parsed.batch.x.tobytes() == expected[expected != 0].tobytes()
    assert parsed.batch.key.tolist() == places[expected != 0].tolist()


FORMATS = {"vw": (vw.parse, "1 |"), "svmlight": (svmlight.parse, "1")}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_values_in_one_spelling_are_what_python_reads(spelling, name):
    check_values(FORMATS[name][0], [SPELLINGS[spelling](v) for v in drawn(1)], FORMATS[name][1])


@pytest.mark.parametrize("name", FORMATS)
def test_values_in_all_spellings_within_a_line_are_what_python_reads(name):
    rng = np.random.default_rng(2)
    spell = list(SPELLINGS.values())
    texts = [
        spell[k](v) for k, v in zip(rng.integers(len(spell), size=3 * N), drawn(3), strict=True)
    ]
    check_values(FORMATS[name][0], texts, FORMATS[name][1])


almost = st.text("0123456789..eE+-/x", min_size=1, max_size=26)
either = st.one_of(
    almost,
    st.from_regex(r"\A-?[0-9]{1,3}\.[0-9]{0,17}([eE][+-]?[0-9]{1,3})?\Z"),
    st.sampled_from(["0.5", "1.5e-05", "0.25000000000000000"]),
)


@pytest.mark.slow
@given(st.lists(either, min_size=1, max_size=5))
@example(["1.5e+00", "0/5"])
@example(["0.5e/5"])
@example(["1.5e-5", "1e", "1.e-5", "e-05", "-e-05", "-.e+01"])
@example(["1.2.3e-05", "1.25e-0", "1.25e--5", "1.25e-005", "1.25e-123", "1.25e1234"])
@example(["9999999999999999999.0", "18446744073709551616", "0.00000000000000000000001"])
@example(["1.00000005960464477540", "1.0000000596046447754e+00", "-16777217.0000000000000"])
def test_what_is_almost_a_number_is_read_or_refused_as_the_reference_does(texts):
    """Alone on its line and after another, which may be of another form."""
    for text in texts:
        vw_lines.check(f"1 | 1:{text} 2:1.5e-05\n1 |f a:1.25 b:{text}\n".encode())
    vw_lines.check(("1 | " + " ".join(f"{k}:{text}" for k, text in enumerate(texts))).encode())


@pytest.mark.parametrize("namespace", ["", "f"])
def test_names_of_digits_have_the_keys_of_their_names(namespace):
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 23, N)
    names = ["".join(map(str, rng.integers(0, 10, n))) for n in lengths.tolist()]
    names += ["0", "00", "9" * 8, "1" + "0" * 8, "18446744073709551614", "18446744073709551615"]
    names += [f"{name}x" for name in names] + [f"x{name}" for name in names]
    for shuffled in (sorted(names, key=len), rng.permutation(names).tolist()):
        rows = "".join(
            f"1 |{namespace} {' '.join(shuffled[i : i + 150])}\n" for i in range(0, len(names), 150)
        )
        parsed = vw.parse(Block(np.frombuffer(rows.encode(), np.uint8), "data"))
        assert parsed.batch.key.tolist() == [key_of(name, namespace) for name in shuffled]
