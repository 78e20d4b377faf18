"""The page docs/reliability.md, written from docs/reliability.json: `make reliability`."""

import json
from collections import Counter

from attacks.results import DOCS
from attacks.targets import TARGETS

PAGE = """# How reliable is it?

<!-- written by make reliability -->

What dwindle promises about bad input, failing disks and sudden ends, how each promise is attacked, and what the attacks found. [Security](../SECURITY.md) says what may be trusted with what.

## What is promised

- **Bad input is refused where it stands**: one line with file, line, what was expected and what was found; the exit code is 1. Nothing is learned from it, and no input ends the process with a crash.
- **What is accepted means one thing**: the same rows give the same features, to the bit, however a file is cut into blocks, compressed, spread over threads or written in another format.
- **A damaged file is refused**: models, checkpoints, what `dwindle convert` writes, and compressed files have checksums. A crafted file whose checksums are right is refused or harmless.
- **A file is whole or absent**: a new one replaces the old one when it is complete and on disk.
- **Whatever fails, the old file stays**, the message names the file, and nothing is left behind.
- **A killed command loses nothing that a checkpoint has**: run again, it ends with the same file to the byte.
- **Compiled code stays inside its arrays**.

## Inputs made by chance

{fuzz_sum}

| target | inputs | accepted | refused | differences | crashes or hangs | compared with |
|---|---|---|---|---|---|---|
{fuzz_rows}

*Accepted* has no bad line, *refused* at least one, or is refused as a whole; the good lines of a refused text are compared too. A traceback counts as a difference.
Inputs are made by a grammar of each format, or taken from the corpus, and then changed: bits, cuts, copies, numbers at the edge of what fits, pieces of other inputs. Block size, threads, compression, interactions and the kinds of columns vary.
Texts lie in memory that ends or begins at a protected page. Inputs run in forked processes, so that a crash is caught and the input that caused it is known; the same seed and the same corpus make every input again.

`make corpus` finds inputs for the text formats by following coverage, with Atheris (libFuzzer for Python). It sees Python's bytecode only, so the kernels then run as plain Python; `make fuzz` changes what it found, and runs it against the compiled code.

The first run over all targets, of a million inputs with seed 2026, found 18: fifteen of CSV and TSV, all with a byte order mark before the first row, which Arrow skips and the reference did not; one of Parquet; and two faults of the attack itself. The rows above of these five targets are of a second run, after the mends.

What does harm is mended, and is a case in `tests/attacks/corpus`, which `make test` runs. Found so far by these attacks:

- CSV: a row that is not UTF-8 and has too many cells printed a traceback; a number after a vertical tab was read or refused depending on other rows; a quote that is opened right after a byte order mark and not closed swallowed the rest.
- Parquet: metadata whose number of rows contradicts its row groups was read, with other rows than other readers return. It is refused.
- A sync that fails named no file; nor did the journal of `dwindle tune` on a full disk. Running out of memory was a traceback.

## Kills

{kills_sum}

| phase | kills |
|---|---|
{kills_rows}

A kill falls before a chosen system call, of which a supervising process is told (seccomp's user notification), or before a batch is learned; no clock decides. One run in two is killed again while it resumes. After each kill, the file that is there is whole or absent; at the end it is the same to the byte, and nothing else is left.
The commands are `train` (one pass, two passes with a cache and a budget, a path of several gravities, three classes), `tune`, `convert`, `predict` and `merge`.

## System calls that fail

{faults_sum}

| command | calls that failed | refused with a message | did without | waited for a thread | wrong |
|---|---|---|---|---|---|
{faults_rows}

Each call fails once, in turn, whoever makes it: Python, Arrow or compiled code. {faults_calls}.
Then the old file must be as it was, or the new one complete; the message must be one line, and name the file unless it is memory that lacks; nothing but a checkpoint, or a file that the message names, may be left.
*Waited for a thread*: Python's `Thread.start` waits for ever if a new thread finds no memory for its first frame. It is killed after some seconds; the old file is intact.

## Memory

- The parsers of VW text, svmlight and JSON lines run on texts that end or begin at a protected page, in all of the runs above. Learning kernels run on arrays and tables of features that end at one, and come to the same bits (`tests/attacks/test_guarded.py`).
- `make test-bounds` runs all tests with every index of compiled code checked (`NUMBA_BOUNDSCHECK=1`), weekly in continuous integration. What reads by raw addresses is not seen by it: the protected pages are for that.

## What is not covered

- **Power loss** is not simulated: that a file is synced before it is renamed, and its folder after, is tested by watching the calls (`tests/attacks/test_faults.py`).
- **pyarrow, isal and Python's own decompressors** are attacked only as far as dwindle uses them; allocations fail at the system's `mmap` and `brk`, so a small one inside memory that a process already has never does.
- **Two or more failures at once**, and disks that return wrong bytes without an error, other than where checksums find them.
- **Lists, dates, texts and nested types** in damaged Arrow and Parquet files must not crash, and are compared with plain Python only where they are numbers, booleans, categories or lists of strings.
- **Flat JSON lines** are compared with themselves, read in another way, and in *rows* with plain Python; the guess of a column's kind in CSV is compared for numbers and categories.
- The supervisor needs Linux on x86-64. The server is attacked by its own tests, not by these.

## Run it again

```
make fuzz                                        # some minutes; prints its seed
make corpus                                      # new inputs for it, by coverage
make fuzz FUZZ='--inputs 1000000 --seed 2026'    # as above; inputs depend on the corpus, too
make kills KILLS='--kills 1000 --seed 2026'
make faults
make test-bounds
make reliability                                 # this page; --output docs/reliability.json stores results
```

{versions}
"""


def page(results):
    """Write the page of the stored results."""
    return PAGE.format(
        **_fuzz(results["fuzz"]),
        **_kills(results["kills"]),
        **_faults(results["faults"]),
        versions=_versions(results),
    )


def _fuzz(found):
    rows = [(target, found[target.name]) for target in TARGETS if target.name in found]
    total = Counter()
    for _, each in rows:
        total.update({key: value for key, value in each.items() if isinstance(value, int)})
    wrong = total["differences"] + total["crashes"] + total["hangs"]
    lines = [
        f"| {target.name} | {each['inputs']:,} | {each['accepted']:,} | {each['refused']:,} "
        f"| {each['differences']:,} | {each['crashes'] + each['hangs']:,} | {target.against} |"
        for target, each in rows
    ]
    seeds = ", ".join(dict.fromkeys(str(each["seed"]) for _, each in rows))
    return {
        "fuzz_sum": f"**{total['inputs']:,} inputs**, of which {wrong:,} did harm "
        f"(seeds {seeds}; {total['cpu_seconds'] / 60:.0f} minutes of one core).",
        "fuzz_rows": "\n".join(lines),
    }


def _kills(found):
    return {
        "kills_sum": f"**{found['kills']:,} kills** by SIGKILL in {found['runs']:,} runs; "
        f"{len(found['found'])} runs ended with another file, or left something behind "
        f"(seed {found['seed']}).",
        "kills_rows": "\n".join(f"| {phase} | {n} |" for phase, n in found["phases"].items()),
    }


def _faults(found):
    calls = Counter()
    for each in found.values():
        calls.update(each["calls"])
    lines = [
        f"| {name} | {sum(each['calls'].values())} | {each['refused']} | {each['survived']} "
        f"| {each['hung']} | {len(each['found'])} |"
        for name, each in found.items()
    ]
    wrong = sum(len(each["found"]) for each in found.values())
    by_call = ", ".join(f"`{name}` {n}" for name, n in calls.most_common())
    return {
        "faults_sum": f"**{sum(calls.values()):,} system calls** failed, one at a time; {wrong} times "
        "something was lost, left behind or not told.",
        "faults_rows": "\n".join(lines),
        "faults_calls": f"They are {by_call}",
    }


def _versions(results):
    every = [*results["fuzz"].values(), results["kills"], *results["faults"].values()]
    dates = sorted({each["date"] for each in every})
    pythons = ", ".join(sorted({each["python"] for each in every}))
    return f"Run on {' and '.join(dates)} with Python {pythons}."


def main():
    """Write the page."""
    results = json.loads((DOCS / "reliability.json").read_text())
    (DOCS / "reliability.md").write_text(page(results))


if __name__ == "__main__":
    main()
