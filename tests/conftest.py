"""What the tests of several files are given."""

import signal

import numpy as np
import pytest

from helpers.conversion import RICH


@pytest.fixture(scope="module")
def data(request, tmp_path_factory):
    """A file of VW text, which is the module's ``TEXT``."""
    path = tmp_path_factory.mktemp("data") / "train.vw"
    path.write_bytes(request.module.TEXT)
    return path


@pytest.fixture
def rich(tmp_path):
    """VW text that says all that it has words for."""
    path = tmp_path / "rich.vw"
    path.write_text(RICH)
    return path


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder of its own, in which nothing is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture(scope="session")
def noise(tmp_path_factory):
    """Labels that the first word tells a little about: later passes learn them by heart."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("data") / "noise.vw"
    with path.open("w") as file:
        for _ in range(600):
            words = rng.integers(0, 150, 8)
            label = int(rng.random() < (0.62 if words[0] < 75 else 0.38))
            file.write(f"{label} | {' '.join(f'w{w}' for w in words)}\n")
    return path


@pytest.fixture
def signals_as_before():
    """A command answers signals; when it has run in this process, that is over."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, answer in before.items():
        signal.signal(number, answer)
