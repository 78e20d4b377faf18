"""`make corpus`: inputs that reach code which no other reaches, found by following coverage.

Atheris (libFuzzer for Python) sees Python's bytecode only. With NUMBA_DISABLE_JIT=1 the kernels are
plain Python, so it sees their branches, too. What it finds is kept in the corpus, and `make fuzz`
changes it further, against compiled code.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from random import Random

from attacks.target import CORPUS, GUIDED, Difference

PLACES = ["dwindle.data", "dwindle.features"]
TEXT = ("vw", "svmlight", "csv", "tsv", "jsonl", "flat jsonl")
LONGEST = 120  # bytes of an input
MOST = 150  # inputs of a target


def follow(name, arguments):
    """Let libFuzzer run a target in this process, which it ends."""
    import atheris  # noqa: PLC0415  (only here)

    with atheris.instrument_imports(include=PLACES):
        from attacks.targets import TARGETS  # noqa: PLC0415  (imported while the fuzzer watches)
    target = next(each for each in TARGETS if each.name == name)

    def mutated(data, most, seed):
        if seed % 3:
            return atheris.Mutate(data, most)
        return target.make(Random(seed), [bytes(data)])[:most]

    def run(data):
        # It only leads the way: products of single precision are rounded later in plain Python.
        with suppress(Difference, AssertionError):
            target.attempt(data, Random(hashlib.sha256(data).digest()))

    atheris.Setup([sys.argv[0], *arguments], run, custom_mutator=mutated)
    atheris.Fuzz()


def grow(name, seconds):
    """Run a target for so long, and keep the inputs that reached something new, the shortest."""
    with tempfile.TemporaryDirectory() as folder:
        found, seeds = Path(folder) / "found", Path(folder) / "seeds"
        for place in (found, seeds):
            place.mkdir()
        for i, data in enumerate(_seeds(name)):
            (seeds / str(i)).write_bytes(data)
        command = [
            *(sys.executable, "-m", "attacks.guided", "--follow", name, f"-max_len={LONGEST}"),
            *(f"-max_total_time={seconds}", f"-artifact_prefix={folder}/", str(found), str(seeds)),
        ]
        subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, check=True)
        kept = sorted((each.read_bytes() for each in found.iterdir()), key=lambda d: (len(d), d))
    found = kept[:MOST]
    (CORPUS / name).mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(data.decode("latin-1")) for data in found)
    (CORPUS / name / GUIDED).write_text(f"[\n{lines}\n]\n")
    return len(found)


def _seeds(name):
    from attacks.targets import TARGETS  # noqa: PLC0415  (not before they are watched)

    target = next(each for each in TARGETS if each.name == name)
    return target.corpus() + [target.make(Random(i), [])[:LONGEST] for i in range(40)]


def main(arguments=None):
    """Grow the corpus of the text formats."""
    parser = argparse.ArgumentParser(prog="make corpus", description=__doc__)
    parser.add_argument("--follow", choices=TEXT, help=argparse.SUPPRESS)
    parser.add_argument("--target", action="append", choices=TEXT, help="only these; default all")
    parser.add_argument("--seconds", type=int, default=120, help="for each target")
    options, others = parser.parse_known_args(arguments)
    if options.follow:
        follow(options.follow, others)
    for name in options.target or TEXT:
        print(f"{name}: {grow(name, options.seconds)} inputs", flush=True)


if __name__ == "__main__":
    main()
