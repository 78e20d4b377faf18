"""A newcomer's first hour, from a CSV to models day by day, comes out as its chapters say."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "first-hour"


@pytest.mark.slow
def test_every_chapter_of_the_first_hour_comes_out_as_it_should(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "hour"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert done.stdout.endswith("All as it should be.\n")
