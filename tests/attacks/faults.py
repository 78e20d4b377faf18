"""`make faults`: every write, sync, rename, mapping and allocation of a command fails once, in turn.

A supervisor is told of each such system call before it happens, and lets one fail. Then an old file
is as it was, the message is one line that names the file, and nothing is left behind.
"""

import argparse
import errno
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from attacks.results import about, store
from attacks.scenarios import SCENARIOS, inputs, new_folder
from attacks.syscalls import supervised
from helpers.commands import dwindle

OLD = b"the file before"
PATIENCE = 10  # seconds until a command is killed
ERRNO = {  # what each call fails with
    "write": errno.ENOSPC, "pwrite64": errno.ENOSPC, "writev": errno.ENOSPC,
    "ftruncate": errno.ENOSPC, "fallocate": errno.ENOSPC, "openat": errno.ENOSPC,
    "fsync": errno.EIO, "fdatasync": errno.EIO,
    "rename": errno.EIO, "renameat": errno.EIO, "renameat2": errno.EIO, "link": errno.EIO,
    "linkat": errno.EIO,
    "mmap": errno.ENOMEM, "brk": errno.ENOMEM, "mremap": errno.ENOMEM,
}  # fmt: skip
MEMORY = {"mmap", "brk", "mremap"}
CREATES = os.O_CREAT | getattr(os, "O_TMPFILE", 0)


@dataclass
class Outcome:
    """What came of the failing calls of one command."""

    calls: Counter = field(default_factory=Counter)
    refused: int = 0  # the command ended with a message
    survived: int = 0  # it did without, and wrote the same file
    hung: int = 0  # Python waits for a thread that had no memory to begin, until it is killed
    found: list = field(default_factory=list)


class Attack:
    """A scenario in a folder of its own, where each run begins alike."""

    def __init__(self, scenario):
        self.scenario, self.folder = scenario, new_folder()
        inputs(self.folder)
        self.given = set(os.listdir(self.folder)) | {"temporary"}
        (self.folder / "temporary").mkdir()
        self.environment = {"TMPDIR": str(self.folder / "temporary")}
        dwindle(*scenario.args, cwd=self.folder)
        self.expected = (self.folder / scenario.target).read_bytes()
        self._begin()

    def events(self):
        """The calls that may fail, as the command makes them when none does."""
        end = self._run(lambda _: None)
        assert end.code == 0, end.said
        self._begin()
        return [event for event in end.events if self.matters(event)]

    def matters(self, event):
        """Whether a call is the command's own: not what it prints, and not a file it only reads."""
        name, path, args = event
        if name in MEMORY:
            return True
        if name == "openat":
            return bool(args[2] & CREATES) and args[2] & os.O_ACCMODE != os.O_RDONLY
        return not path.startswith(("pipe:", "/dev/null", "anon_inode", "socket:"))

    def _run(self, decide):
        with chdir(self.folder), patch.dict(os.environ, self.environment):
            tempfile.tempdir = None
            try:
                return supervised(self.scenario.run, list(ERRNO), decide, seconds=PATIENCE)
            finally:
                tempfile.tempdir = None

    def _begin(self):
        """Remove what was written, and put an old file in its place."""
        for name in set(os.listdir(self.folder)) - self.given:
            (self.folder / name).unlink()
        for each in (self.folder / "temporary").iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        (self.folder / self.scenario.target).write_bytes(OLD)

    def attempt(self, n):
        """Let the n-th call fail; return its event, the code, and what is wrong."""
        at, failed = [n], []

        def decide(event):
            if not self.matters(event):
                return None
            at[0] -= 1
            if at[0] != -1:
                return None
            failed.append(event)
            return ERRNO[event.name]

        end = self._run(decide)
        if not failed:  # there were fewer calls this time
            self._begin()
            return None, end.code, []
        wrong = self._wrong(failed[0], end)
        self._begin()
        return failed[0], end.code, wrong

    def _wrong(self, event, end):
        target = self.folder / self.scenario.target
        there = target.read_bytes() if target.exists() else None
        elsewhere = [each for each in (self.folder / "temporary").rglob("*") if each.is_file()]
        left = set(os.listdir(self.folder)) - self.given - {self.scenario.target}
        wrong = []
        if end.code == 0:
            if there != self.expected:
                wrong.append("it said nothing, and wrote another file")
            if left or elsewhere:
                wrong.append(f"left behind: {sorted(left)} {elsewhere}")
            return wrong
        if end.code < 0 and not is_thread_lost(end):
            wrong.append(f"signal {-end.code}: {end.said[-200:]}")
        if "Traceback" in end.said or end.code == 70:
            wrong.append(f"traceback: {end.said[-400:]}")
        if there not in {OLD, self.expected}:
            wrong.append("the old file is gone")
        wrong += self._unexplained(event, end, left, elsewhere)
        return wrong

    def _unexplained(self, event, end, left, elsewhere):
        """What is left behind without a word, and a message that names no file."""
        said, wrong = end.said, []
        if is_thread_lost(end):  # what it leaves, the next run removes: see kills.py
            return wrong
        kept = {name for name in left if name.endswith((".checkpoint", ".tuning"))}  # to go on from
        kept |= {name for name in left if name in said}
        if left - kept:
            wrong.append(f"left behind: {sorted(left - kept)}")
        if any(str(each) not in said for each in elsewhere):
            wrong.append(f"left behind in the temporary folder: {elsewhere}: {said[-200:]}")
        lines = [line for line in said.splitlines() if line.startswith("dwindle: ")]
        if end.code > 0 and not lines and "Traceback" not in said:
            wrong.append(f"no message: {said[-200:]}")
        names = re.escape(self.scenario.target), r"\.tuning", "temporary", "TMPDIR", "cache"
        if event.name not in MEMORY and lines and not re.search("|".join(names), " ".join(lines)):
            wrong.append(f"the message names no file: {lines}")
        return wrong

    def close(self):
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def is_thread_lost(end):
    """Whether Python itself waits for a thread that had no memory to begin: `Thread.start` does."""
    return end.code == -9 and re.search(r'threading\.py", line \d+ in start\n', end.said)


def chosen(events, most):
    """Which calls are to fail: all, or about so many, at least one of each call on each file."""
    if most is None or len(events) <= most:
        return list(range(len(events)))
    first = {}
    for i, event in enumerate(events):
        file = re.sub(r"[.][^.]{8}[.]dwindle$|#\d+", "", Path(event.path).name)
        first.setdefault((event.name, file), i)
    step = max(1, len(events) // most)
    return sorted({*first.values(), *range(0, len(events), step)})


def run(scenarios, most=None, report=print, *, memory=True):
    """Let calls fail in each scenario; return {scenario: `Outcome`}.

    Without ``memory``, allocations do not fail: a command may then wait until it is killed.
    """
    outcomes = {}
    for scenario in scenarios:
        attack, outcome = Attack(scenario), Outcome()
        outcomes[scenario.name] = outcome
        attack.events()  # the first run may load what later ones have
        events = attack.events()
        for n in chosen(events, most):
            if events[n].name in MEMORY and not memory:
                continue
            event, code, wrong = attack.attempt(n)
            if event is None:
                continue
            outcome.calls[event.name] += 1
            outcome.refused += code > 0
            outcome.survived += code == 0
            outcome.hung += code < 0
            for each in wrong:
                outcome.found.append(f"{event.name} {Path(event.path).name}: {each}")
                report(f"{scenario.name}: call {n}: {outcome.found[-1]}")
        attack.close()
        n, found = sum(outcome.calls.values()), len(outcome.found)
        report(f"{scenario.name}: {n} calls failed in turn, {found} found")
    return outcomes


def _told(outcome):
    """An outcome as data."""
    return {
        "calls": dict(outcome.calls),
        "refused": outcome.refused,
        "survived": outcome.survived,
        "hung": outcome.hung,
        "found": outcome.found,
    } | about()


def main(arguments=None):
    """Let every call fail, print what came of it, and return 1 if something was lost."""
    parser = argparse.ArgumentParser(prog="make faults", description=__doc__)
    parser.add_argument("--most", type=int, help="about so many calls of each command")
    parser.add_argument("--scenario", action="append", help="only the commands of this name")
    parser.add_argument("--output", type=Path, help="write the results to this JSON file")
    options = parser.parse_args(arguments)
    chosen_ones = [s for s in SCENARIOS if options.scenario is None or s.name in options.scenario]
    begin = time.monotonic()
    outcomes = {}
    for scenario in chosen_ones:
        outcomes |= run([scenario], options.most, lambda line: print(line, flush=True))
        if options.output:
            store(options.output, "faults", {scenario.name: _told(outcomes[scenario.name])})
    print(f"{time.monotonic() - begin:.0f} s")
    return any(each.found for each in outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
