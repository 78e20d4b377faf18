"""What all tests share, those in the pages too."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# It draws pictures with programs that no test needs.
collect_ignore = ["docs/write_report_pictures.py"]

# Compiling a kernel takes seconds, so a deadline would say nothing about the test. A CI sees the
# same examples in every run, whoever runs the tests elsewhere sees new ones.
usual = settings(deadline=None, derandomize="CI" in os.environ, max_examples=25)
settings.register_profile("usual", usual)
settings.register_profile("full", usual, max_examples=200)  # `make test-all`
settings.load_profile("full" if "DWINDLE_FULL" in os.environ else "usual")

# A shell has what it runs in the background ignore interrupts, and tests would wait for theirs.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _signals() -> None:
    """A command that ran in this process answered signals in its own way: that is over."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _elsewhere(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages' examples run where they may write files, and draw without a screen."""
    if request.path.suffix == ".md":
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(request.config.rootpath / "examples")
        monkeypatch.setenv("MPLBACKEND", "Agg")
