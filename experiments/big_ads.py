"""``python -m experiments.big_ads``: the paper's largest experiment, on a log that is generated.

Truncated gradient, and FTRL-Proximal beside it, each learns from 26 million clicks through a pipe
within a budget of memory and is measured on 2.7 million others. On as many as fit without
truncation, both are compared with models that keep everything. A table of results, a picture and
the page docs/big-ads.md are written.

Stopped and started again, it goes on from the parts that are finished.
"""

import argparse
import json
import multiprocessing
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple, Self

from dwindle.engine.budget import features_within
from dwindle.runs.journal import Journal
from experiments import big_ads_page
from experiments.big_ads_first import HELD, first_models, settings_within
from experiments.big_ads_first import METHODS as UPDATES
from experiments.storing import DOCS, save

EXAMPLES, TEST = 26_000_000, 2_700_000  # the paper's table 1
LEAST = 20_000  # to test on: with fewer an error is known too badly
FITS = 40_000  # examples whose features, some 7 million, are quickly learned when none is dropped
TESTED = 50_000  # examples on which the models of those are tested
MEMORY = 1.9  # GB, of the process that learns: in half of what there is, its table is faster
MODEL = "big-ads.parquet"
SEARCHED = 300_000  # examples on which the settings of all of them are chosen
PAUSE = 1.0  # seconds between two looks at the memory


class Plan(NamedTuple):
    """How much of everything."""

    examples: int
    test: int
    seed: int
    max_live: int | None  # else as many as there is memory for

    @property
    def budget(self) -> tuple[str, str]:
        """As an option of `dwindle train`."""
        if self.max_live is None:
            return "--memory", f"{MEMORY}GB"
        return "--max-live", str(self.max_live)

    @property
    def most_live(self) -> int:
        """As a number of features."""
        return self.max_live or features_within(round(MEMORY * 1e9))


METHODS = {"gradient": "adaptive", "ftrl": "ftrl"}  # and their updates


def options(chosen: dict[str, Any], searched: int, examples: int) -> list[str]:
    """How `dwindle train` is told to learn from so many examples.

    The sum of what a useless feature is moved by grows with the root of the examples, and so does
    the gravity on the sum of their losses.
    """
    method = UPDATES[chosen["update"]]
    strength = chosen["strength"] * (examples / searched) ** 0.5
    return [
        *("--update", chosen["update"]),
        *("--learning-rate", f"{chosen['learning_rate']:g}"),
        *("--gravity", f"{method.gravity(strength, examples):.2g}"),
        *(("--cooldown", str(examples)) if method.cools else ()),
    ]


class Sample(NamedTuple):
    """What the processes had at a moment."""

    seconds: float  # since they began
    bytes: list[int]  # of memory, each process
    processor: list[float]  # seconds, each process


def main() -> None:
    """Run it, and write results, picture and page."""
    parser = argparse.ArgumentParser(prog="python -m experiments.big_ads", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of examples")
    parser.add_argument("--max-live", type=int, help=f"instead of --memory {MEMORY}GB")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=DOCS, help="a folder [default: docs]")
    given = parser.parse_args()
    plan = Plan(
        round(EXAMPLES * given.scale),
        max(round(TEST * given.scale), LEAST),
        given.seed,
        given.max_live,
    )
    given.output.mkdir(parents=True, exist_ok=True)
    results = given.output / "big-ads.json"
    journal = Journal(results.with_suffix(".journal"), {"plan": list(plan)})
    save(results, json.dumps(run(plan, given.output, journal)))
    for path in big_ads_page.write(results):
        print(path)
    journal.path.unlink()


def run(plan: Plan, folder: Path, journal: Journal) -> dict[str, Any]:
    """All results, part by part; a model is in the folder until it is measured."""
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "settings": partial(apart, searched, plan),
        **{name: partial(full_size, plan, folder, journal, name) for name in METHODS},
        "first": partial(apart, first_examples, plan),
    }
    for name, measure in parts.items():
        if name not in journal:
            journal.add(name, measure())
    return {
        "about": {
            "examples": plan.examples,
            "test": plan.test,
            "seed": plan.seed,
            "max_live": plan.most_live,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "versions": {name: version(name) for name in ("dwindle", "numpy", "numba")},
        },
        "settings": journal["settings"],
        "runs": {method: journal[method] for method in METHODS},
        "first": journal["first"],
    }


def full_size(plan: Plan, folder: Path, journal: Journal, method: str) -> dict[str, Any]:
    """Learn from all examples through a pipe, then predict those that are left."""
    generate = ["generate", "ads", "--seed", str(plan.seed), "--json"]
    found = journal["settings"]
    [chosen] = [one for one in found["models"] if one["update"] == METHODS[method]]
    said = options(chosen, found["examples"], plan.examples)
    how = ["--interactions", "q*a", *said, *plan.budget]
    train = ["train", "-", *how, "--model", MODEL, "--json"]
    load = os.getloadavg()
    training = piped([*generate, "--examples", str(plan.examples)], train, folder)
    fresh = ["--examples", str(plan.test), "--first", str(plan.examples)]
    testing = piped([*generate, *fresh], ["evaluate", MODEL, "-", "--json"], folder)
    (folder / MODEL).unlink()
    return {
        "training": training,
        "testing": testing,
        "load": [load, os.getloadavg()],
        "searched": found["examples"],
    }


def told(line: dict[str, Any]) -> None:
    """Show what came of the run so far."""
    shown = {name: line[name] for name in ("examples", "loss", "alive", "kept", "seen", "accuracy")
             if name in line}  # fmt: skip
    print(json.dumps(shown), file=sys.stderr, flush=True)


def piped(source: Sequence[str], sink: Sequence[str], folder: Path) -> dict[str, Any]:
    """What two commands of dwindle, the one's output the other's input, said and took."""
    begin = time.monotonic()
    lines: list[dict[str, Any]] = []
    with (
        _dwindle(source, cwd=folder, stderr=subprocess.PIPE) as first,
        _dwindle(sink, cwd=folder, stdin=first.stdout) as second,
    ):
        assert first.stdout is not None
        assert first.stderr is not None
        assert second.stdout is not None
        first.stdout.close()  # so that it ends if the second does
        with Watched([first.pid, second.pid]) as watched:
            for text in second.stdout:
                lines.append(json.loads(text) | {"at": time.monotonic() - begin})
                told(lines[-1])
        generated = first.stderr.read()
    if first.returncode or second.returncode:
        sys.exit(f"a command failed: {generated.decode()}")
    return {
        "command": f"dwindle {shlex.join(source)} | dwindle {shlex.join(sink)}",
        "seconds": time.monotonic() - begin,
        "generated": json.loads(generated),
        "rows": lines[:-1],
        "summary": lines[-1],
        "samples": [list(sample) for sample in watched.samples],
    }


def _dwindle(command: Iterable[str], **where: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  (our own command)
        [sys.executable, "-m", "dwindle", *command], stdout=subprocess.PIPE, **where
    )


class Watched:
    """Looks now and then at the memory and the time of processes, until the block is left."""

    def __init__(self, processes: list[int]) -> None:
        self.samples: list[Sample] = []
        self._processes = processes
        self._ended = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        begin = time.monotonic()
        pause = PAUSE / 20  # the first second has the most news
        while not self._ended.wait(pause):
            now = [_taken(process) for process in self._processes]
            last = self.samples[-1].processor if self.samples else [0.0] * len(now)
            spent = [max(each, before) for (_, each), before in zip(now, last, strict=True)]
            seconds = time.monotonic() - begin
            self.samples.append(Sample(round(seconds, 3), [size for size, _ in now], spent))
            pause = PAUSE if seconds > 20 * PAUSE else pause


def _taken(process: int) -> tuple[int, float]:
    """The memory and the processor's time of a process; nothing if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0.0
    user, system, resident = int(fields[11]), int(fields[12]), int(fields[21])
    ticks = os.sysconf("SC_CLK_TCK")
    return resident * os.sysconf("SC_PAGE_SIZE"), (user + system) / ticks


def apart(work: Callable[[Plan], dict[str, Any]], plan: Plan) -> dict[str, Any]:
    """What the work comes to in a process of its own, and what that takes."""
    context = multiprocessing.get_context("spawn")
    answer, ask = context.Pipe(duplex=False)
    begin = time.monotonic()
    process = context.Process(target=_answer, args=(work, plan, ask))
    process.start()
    ask.close()  # so that there is an end to what is read if the process has none
    assert process.pid is not None
    with Watched([process.pid]) as watched:
        found = answer.recv()
    process.join()
    return {
        "seconds": time.monotonic() - begin,
        **found,
        "samples": [list(sample) for sample in watched.samples],
    }


def _answer(work: Callable[[Plan], Any], plan: Plan, ask: Any) -> None:
    ask.send(work(plan))


def searched(plan: Plan) -> dict[str, Any]:
    """The settings of each method on the first examples, in the budget of all."""
    n = min(plan.examples, SEARCHED)
    log = (plan.seed, n, plan.examples + HELD, min(plan.test, TESTED))
    return {"examples": n, "models": settings_within(plan.most_live, list(METHODS.values()), *log)}


def first_examples(plan: Plan) -> dict[str, Any]:
    """Models of as many examples as fit without truncation."""
    n = min(plan.examples, FITS)
    log = (plan.seed, n, plan.examples + HELD, min(plan.test, TESTED))
    return {"examples": n, "models": first_models(*log)}


if __name__ == "__main__":
    main()
