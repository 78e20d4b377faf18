"""What only a new process can show: imports, caches on disk, and code that is not stale."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from dwindle.algorithm.losses import Logistic
from dwindle.algorithm.updates import Plain
from dwindle.engine import kernels
from dwindle.jit.stamps import stamp
from helpers.effort import FULL

ROOT = Path(__file__).parents[2]
CONSTANT = 1.0  # of a kernel
PACKAGE = Path(__import__("dwindle").__file__).parent


def run(code, *, cache=None, path=(), cwd=ROOT):
    """Run code in a new process, with the package's cache or an empty one; return what it prints."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (*path, PACKAGE.parent)))}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        env=environment,
    )
    return done.stdout.strip()


def edit(file, old, new):
    """Change a file in a way that its size and its time do not show."""
    assert len(old) == len(new)
    times = file.stat()
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


COMPILED = """
    from dwindle.engine import kernels, lane_kernels, lane_scores, learn_one as one, table_kernels
    from dwindle.jit.compile import Kernel
    known = vars(lane_kernels) | vars(lane_scores) | vars(one) | vars(kernels) | vars(table_kernels)
    loops = [k for k in known.values() if isinstance(k, Kernel)]
    stats = [d.stats for k in loops for d in k.compiled()]
    print(sum(sum(s.cache_misses.values()) for s in stats),
          sum(sum(s.cache_hits.values()) for s in stats))
"""


def test_importing_dwindle_imports_no_numba(tmp_path):
    code = (
        "import sys, dwindle; dwindle.Logistic, dwindle.Truncation; print('numba' in sys.modules)"
    )
    assert run(code, cache=tmp_path) == "False"


@pytest.mark.slow
def test_a_second_process_compiles_nothing():
    """The first finds most of it compiled, if other tests ran before."""
    code = """
        from dwindle import *
        from dwindle.engine.lanes import LaneLearner
        for learner in (Learner(Hinge(), Truncation(1e-3), Adaptive(), 0.1), LaneLearner(Hinge())):
            learner.learn_one({"a": 1}, 1), learner.predict_one({"a": 1}), learner.sweep()
            learner.weights()
    """
    code = textwrap.dedent(code) + textwrap.dedent(COMPILED)
    run(code)
    misses, hits = map(int, run(code).split())
    assert (misses, hits > 0) == (0, True)


OWN_SHRINKAGE = """
from typing import NamedTuple

class Half(NamedTuple):
    truncate_every: int = 1

    def pull(self, rate):
        return rate

    def shrink(self, v, _owed, _size):
        return 0.5 * v
"""

# Without a compiler each kernel is watched while it runs: which files is the code from?
WATCHED = """
    import sys
    from own import Half
    from dwindle import *
    from dwindle.algorithm.dual_averaging import CentredFTRL
    from dwindle.algorithm.sigmas import Sigmas
    from dwindle.datasets.ads import Ads
    from dwindle.engine.lanes import LaneLearner
    from dwindle.jit import compile as jit, stamps

    missed, n_reached = set(), {}

    def watched(function, *args):
        code, files = function.__code__, set()
        found = zip(code.co_varnames, args)
        classes = tuple(type(a) for name, a in found if name in jit.INGREDIENTS)
        outer = sys.getprofile()
        sys.setprofile(lambda frame, *_: files.add(frame.f_code.co_filename))
        try:
            return run(function, *args)
        finally:
            sys.setprofile(outer)
            reached = {f.__code__.co_filename for f in stamps.reached(function, classes)}
            n_reached[function.__name__] = len(reached)
            own = {f for f in files if "dwindle" in f or f.endswith("own.py")}
            ours = {f for f in own if not f.endswith(("dispatch.py", "interpreted.py"))}
            missed.update((function.__name__, f) for f in ours - reached)

    run, jit.run_as_python = jit.run_as_python, watched
    examples = Batch.from_dicts([{f"w{i}": 1, "c": "red"} for i in range(40)], [1, -1] * 20)
    for shrinkage in (Half(), Truncation(0.01), Subgradient(0.01)):
        learner = Learner(Logistic(), shrinkage, Plain())
        learner.learn(examples), learner.learn_one({"a": 1}, 1), learner.sweep(), learner.weights()
    for update in (Adaptive(), FTRL(), RDA()):
        learner = Learner(Logistic(), Truncation(0.01), update, max_live=8)
        learner.learn(examples), learner.predict(examples)
    for update in (RDA(), CentredFTRL(), Adaptive(), Plain()):
        learner = LaneLearner(Logistic(), Sigmas(), update, max_live=8)
        learner.learn(examples), learner.predict(examples), learner.sweep(), learner.frontier()
    learner = Learner()
    for batch in Ads(1).batches(3):
        learner.learn(batch)
    print(missed, n_reached["learn"], sorted(n_reached))
"""


@pytest.mark.slow
def test_the_stamp_of_a_kernel_covers_every_file_that_it_runs_code_of(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN_SHRINKAGE)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    path = [PACKAGE.parent, tmp_path]
    missed, n_of_learn, *names = run(WATCHED, cache=tmp_path / "cache", path=path).split()
    assert missed == "set()"
    assert int(n_of_learn) >= 6  # kernels, losses, shrinkages, both files of updates, intrinsics
    assert len(names) > 8


LEARNED = """
    import sys
    from dwindle import *
    for loss in {losses}:
        learner = Learner(loss, Truncation(1e-3), Adaptive(), 0.1)
        learner.learn(Batch.from_dicts([{{"a": 1.5, "b": 2}}, {{"b": 1}}], [1, -1]))
        learner.sweep()
        print(learner.weights())
    print("numba.np.arrayobj" in sys.modules, "numba.cpython.unicode" in sys.modules)
"""


@pytest.mark.slow
def test_a_kernel_on_disk_is_loaded_without_the_compiler_which_can_still_follow(tmp_path):
    one, both = LEARNED.format(losses="[Hinge()]"), LEARNED.format(losses="[Hinge(), Squared()]")
    weights, compiler = run(one, cache=tmp_path).splitlines()
    assert compiler == "True True"
    assert run(one, cache=tmp_path).splitlines() == [weights, "False False"]
    *mixed, compiler = run(both, cache=tmp_path).splitlines()
    assert compiler == "True True"
    assert mixed == run(both).splitlines()[:-1]
    assert mixed[0] == weights


EDITS = [
    ("algorithm/shrinkage.py", "    return v\n", "    return 0\n"),  # the intercept's
    ("engine/kernels.py", "* slope(loss, p, label[i])", "+ slope(loss, p, label[i])"),
    ("algorithm/losses.py", "return 2.0 * (p - y)", "return 3.0 * (p - y)"),
    ("algorithm/updates.py", "cell.weight -= rate * slope * x", "cell.weight += rate * slope * x"),
]


@pytest.mark.slow
def test_no_kernel_is_stale_after_an_edit_to_the_package(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "dwindle", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "own.py").write_text(OWN_SHRINKAGE)
    code = """
        from own import Half
        from dwindle import *
        learner = Learner(Squared(), Half(), Plain(), 0.1)
        learner.learn(Batch.from_dicts([{"a": 1}, {"a": 1}], [1, 1]))
        print(learner.weights(), learner.intercept)
    """
    first = run(code, cache=tmp_path / "cache", path=[tmp_path])
    for file, old, new in EDITS if FULL else EDITS[:1]:
        edited = tmp_path / "dwindle" / file
        edit(edited, old, new)
        # Python's own cache of byte code trusts size and time, which `edit` leaves as they were.
        shutil.rmtree(edited.parent / "__pycache__", ignore_errors=True)
        assert run(code, cache=tmp_path / "cache", path=[tmp_path]) != first
        edit(edited, new, old)
        shutil.rmtree(edited.parent / "__pycache__", ignore_errors=True)


@pytest.mark.slow
def test_a_user_s_loss_is_compiled_in_cached_and_never_stale(tmp_path):
    shutil.copy(ROOT / "examples" / "own_loss.py", tmp_path)
    code = """
        from own_loss import Expectile
        from dwindle import Learner, Plain, Truncation
        learner = Learner(Expectile(0.9), Truncation(1e-3), Plain(), learning_rate=0.05)
        learner.learn_one({"a": 1}, 1)
        print(learner.weights()["a"])
    """
    counted = textwrap.dedent(code) + textwrap.dedent(COMPILED)
    first = run(counted, cache=tmp_path / "cache", path=[tmp_path]).split()
    second = run(counted, cache=tmp_path / "cache", path=[tmp_path]).split()
    assert float(first[0]) == pytest.approx(2 * 0.9 * 0.05)
    assert int(first[1]) > 0
    assert (second[0], second[1]) == (first[0], "0")
    edit(tmp_path / "own_loss.py", "return 2.0 * factor", "return 4.0 * factor")
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    third = run(counted, cache=tmp_path / "cache", path=[tmp_path]).split()
    assert float(third[0]) == pytest.approx(4 * 0.9 * 0.05)


@pytest.mark.slow
def test_the_inner_loops_count_no_references(tmp_path):
    """An NRT_incref inside the loop over features would cost more than the learning."""
    code = """
        import re
        from dwindle import *
        from dwindle.engine import kernels
        from dwindle.engine.fours import in_kernels
        llvm = []
        for update in (Plain(), Adaptive()):
            learner = Learner(Logistic(), Truncation(1e-3), update, 0.1)
            learner.learn(Batch.from_dicts([{"a": 1}], [1]))
            taken = in_kernels(learner.update, learner.shrinkage)
            learn = kernels.learn.of(learner.loss, learner.shrinkage, taken)
            llvm += learn.inspect_llvm().values()
        for ir in llvm:
            body = ir[ir.index("define"):]
            body = body[:body.index("\\n}\\n")]
            blocks = re.split(r"\\n(?=[\\w.]+:)", body)
            # Blocks that ask for a cache line are the inner loop's.
            inner = [b for b in blocks if "llvm.prefetch" in b]
            assert inner
            assert not any("NRT_" in b for b in inner)
            print(sum("NRT_incref" in b for b in blocks))
    """
    counts = run(code, cache=tmp_path).split()
    assert len(counts) == 2


def test_code_is_cached_by_the_constants_that_it_was_compiled_with(monkeypatch):
    """Also by those that changed after another kernel was compiled, which calls the same code."""

    def kernel():
        return CONSTANT

    before = stamp(kernel)
    monkeypatch.setitem(globals(), "CONSTANT", 2.0)
    assert stamp(kernel) != before
    monkeypatch.setitem(globals(), "CONSTANT", 1.0)
    assert stamp(kernel) == before


def test_code_is_cached_by_the_classes_it_is_for_even_if_it_does_not_call_them():
    class Mine(NamedTuple):
        pass

    function = kernels.predict.function
    assert stamp(function, Plain, Mine) != stamp(function, Plain, Logistic)
    assert stamp(function, Plain, Mine) == stamp(function, Plain, Mine)
