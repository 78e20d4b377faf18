"""`make fuzz`: inputs by the hundred thousand against plain readers, in processes that may crash."""

import argparse
import secrets
import shutil
import sys
import time
from dataclasses import asdict
from itertools import accumulate, pairwise
from pathlib import Path

from attacks import text_targets
from attacks.results import about, store
from attacks.targets import TARGETS
from attacks.worker import attack, made

ROUND = 25_000  # inputs of all targets together between two lines of progress
FOUND = Path("build/fuzz")  # inputs that did harm


def main(arguments=None):
    """Run the targets in turn, a round at a time; return 1 if something was found."""
    options = _options().parse_args(arguments)
    chosen = [each for each in TARGETS if not options.target or each.name in options.target]
    print(f"seed {options.seed}, {options.inputs:,} inputs", flush=True)
    totals = {target.name: None for target in chosen}
    begin = time.monotonic()
    bounds = _bounds(chosen)
    try:
        for first in range(0, options.inputs, ROUND):
            part = min(ROUND, options.inputs - first)
            for target, (low, high) in zip(chosen, bounds, strict=True):
                before, after = (round(n * high) - round(n * low) for n in (first, first + part))
                tally = attack(target, options.seed, after - before, before)
                totals[target.name] = _added(totals[target.name], asdict(tally))
                _keep(target, options.seed, tally.found)
            _progress(first + part, options.inputs, time.monotonic() - begin, totals)
    finally:
        shutil.rmtree(text_targets.folder(), ignore_errors=True)
    print(table(totals))
    if options.output:
        _store(options, totals)
    return any(harm(each) for each in totals.values() if each)


def _bounds(chosen):
    """Each target's share of the inputs, as a part of the unit interval: they add up to all."""
    ends = list(accumulate((target.share for target in chosen), initial=0))
    return [(low / ends[-1], high / ends[-1]) for low, high in pairwise(ends)]


def _options():
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=50_000)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    names = [target.name for target in TARGETS]
    parser.add_argument("--target", action="append", choices=names, help="only these; default all")
    parser.add_argument("--output", type=Path, help="write the results to this JSON file, in which "
                        "those of other targets stay")  # fmt: skip
    return parser


def harm(totals):
    """How many inputs of a target did harm."""
    return totals["differences"] + totals["crashes"] + totals["hangs"]


def _added(before, more):
    if before is None:
        return more
    return {key: before[key] + more[key] for key in more}


def _keep(target, seed, found):
    """Write the inputs that did harm to files."""
    for i, what in found[:20]:
        FOUND.mkdir(parents=True, exist_ok=True)
        data, _ = made(target, seed, i, target.corpus())
        path = FOUND / f"{target.name}-{seed}-{i}"
        path.write_bytes(data)
        print(f"{target.name}: input {i}: {what}; kept as {path}", flush=True)


def _progress(done, total, seconds, totals):
    n_harm = sum(harm(each) for each in totals.values() if each)
    left = seconds / done * (total - done)
    print(f"{done:>9,} inputs, {n_harm} found, {seconds:.0f} s, {left:.0f} s to go", flush=True)


def table(totals):
    """The results as a table of text."""
    heads = ("inputs", "accepted", "refused", "differences", "crashes", "hangs")
    lines = ["target".ljust(20) + "".join(head.rjust(13) for head in heads)]
    every = {head: sum(each[head] for each in totals.values()) for head in heads}
    for name, each in {**totals, "all": every}.items():
        lines.append(name.ljust(20) + "".join(f"{each[head]:>13,}" for head in heads))
    return "\n".join(lines)


def _store(options, totals):
    """Write the results of these targets."""
    found = {}
    for name, each in totals.items():
        rows = {key: value for key, value in each.items() if key not in {"found", "cpu"}}
        found[name] = {"seed": options.seed} | about() | rows | {"cpu_seconds": round(each["cpu"])}
    store(options.output, "fuzz", found)


if __name__ == "__main__":
    sys.exit(main())
