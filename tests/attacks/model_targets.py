"""Models, paths and checkpoints: damaged ones, and crafted ones whose digest is right."""

import json
from functools import cache
from pathlib import Path

import numpy as np

from attacks import mutation
from attacks.target import REFUSED, Difference, Target
from attacks.text_targets import folder
from dwindle import Batch, Gravities, LaneLearner, Learner, Logistic
from dwindle.data.options import ReadOptions
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.arrow import is_text
from dwindle.model import storage
from dwindle.model.checkpoint import load_checkpoint, save_checkpoint
from dwindle.model.loading import load_saved
from dwindle.model.model import KINDS, Model
from dwindle.model.path import Path as ModelPath
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train

GOLDEN = Path(__file__).parents[1] / "golden"
EXAMPLES = [{"a": 1.5, f"w{i % 7}": i % 4 - 1.25, "c": "red", f"new{i}": 1.0} for i in range(40)]
LABELS = [1 if i % 3 else -1 for i in range(40)]
ODD = [
    *(0, 1, -1, 2, 3, 7, 64, 1000, 2**20, 2**31, 2**40, 2**62, 2**63, 2**64, -(2**63), 10**30, 0.5),
    *(
        1e308,
        -1e308,
        1e-320,
        "x",
        "",
        "inf",
        "nan",
        None,
        True,
        False,
        [],
        {},
        [1],
        {"a": 1},
        "AAAA",
    ),
]
"""What is put in the place of a value."""
ARRAYS = [
    "zero",
    "ones",
    "nan",
    "inf",
    "huge",
    "repeat",
    "reverse",
    "drop",
    "short",
    "long",
    "kind",
]
"""What is done to a column."""


@cache
def bases():
    """Files to damage, small ones of every kind: {name: (bytes, table, metadata)}."""
    made = folder() / "bases"
    made.mkdir(exist_ok=True)
    files = [GOLDEN / "format-3" / name for name in ("truncation.parquet", "ftrl.parquet")]
    files += sorted((GOLDEN / "format-3").glob("*.checkpoint"))
    files += [GOLDEN / "format-3" / "three-classes.parquet", GOLDEN / "format-1" / "rda.parquet"]
    lanes = LaneLearner(Logistic(), Gravities((0.0, 1e-3, 1e-2)))
    lanes.learn(Batch.from_dicts(EXAMPLES, LABELS))
    ModelPath.of(lanes).save(made / "lanes.parquet")
    save_checkpoint(lanes, made / "lanes.checkpoint")
    several = OneVsRest([Learner(max_live=30), Learner(max_live=30)])
    for each in several.members:
        each.learn(Batch.from_dicts(EXAMPLES, LABELS))
    save_checkpoint(several, made / "classes.checkpoint")
    (made / "data.vw").write_text(
        "".join(
            f"{y} | {' '.join(f'{n}:{v}' for n, v in x.items())}\n"
            for x, y in zip(EXAMPLES, LABELS, strict=True)
        )
    )
    train([str(made / "data.vw")], made / "run.parquet", TrainSettings(reading=ReadOptions()))
    files += [
        made / name
        for name in ("lanes.parquet", "lanes.checkpoint", "classes.checkpoint", "run.parquet")
    ]
    found = [(file.read_bytes(), *storage.read(file, *KINDS, "checkpoint")) for file in files]
    for file, (_, _, about) in zip(files, found, strict=True):
        path = made / "copy"
        path.write_bytes(file.read_bytes())
        used(path, about)  # so that its code is compiled
    return found


def is_checkpoint(about):
    return about["kind"] == "checkpoint"


def make_bytes(wanted):
    def make(rng, corpus):
        choice = [i for i, base in enumerate(bases()) if is_checkpoint(base[2]) == wanted]
        i = rng.choice(choice)
        data = bases()[i][0]
        if rng.random() < 0.2:
            data = data[: rng.randrange(len(data))]
        elif rng.random() < 0.95:
            data = mutation.changed(data, rng)
        return bytes([i]) + data

    return make


def run_bytes(data, rng):
    """A damaged file is refused, or has the same contents."""
    raw, table, about = bases()[data[0]]
    path = folder() / "damaged"
    path.write_bytes(data[1:])
    try:
        found, said = storage.read(path, *KINDS, "checkpoint")
        used(path, said)
    except REFUSED:
        if data[1:] == raw:
            raise Difference("a whole file is refused") from None
        raise
    if said != about or not found.equals(table):
        raise Difference("a damaged file is read as other contents")
    return True


def make_crafted(wanted):
    """A base and some edits, as JSON."""

    def make(rng, corpus):
        choice = [i for i, base in enumerate(bases()) if is_checkpoint(base[2]) == wanted]
        i = rng.choice(choice)
        _, table, about = bases()[i]
        edits = []
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            if rng.random() < 0.7:
                edits.append({"at": _place(about, rng), "put": rng.choice([*ODD, "DELETE"])})
            else:
                edits.append({"column": rng.choice(table.column_names), "do": rng.choice(ARRAYS)})
        return json.dumps({"base": i, "edits": edits}).encode()

    return make


def _place(about, rng):
    """The way to some value of the metadata."""
    place, here = [], about
    while isinstance(here, dict | list) and here and (not place or rng.random() < 0.9):
        key = rng.choice(sorted(here)) if isinstance(here, dict) else rng.randrange(len(here))
        place.append(key)
        here = here[key]
    return place


def run_crafted(data, rng):
    """Write what the edits make of a base, with a right digest, and use it: refused or harmless."""
    given = json.loads(data)
    _, table, about = bases()[given["base"]]
    about = json.loads(json.dumps(about))
    columns = {name: _column(table[name]) for name in table.column_names}
    for edit in given["edits"]:
        if "at" in edit:
            _put(about, edit["at"], edit["put"])
        elif edit["column"] in columns:
            _edit(columns, edit["column"], edit["do"])
    path = folder() / "crafted"
    try:
        storage.write(path, about.get("kind", "model"), columns, about)
    except Exception:  # noqa: BLE001  (not a table)
        return False
    used(path, about)
    return True


def _column(column):
    return storage.texts(column) if is_text(column.type) else storage.numbers(column)


def _put(about, place, value):
    here = about
    for key in place[:-1]:
        if not isinstance(here, dict | list):
            return
        try:
            here = here[key]
        except (KeyError, IndexError, TypeError):  # an edit before it took the place away
            return
    if not isinstance(here, dict | list):
        return
    if value != "DELETE":
        try:
            here[place[-1]] = value
        except (IndexError, TypeError):
            return
    elif isinstance(here, dict):
        here.pop(place[-1], None)


def _edit(columns, name, what):
    old = columns[name]
    is_number = isinstance(old, np.ndarray)
    if what == "drop":
        del columns[name]
    elif what == "reverse":
        columns[name] = old[::-1].copy() if is_number else old
    elif not is_number or not len(old):
        return
    elif what == "short":
        for each in columns:
            columns[each] = columns[each][: len(old) // 2]
    elif what == "kind":
        columns[name] = old.astype(np.float32 if old.dtype.kind != "f" else np.int64)
    elif what == "long":
        columns[name] = np.repeat(old, 2)
    elif what == "repeat":
        columns[name] = np.full_like(old, old[0])
    else:
        number = {"zero": 0, "ones": 1, "nan": np.nan, "inf": np.inf, "huge": 1e300}[what]
        new = old.copy()
        with np.errstate(all="ignore"):
            top = np.iinfo(old.dtype).max if old.dtype.kind in "iu" else None
            new[: max(1, len(old) // 2)] = number if top is None or number in (0, 1) else top
        columns[name] = new


def used(path, about):
    """Do with a file what a user would."""
    batch = Batch.from_dicts(EXAMPLES, LABELS)
    with np.errstate(all="ignore"):
        if isinstance(about, dict) and about.get("kind") == "checkpoint":
            learner, _ = load_checkpoint(path)
            members = learner.members if isinstance(learner, OneVsRest) else [learner]
            for each in members:
                each.learn(batch)
                each.sweep()
                each.weights()
            save_checkpoint(learner, path.with_name("again"))
            load_checkpoint(path.with_name("again"))
            return
        model = load_saved(path)
        model.predict(batch)
        model.weights()
        model.save(path.with_name("again"))
        load_saved(path.with_name("again"))
        if isinstance(model, Model) and model.has_state:
            model.learner().learn(batch)


TARGETS = [
    Target(
        "models", make_bytes(wanted=False), run_bytes, 1.2, "the file before it was damaged", bases
    ),
    Target(
        "checkpoints",
        make_bytes(wanted=True),
        run_bytes,
        1,
        "the file before it was damaged",
        bases,
    ),
    Target(
        "crafted models",
        make_crafted(wanted=False),
        run_crafted,
        0.5,
        "nothing: refused, or usable",
        bases,
    ),
    Target(
        "crafted checkpoints",
        make_crafted(wanted=True),
        run_crafted,
        0.5,
        "nothing: refused, or usable",
        bases,
    ),
]
