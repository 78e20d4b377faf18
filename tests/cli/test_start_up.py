"""What a command does not need is not imported: whole commands are short, and imports long."""

import re
import subprocess
import sys

import pytest

CODE = """
import sys
from dwindle.cli import main
main({given!r}, standalone_mode=False)
long = {{"pandas", "pyarrow.compute", "dwindle.data.formats.tables.arrow"}}
print("imported:", *sorted(long & set(sys.modules)))
"""


@pytest.mark.slow
def test_text_is_read_without_what_only_tables_need(tmp_path):
    text, model = tmp_path / "a.vw", tmp_path / "a.parquet"
    text.write_text("1 |f a b:2\n-1 |f c\n" * 50)
    commands = (
        ["train", str(text), "--model", str(model), "--quiet"],
        ["predict", str(model), str(text), "--output", str(tmp_path / "a.txt")],
    )
    for given in commands:
        done = subprocess.run(
            [sys.executable, "-c", CODE.format(given=given)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[-1] == "imported:"


def test_a_command_that_ends_well_leaves_nothing_unsaid_nor_undone():
    code = "import atexit, sys; atexit.register(print, 'last'); sys.argv = ['dwindle', '--version']"
    code += "; from dwindle.__main__ import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch("dwindle, version .*\nlast\n", done.stdout)
