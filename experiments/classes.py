"""``python -m experiments.classes``: twenty classes of text as word counts, beside Vowpal Wabbit.

The texts are at hand wherever this runs: docstrings of scikit-learn, SciPy and the standard
library, in pieces of at most 60 words, whose class is the part of the package that they are from;
and a seeded generator of topics. Both programs learn from the same file in the same order, with
their defaults; the means are over several orders. The defaults for several classes were chosen on
parts of all three sets of docstrings, so none of these is unseen.
"""

import ast
import json
import platform
import re
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from vowpalwabbit import Workspace

from dwindle.runs.evaluate import evaluate
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from experiments.storing import DOCS, save

PACKAGES = ("dwindle", "numpy", "numba", "vowpalwabbit", "scikit-learn", "scipy")
CLASSES, WORDS_EACH, LEAST, MOST_EACH = 20, 60, 15, 1500
SHUFFLES = 3

Document = tuple[str, Counter[str]]
_WORD = re.compile(r"[a-z]{2,}")


def docstrings(folder: Path) -> Iterator[str]:
    """Yield the docstrings of all modules below a folder, or of one module."""
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.py")):
        if {"tests", "test", "site-packages"} & set(path.parts[len(folder.parts) - 1 :]):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except SyntaxError:  # a file for another version of Python
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""


def of_parts(folder: Path) -> list[Document]:
    """Return the documents of the parts of a package that have the most."""
    found: dict[str, list[Document]] = {}
    for part in sorted(folder.iterdir()):
        for text in docstrings(part) if part.suffix in {"", ".py"} else ():
            words = _WORD.findall(text.lower())
            pieces = (words[i : i + WORDS_EACH] for i in range(0, len(words), WORDS_EACH))
            found.setdefault(part.stem, []).extend(
                (part.stem, Counter(piece)) for piece in pieces if len(piece) >= LEAST
            )
    largest = sorted(found, key=lambda name: len(found[name]))[-CLASSES:]
    order = np.random.default_rng(0)
    return [
        found[name][i]
        for name in sorted(largest)
        for i in order.permutation(len(found[name]))[:MOST_EACH]
    ]


def topics(n: int = 8_000, n_words: int = 20_000) -> list[Document]:
    """Generate documents of Zipf's words; a topic and its neighbours prefer some of them."""
    order = np.random.default_rng(1)
    usual = 1.0 / (np.arange(n_words) + 5.0)
    near, own = order.normal(size=(CLASSES // 4, n_words)), order.normal(size=(CLASSES, n_words))
    preferred = usual * np.exp(0.44 * (0.9 * np.repeat(near, 4, axis=0) + own))
    chance = np.cumsum(preferred / preferred.sum(axis=1, keepdims=True), axis=1)
    made = []
    for _ in range(n):
        topic = int(order.integers(CLASSES))
        size = 3 + int(np.exp(order.normal(np.log(60), 0.8)))
        drawn = np.minimum(np.searchsorted(chance[topic], order.random(size)), n_words - 1)
        counts = Counter(f"w{j}" for j in np.repeat(drawn, order.geometric(0.6, size)))
        made.append((f"topic{topic}", counts))
    return made


SETS: dict[str, Callable[[], list[Document]]] = {
    "scikit-learn's docstrings": lambda: of_parts(_package("sklearn")),
    "SciPy's docstrings": lambda: of_parts(_package("scipy")),
    "the standard library's docstrings": lambda: of_parts(Path(sysconfig.get_path("stdlib"))),
    "generated topics": topics,
}


def _package(name: str) -> Path:
    found = find_spec(name)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def write(documents: list[Document], folder: Path, seed: int) -> None:
    """Write seven tenths of the documents to train on, in the order of a seed, and the rest."""
    number = {name: i + 1 for i, name in enumerate(sorted({name for name, _ in documents}))}
    order = np.random.default_rng(seed).permutation(len(documents))
    cut = int(0.7 * len(documents))
    for part, some in (("train", order[:cut]), ("test", order[cut:])):
        with (folder / f"{part}.vw").open("w") as file:
            for i in some:
                name, counts = documents[i]
                words = " ".join(f"{word}:{n}" for word, n in counts.items())
                file.write(f"{number[name]} | {words}\n")


def our(folder: Path, passes: int, **settings: Any) -> tuple[float, int]:
    """Return the accuracy of ours on the test part, and how many weights it has."""
    how = TrainSettings(loss="logistic", passes=passes, **settings)
    kept = train([str(folder / "train.vw")], folder / "ours", how).kept
    return float(evaluate(folder / "ours", [str(folder / "test.vw")])["accuracy"]), kept


def their(folder: Path, passes: int) -> float:
    """Return the accuracy of Vowpal Wabbit's ``--oaa`` on the test part."""
    several = f"--passes {passes} --holdout_off -k -c" if passes > 1 else ""
    files = ["-d", str(folder / "train.vw"), "-f", str(folder / "theirs")]
    cache = ["--cache_file", str(folder / "cache")] if passes > 1 else []
    Workspace(f"--oaa {CLASSES} -b 22 --quiet {several}", arg_list=[*files, *cache]).finish()
    ready = Workspace("-t --quiet", arg_list=["-i", str(folder / "theirs")])
    lines = (folder / "test.vw").read_text().splitlines()
    right = [ready.predict(line) == int(line.split(maxsplit=1)[0]) for line in lines]
    ready.finish()
    return float(np.mean(right))


def measured(documents: list[Document], shuffles: int = SHUFFLES) -> dict[str, Any]:
    """Return the mean accuracies of one and of five passes, and the weights after one."""
    found: dict[str, list[list[float]]] = {"theirs": [], "dense": [], "ours": [], "weights": []}
    for seed in range(shuffles):
        with TemporaryDirectory() as name:
            folder = Path(name)
            write(documents, folder, seed)
            found["theirs"].append([their(folder, passes) for passes in (1, 5)])
            dense = [our(folder, passes, gravity=0.0) for passes in (1, 5)]
            ours = [our(folder, passes) for passes in (1, 5)]
            found["dense"].append([accuracy for accuracy, _ in dense])
            found["ours"].append([accuracy for accuracy, _ in ours])
            found["weights"].append([kept for _, kept in (dense[0], ours[0])])
    return {"documents": len(documents)} | {
        name: np.round(np.mean(each, axis=0), 4).tolist() for name, each in found.items()
    }


def table(found: dict[str, Any]) -> str:
    """Format the accuracies as a table of the page."""
    head = (
        "| | documents | weights | Vowpal Wabbit, 1 pass | dwindle, 1 pass | "
        "Vowpal Wabbit, 5 passes | dwindle, 5 passes |\n|---|---|---|---|---|---|---|\n"
    )
    return head + "".join(
        f"| {name} | {row['documents']:,} | {row['weights'][1]:,.0f} ({row['weights'][0]:,.0f}) | "
        + " | ".join(
            f"{row[who][at]:.4f} ({row['dense'][at]:.4f})"
            if who == "ours"
            else f"{row[who][at]:.4f}"
            for at in (0, 1)
            for who in ("theirs", "ours")
        )
        + " |\n"
        for name, row in found["sets"].items()
    )


BEGIN, END = "<!-- measured -->\n", "<!-- /measured -->\n"


def with_table(page: str, found: dict[str, Any]) -> str:
    """Put the table where the page has it."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + "\n" + table(found) + "\n" + END + rest.partition(END)[2]


def main() -> None:
    """Measure all sets, and write the results and the page."""
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "sets": {},
    }
    for name, make in SETS.items():
        found["sets"][name] = measured(make())
        print(name, found["sets"][name], file=sys.stderr, flush=True)
    path = DOCS / "several-classes.md"
    save(path.with_suffix(".json"), json.dumps(found, indent=1) + "\n")
    save(path, with_table(path.read_text(), found))


if __name__ == "__main__":
    main()
