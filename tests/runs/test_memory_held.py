"""`--memory` holds, measured: also with long names, and with products of long lines."""

import json
import subprocess
import sys

import pytest

from dwindle._base.system import peak_memory

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not peak_memory(), reason="the system does not tell"),
]
MB = 10**6


def peak(tmp_path, lines, *options):
    """The most memory of a run that reads these lines from a pipe."""
    run = subprocess.Popen(
        [sys.executable, "-m", "dwindle", "train", "-", "-m", "m", "--json", *options],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in lines:
        run.stdin.write(line)
    out, _ = run.communicate()
    assert run.returncode == 0
    return json.loads(out.splitlines()[-1])["peak_memory_bytes"]


def test_names_of_10_kb_do_not_take_more_memory_than_asked_for(tmp_path):
    lines = (
        f"{i % 2 * 2 - 1} | " + " ".join(f"{i * 20 + j}_".ljust(10_000, "x") for j in range(20))
        for i in range(1500)
    )
    found = peak(tmp_path, (f"{line}\n" for line in lines), "--memory", "600MB", "-g", "1e-6")
    assert found < 600 * MB


def test_products_of_long_lines_do_not_take_more_memory_than_asked_for(tmp_path):
    lines = (
        f"{i % 2 * 2 - 1} |a " + " ".join(f"f{(i * 7 + j) % 1000}" for j in range(900)) + "\n"
        for i in range(40)
    )
    options = ("--memory", "650MB", "-g", "1e-6", "--interactions", "a*a")
    assert peak(tmp_path, lines, *options) < 650 * MB
