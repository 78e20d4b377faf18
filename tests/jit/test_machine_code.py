"""Machine code on disk is loaded without Numba, and where it does not fit, Numba compiles."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dwindle.jit import machine_code
from dwindle.jit.machine_code import file_name, kinds_of, load, save

PACKAGE = Path(__import__("dwindle").__file__).parent
pytestmark = pytest.mark.skipif(not machine_code.IS_USED, reason="Numba loads the code here")

CODE = """
import sys
import numpy as np
from dwindle.engine import kernels
print(*kernels.longest(np.array([0, 2, 5]), np.ones(2, np.float32)))
print(*kernels.values(loss, np.array([0.5, 2.0]), np.ones(2, np.float32)))
print("numba" in sys.modules)
"""


def run(cache, *, loss="Hinge", **environment):
    """Run two kernels in a new process; return what they say, and whether Numba was imported."""
    code = f"from dwindle.algorithm.losses import {loss}\nloss = {loss}()\n{CODE}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ
        | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(PACKAGE.parent)}
        | environment,
    )
    *found, numba = done.stdout.split("\n")[:-1]
    return found, numba == "True"


def files_in(cache):
    return sorted(cache.rglob("*.code"))


@pytest.mark.slow
def test_kernels_on_disk_run_without_numba_until_one_is_not_there(tmp_path):
    first, numba = run(tmp_path)
    assert numba
    assert len(files_in(tmp_path)) == 2
    assert run(tmp_path) == (first, False)
    other, numba = run(tmp_path, loss="Squared")  # one kernel is loaded, the other compiled
    assert numba
    assert other[0] == first[0]
    assert other[1] == "0.25 1.0"


@pytest.mark.slow
def test_damaged_and_unfitting_files_are_compiled_anew(tmp_path):
    first, _ = run(tmp_path)
    for file in files_in(tmp_path):
        content = bytearray(file.read_bytes())
        content[-100] ^= 1
        file.write_bytes(content)
    assert run(tmp_path) == (first, True)
    assert run(tmp_path) == (first, True)  # the second kernel's, which no one looked at before
    assert run(tmp_path) == (first, False)
    assert run(tmp_path, NUMBA_OPT="2") == (first, True)  # a setting by which Numba compiles
    for file in files_in(tmp_path):
        file.write_bytes(file.read_bytes()[:50])
    assert run(tmp_path) == (first, True)


@pytest.mark.slow
def test_a_file_that_needs_what_this_process_lacks_is_not_loaded(tmp_path):
    run(tmp_path)
    file = files_in(tmp_path)[0]
    content = file.read_bytes()[32:]
    assert b'"needs": [' in content
    lacking = content.replace(b'"needs": [', b'"needs": ["no_such_function_anywhere", ')
    file.write_bytes(sha256(lacking).digest() + lacking)
    assert load(file) is None
    assert load(tmp_path / "none.code") is None


def test_a_file_for_which_the_disk_has_no_room_leaves_nothing_behind(tmp_path):
    resource = pytest.importorskip("resource")
    compiled = SimpleNamespace(
        library=SimpleNamespace(_get_compiled_object=lambda: bytes(2**16)),
        fndesc=SimpleNamespace(qualname="f", llvm_cpython_wrapper_name="g", env_name="e"),
        environment=SimpleNamespace(consts=[]),
    )
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**12, before[1]))
    try:
        save(tmp_path / "f.code", compiled)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())
    save(tmp_path / "f.code", compiled)
    assert [file.name for file in tmp_path.iterdir()] == ["f.code"]


def test_arguments_that_numba_tells_apart_are_of_different_kinds():
    readonly, swapped = np.zeros(3), np.zeros(3, ">f8")
    readonly.flags.writeable = False
    square = np.zeros((3, 3))
    told_apart = [
        *(1, 1.5, True, np.float32(1), np.uint64(1), (1, 2), (1, 2.0)),
        *(np.zeros(3), np.zeros(3, np.float32), readonly, swapped, np.zeros(6)[::2]),
        *(square, np.asfortranarray(square), square[::2, ::2], np.zeros(3, [("a", "f8")])),
        np.zeros(3, [("b", "f8")]),
    ]
    names = {file_name("f", "stamp", kinds_of([each])) for each in told_apart}
    assert len(names) == len(told_apart)


def test_arguments_that_numba_takes_as_the_same_are_of_one_kind():
    same = [
        (1, np.int64(2)),
        (0.5, np.float64(2)),
        (True, np.bool_(False)),
        (np.zeros((1, 8)), np.zeros((8, 8))),
        (np.zeros(8), np.zeros(9)[1:]),
    ]
    for one, other in same:
        assert kinds_of([one]) == kinds_of([other])


@pytest.mark.parametrize("unusual", [2**63, None, "text", np.zeros(3).view(np.recarray)])
def test_arguments_of_other_kinds_are_left_to_numba(unusual):
    with pytest.raises(KeyError):
        kinds_of([unusual])


@pytest.mark.slow
def test_threads_that_need_numba_at_the_same_moment_import_it_once():
    code = """
import threading
from dwindle.jit.deferred import Later
wanted = {
    "numba.core.event": "Listener", "numba.types": "int64", "dwindle.jit.parts": "KernelCompiler",
    "numba.extending": "overload", "dwindle.jit.kinds": "Packed", "numba": "njit",
}
found, ready = [], threading.Barrier(len(wanted))

def ask(module, name):
    ready.wait()
    found.append(getattr(Later(module), name))

threads = [threading.Thread(target=ask, args=each) for each in wanted.items()]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(len(found))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.stdout, done.stderr) == ("6\n", "")
