"""dwindle works where the system or the build of Python lacks what Linux and CPython have."""

import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dwindle._base import system
from dwindle._base.files import replacing

TEXT = b"1 |ad shoes |user 7:2\n-1 |ad hats |user 8\n" * 60
# A process without these, as on Windows and in part on macOS. It refuses to move a file that is
# still open, and temporary files have names.
ELSEWHERE = """
import mmap, os, pathlib, sys, tempfile

for name in ("resource", "fcntl", "pwd", "grp"):
    sys.modules[name] = None
del os.sched_getaffinity, os.register_at_fork, mmap.MADV_DONTNEED
tempfile.TemporaryFile = tempfile.NamedTemporaryFile

exists, replace = pathlib.Path.exists, os.replace
pathlib.Path.exists = lambda path: not str(path).startswith("/proc") and exists(path)

def replace_closed(source, target, **options):
    fds = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    opened = [os.readlink(fd) for fd in fds if os.path.islink(fd)]
    if os.path.realpath(source) in opened:
        raise PermissionError(13, "the file is being used", str(source))
    replace(source, target, **options)

os.replace = replace_closed
"""
COMMANDS = """
from dwindle.cli import main
data, folder = sys.argv[1:]
def run(*words):
    main(list(words), standalone_mode=False)
model, tuned = folder + "/m", folder + "/tuned"
train = "train", data, "--passes", "3", "--holdout", "5", "--model", model
run(*train, "--checkpoint-every", "20")
run(*train, "--start-from", model)
run("tune", data, "--folds", "2", "--gravity", "1e-3", "--learning-rate", "0.3", "--passes", "2",
    "--no-picture", "--model", tuned, "--quiet")
run("predict", model, data, "--output", folder + "/p")
run("evaluate", model, data)
run("inspect", model)
run("merge", model, tuned, "--model", folder + "/both")
run("convert", data, folder + "/data.arrow", "--quiet")
run("convert", data, folder + "/data.vw.gz", "--quiet")
"""
LIBRARY = """
import dwindle._base.system as system
system.has_known_object_layout = lambda: {usual}
import json
import dwindle
learner = dwindle.Learner(shrinkage=dwindle.Truncation(1e-3))
for i in range(200):
    learner.learn_one({{"color": str(i % 3), f"n{{i % 7}}": i / 100}}, 1 if i % 3 else -1)
learner.save(sys.argv[1])
learner = dwindle.Learner.load(sys.argv[1])
print(json.dumps([learner.weights(), learner.predict_one({{"color": "1"}}), system.peak_memory()]))
"""


def python(code, *words):
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


@pytest.mark.slow
def test_all_commands_work_without_what_only_linux_has(data, temporary):
    folder = temporary.parent
    out, told = python(ELSEWHERE + COMMANDS, data, folder)
    assert "AUC" in out
    assert "memory" not in told  # nobody can tell
    written = {p.name for p in folder.iterdir() if p != temporary}
    assert written == {"m", "tuned", "p", "both", "data.arrow", "data.vw.gz"}


@pytest.mark.slow
@pytest.mark.parametrize("usual", [True, False])
def test_a_learner_works_without_what_only_linux_and_usual_pythons_have(usual, tmp_path):
    here, _ = python("import sys\n" + LIBRARY.format(usual=True), tmp_path / "c")
    there, _ = python(ELSEWHERE + LIBRARY.format(usual=usual), tmp_path / "c")
    assert here.rsplit(",", 1)[0] == there.rsplit(",", 1)[0]
    assert int(here.rsplit(",", 1)[1].strip("]\n")) > 50e6
    assert int(there.rsplit(",", 1)[1].strip("]\n")) == 0


def test_the_objects_of_this_python_are_the_usual_ones(monkeypatch):
    assert system.has_known_object_layout()
    monkeypatch.setattr(sys, "abiflags", "t")
    assert not system.has_known_object_layout()


def test_peak_memory_is_told_in_bytes(monkeypatch):
    here = system.peak_memory()
    assert here > 10e6
    monkeypatch.setattr(system, "_STATUS", Path("nowhere"))
    resource = pytest.importorskip("resource")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    monkeypatch.setattr(sys, "platform", "linux")
    assert system.peak_memory() == 1024 * peak
    monkeypatch.setattr(sys, "platform", "darwin")  # which counts bytes
    assert system.peak_memory() == peak
    monkeypatch.setitem(sys.modules, "resource", None)
    assert system.peak_memory() == 0


def test_cores_are_those_this_process_may_use_if_the_system_says(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 5}, raising=False)
    assert system.cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert system.cores() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert system.cores() == 1


@pytest.mark.parametrize("able", [True, False])
def test_dropped_pages_are_read_again(tmp_path, monkeypatch, able):
    if not able:
        monkeypatch.delattr(mmap, "MADV_DONTNEED", raising=False)
    (tmp_path / "f").write_bytes(b"x" * 3 * mmap.PAGESIZE)
    with (
        (tmp_path / "f").open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory,
    ):
        system.drop_pages(memory, mmap.PAGESIZE, mmap.PAGESIZE)
        assert memory[:] == b"x" * 3 * mmap.PAGESIZE


def test_a_file_is_replaced_when_it_is_whole_and_may_be_read_as_any_new_one(tmp_path):
    target = tmp_path / "f"
    target.write_text("old")
    with pytest.raises(ValueError, match="closed"), replacing(target) as file:
        file.close()
    assert target.read_text() == "old"
    with replacing(target) as file:
        file.write(b"new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    (tmp_path / "other").touch()
    assert target.stat().st_mode == (tmp_path / "other").stat().st_mode
    assert {p.name for p in tmp_path.iterdir()} == {"f", "other"}
