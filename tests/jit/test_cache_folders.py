"""Compiled code is kept where that is possible and safe, and every command works where it is not."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from dwindle.jit import cache_folders, numba_cache, settings
from dwindle.jit.compile import kernel

PACKAGE = Path(__import__("dwindle").__file__).parent
OTHERS = [path for path in sys.path if path.endswith("site-packages")]
LASTING = {"HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"}
NOBODY = 65534
PRINTS = """
import numpy as np
from dwindle.engine import kernels
from dwindle.jit.compile import seconds_compiling
kernels.longest(np.array([0, 2, 3]), np.ones(2))
print(seconds_compiling() > 0)
"""


@pytest.fixture
def installed():
    """A place where the package is installed, and others may read but not write."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can run a command as another user")
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        shutil.copytree(
            PACKAGE, Path(place, "dwindle"), ignore=shutil.ignore_patterns("__pycache__")
        )
        Path(place, "tmp").mkdir()
        Path(place, "tmp").chmod(0o1777)
        try:
            runs = as_nobody("-c", "import numba", installed=place).returncode == 0
        except PermissionError:
            runs = False
        if not runs:
            pytest.skip("other users may not run this Python")
        yield Path(place)


def environment_with(installed):
    """The environment without any folder for caches, and with this package."""
    kept = {name: text for name, text in os.environ.items() if name not in LASTING}
    return kept | {"PYTHONPATH": os.pathsep.join([str(installed), *OTHERS])}


def as_nobody(*args, installed, temporary="tmp"):
    """Run Python as a user without a home, who can write temporary files at most."""
    return subprocess.run(
        [sys.executable, *args],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(installed, "tmp"),
        env=environment_with(installed) | {"TMPDIR": str(Path(installed, temporary))},
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
    )


@pytest.mark.slow
def test_a_user_without_a_home_trains_where_the_package_cannot_be_written(installed):
    data = installed / "train.svm"
    data.write_text("1 1:1\n-1 2:1\n")
    train = "-m", "dwindle", "train", data, "--model", installed / "tmp" / "m.parquet"
    first = as_nobody(*map(str, train), installed=installed)
    assert first.returncode == 0, first.stderr
    kept = installed / "tmp" / f"dwindle-{NOBODY}"
    assert first.stderr.startswith(f"dwindle: compiled code is kept in {kept}; ")
    assert kept.stat().st_mode & 0o777 == 0o700
    again = as_nobody(*map(str, train), installed=installed)
    assert "compil" not in again.stderr


@pytest.mark.slow
def test_where_nothing_safe_can_be_written_a_kernel_is_compiled_in_every_run(installed):
    anyone = installed / "anyone"
    anyone.mkdir()
    anyone.chmod(0o777)  # and another could put code there
    for _ in range(2):
        done = as_nobody("-c", PRINTS, installed=installed, temporary="anyone")
        assert done.stdout == "True\n", done.stderr
        assert done.stderr.startswith("compiled code cannot be kept (no folder can be written)")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_what_the_administrator_compiled_is_loaded_by_users_who_may_not_write_there(installed):
    command = [sys.executable, "-c", PRINTS]
    subprocess.run(command, check=True, env=environment_with(installed))
    done = as_nobody("-c", PRINTS, installed=installed)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_a_folder_that_others_could_have_written_to_is_refused(tmp_path):
    private = tmp_path / "private"
    assert cache_folders._private(private) == private
    assert private.stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(private)
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    for refused in (tmp_path / "link", open_to_all, open_to_all / "inside"):
        with pytest.raises(PermissionError):
            cache_folders._private(refused)
    if os.geteuid() == 0:
        os.chown(private, NOBODY, NOBODY)
        with pytest.raises(PermissionError):
            cache_folders._private(private)


def test_without_a_home_nothing_is_written_into_a_folder_named_tilde(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "~/.cache")
    with pytest.raises(FileNotFoundError):
        cache_folders._users()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_costs_the_compiled_code_but_not_the_run(tmp_path, monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(settings, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba_cache._File, "save", full)
    monkeypatch.setattr(cache_folders, "_told", [])
    cache_folders._folder_for.cache_clear()

    @kernel
    def twice(x):
        return 2 * x

    assert twice(np.float64(2)) == 4
    assert twice(2) == 4
    cache_folders._folder_for.cache_clear()
    [said] = caplog.messages
    assert said.startswith("compiled code cannot be kept ([Errno 28] No space left on device), so")
