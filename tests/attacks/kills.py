"""`make kills`: commands killed at chosen points and run again, until the result is the same file.

A kill falls before a system call, of which a supervisor is told, or before a batch is learned. The
phase it falls into follows from the call and its file, and phases take turns.
"""

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import chdir
from pathlib import Path
from random import Random
from unittest.mock import patch

from attacks.results import about, store
from attacks.scenarios import DATA, SCENARIOS, inputs, new_folder
from attacks.syscalls import supervised
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from helpers.commands import dwindle

CALLS = ["read", "write", "fsync", "fdatasync", "rename", "unlink", "openat", "ftruncate"]
NO_FILE = 2**20  # a descriptor that is not open: what is asked of it marks a batch being learned
READING, LEARNING, CACHE, JOURNAL = "reading", "learning", "cache write", "journal write"
CHECKPOINT, OUTPUT, SYNC, RENAME = "checkpoint write", "model or output write", "sync", "rename"
TIDYING = "removing the checkpoint"
PHASES = (READING, LEARNING, CACHE, JOURNAL, CHECKPOINT, OUTPUT, SYNC, RENAME, TIDYING)


def phase_of(event, folder):
    """The phase that a system call belongs to; None if it says nothing of the command's work."""
    name, path, args = event
    file = Path(path).name
    if name == "fdatasync" and args[0] == NO_FILE:
        return LEARNING
    if name == "read":
        return READING if file in DATA or file in {"old.parquet", "other.parquet"} else None
    if path.endswith("(deleted)"):
        return CACHE if name in {"write", "ftruncate"} else None
    inside = not os.path.isabs(path) or Path(path).is_relative_to(folder)
    if not inside or (name == "openat" and not args[2] & os.O_CREAT):
        return None
    if name == "fsync":
        return SYNC
    if name == "rename":
        return RENAME
    if name == "unlink":
        return TIDYING if file.endswith(".checkpoint") else None
    if ".checkpoint" in file:
        return CHECKPOINT
    return JOURNAL if file.endswith(".tuning") else OUTPUT


def marked(work):
    """Work that tells the supervisor of each batch before it is learned."""

    def run():
        with contextlib.ExitStack() as stack:
            for kind in (Learner, LaneLearner):
                stack.enter_context(patch.object(kind, "learn", _telling(kind.learn)))
            work()

    return run


def _telling(learn):
    def told(self, batch):
        with contextlib.suppress(OSError):
            os.fdatasync(NO_FILE)
        return learn(self, batch)

    return told


class Attack:
    """A scenario in a folder of its own, with what comes of it when nothing goes wrong."""

    def __init__(self, scenario):
        self.scenario, self.folder = scenario, new_folder()
        inputs(self.folder)
        self.given = set(os.listdir(self.folder))
        with chdir(self.folder):
            self._warm_up()
            end = supervised(marked(scenario.run), CALLS, lambda _: None)
            assert end.code == 0, end.said
            self.expected = Path(scenario.target).read_bytes()
            self.phases = Counter(filter(None, map(self._phase, end.events)))
            self._clear()

    def _warm_up(self):
        """Compile and load all code before it is forked."""
        dwindle(*self.scenario.args, cwd=self.folder)
        self._clear()

    def _phase(self, event):
        return phase_of(event, self.folder)

    def _clear(self):
        for name in set(os.listdir(self.folder)) - self.given:
            (self.folder / name).unlink()

    def killed(self, work, phase, n):
        """Kill the command before the n-th event of a phase, counting from 0; return the `End`."""
        left = [n]

        def decide(event):
            if self._phase(event) != phase:
                return None
            left[0] -= 1
            return signal.SIGKILL if left[0] < 0 else None

        return supervised(marked(work), CALLS, decide)

    def attempt(self, points):
        """Kill the command at each of these points in turn, run it to its end, and compare.

        Returns the phases in which a kill fell, and what is wrong.
        """
        fell, wrong = [], []
        work = self.scenario.run
        with chdir(self.folder):
            for phase, n in points:
                end = self.killed(work, phase, n)
                if end.code == -signal.SIGKILL:
                    fell.append(phase)
                elif end.code:
                    wrong.append(f"exit {end.code} before {phase} {n}: {end.said[-300:]}")
                wrong += self._partial()
                if end.code == 0:
                    break
                work = self.scenario.resume
            else:
                end = supervised(work, CALLS[-1:], lambda _: None)
            if end.code:
                wrong.append(f"run again, exit {end.code}: {end.said[-300:]}")
            elif Path(self.scenario.target).read_bytes() != self.expected:
                wrong.append("run again, it wrote another file")
            left = set(os.listdir(self.folder)) - self.given - {self.scenario.target}
            if left:
                wrong.append(f"left behind: {sorted(left)}")
            self._clear()
        return fell, wrong

    def _partial(self):
        """A file that can be seen is whole."""
        target = Path(self.scenario.target)
        if target.exists() and target.read_bytes() != self.expected:
            return ["a file that is not whole can be seen"]
        return []

    def close(self):
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def run(n_kills, seed, scenarios, report=print):
    """Kill at least so often, phases taking turns; return the results as data."""
    rng, attacks = Random(seed), [Attack(each) for each in scenarios]
    kills = Counter()  # by scenario and phase
    finished, found = 0, []
    begin = said = time.monotonic()
    while sum(kills.values()) < n_kills:
        by_phase = _by_phase(kills)
        rare = sorted({p for each in attacks for p in each.phases}, key=lambda p: (by_phase[p], p))[
            :3
        ]
        phase = rng.choice(rare)
        attack = rng.choice([each for each in attacks if phase in each.phases])
        points = [(phase, rng.randrange(attack.phases[phase]))]
        for _ in range(rng.choice((0, 0, 1, 2))):
            again = rng.choice(sorted(attack.phases))
            points.append((again, rng.randrange(attack.phases[again])))
        fell, wrong = attack.attempt(points)
        kills.update((attack.scenario.name, each) for each in fell)
        finished += 1
        found += [f"{attack.scenario.name}: {points}: {each}" for each in wrong]
        for each in wrong:
            report(f"{attack.scenario.name}: {points}: {each}")
        if time.monotonic() - said > 20:
            said = time.monotonic()
            report(f"{sum(kills.values())} kills, {len(found)} found, {said - begin:.0f} s")
    for each in attacks:
        each.close()
    return {
        "seed": seed,
        "kills": sum(kills.values()),
        "runs": finished,
        "phases": dict(sorted(_by_phase(kills).items(), key=lambda each: PHASES.index(each[0]))),
        "commands": dict(Counter(name for name, _ in kills.elements())),
        "found": found,
        "seconds": round(time.monotonic() - begin),
    } | about()


def _by_phase(kills):
    return Counter(phase for _, phase in kills.elements())


def main(arguments=None):
    """Kill, print what came of it, and return 1 if a file was not the same."""
    parser = argparse.ArgumentParser(prog="make kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    parser.add_argument("--output", type=Path, help="write the results to this JSON file")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}, {options.kills:,} kills", flush=True)
    result = run(options.kills, options.seed, SCENARIOS, lambda line: print(line, flush=True))
    for phase, n in result["phases"].items():
        print(f"{phase:<26}{n:>6}")
    print(f"{result['kills']} kills in {result['runs']} runs, {len(result['found'])} found")
    if options.output:
        store(options.output, "kills", result)
    return bool(result["found"])


if __name__ == "__main__":
    sys.exit(main())
