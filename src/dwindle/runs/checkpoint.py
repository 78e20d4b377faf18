"""How far a run has come, written down: what is read back goes on to the bit."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from dwindle._base.checks import real, whole
from dwindle._base.dispatch import difference
from dwindle._base.errors import DataError
from dwindle._base.files import Place
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import Labels
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.model.checkpoint import load_checkpoint, save_checkpoint
from dwindle.model.describe import checked_curve
from dwindle.model.loading import load_saved
from dwindle.runs.class_progress import progress_of
from dwindle.runs.loop import Best
from dwindle.runs.progress import Figures, Progress
from dwindle.runs.read_digest import ReadDigest

COUNTS = (
    *("next_row", "pass_number", "done_in_pass", "bad_in_pass", "skipped_before", "bad_lines"),
    *("examples_before", "weight_before", "curve"),
)


@dataclass(eq=False, repr=False)
class Reached:
    """How far a run has come: with its settings and data, all it takes to go on."""

    learner: Learner | OneVsRest | None = None
    progress: Progress | None = None
    labels: Labels = field(default_factory=Labels)
    first: Figures | None = None  # of the first pass, once it is over
    last: Figures | None = None  # of the last pass that is over, if it was in this process
    best: Best = field(default_factory=Best)
    next_row: int = 1
    pass_number: int = 0
    done_in_pass: int = 0  # examples
    bad_in_pass: int = 0  # lines that were none
    skipped_before: int = 0  # bad lines of earlier passes, and of the holdout's file
    bad_lines: list[str] = field(default_factory=list)
    examples_before: int = 0  # of the model that the run started from
    weight_before: float = 0.0  # and their importance
    read: ReadDigest = field(default_factory=ReadDigest)  # in this pass
    read_before: str | None = None  # its digest, as the checkpoint says
    curve: dict[str, list[Any]] = field(default_factory=dict)  # the rows told, as columns

    def measured(self) -> None:
        """Wait until all that was learned from is measured, if another thread measures."""


def path_for(model_path: Place) -> Place:
    """Return where the checkpoint of a run is that writes this model."""
    return model_path.with_name(model_path.name + ".checkpoint")


def best_for(model_path: Place) -> Place:
    """Return where the best model so far is, of a run with a holdout."""
    return model_path.with_name(model_path.name + ".best")


def beside(model_path: Place) -> tuple[Learner | OneVsRest, dict[str, Any]]:
    """Read the checkpoint beside a model."""
    path = path_for(model_path)
    if not path.exists():
        raise DataError(
            f"{path}: there is no checkpoint to resume from: leave out --resume to begin anew, or "
            "say --start-from MODEL to learn on from a model"
        )
    learner, metadata = load_checkpoint(path)
    if not isinstance(metadata.get("start_from"), str | None):
        raise DataError(f"{path}: start_from is {metadata['start_from']!r}: expected a path")
    return learner, metadata


def check_free(
    model_path: Place, data: Sequence[str], note: Callable[[str], object] = lambda _: None
) -> None:
    """Refuse to begin a run that would replace a file that is not its own to replace.

    That is any but a checkpoint; and the checkpoint of a stopped run on other data. One on the same
    data is replaced, and that is told.
    """
    path, best = path_for(model_path), best_for(model_path)
    for aside, load in ((path, load_checkpoint), (best, load_saved)):
        if aside.exists():
            try:
                load(aside)
            except DataError as error:
                raise DataError(
                    f"{error}: the run would write over it: move it, or name another --model"
                ) from None
    if not path.exists():
        return
    there = load_checkpoint(path)[1].get("data", list(data))
    if there == list(data):
        note(f"{path}: is of a run that was stopped; this one begins anew and replaces it")
    else:
        raise DataError(
            f"{path}: a run on {' '.join(there)} was stopped, and this one would remove its "
            "checkpoint: go on with it by --resume, remove the file, or name another --model"
        )


def write(run: Reached, path: Place, settings: dict[str, Any]) -> None:
    """Write a checkpoint of a run that has learned something."""
    assert run.learner is not None
    save_checkpoint(run.learner, path, metadata_of(run, settings) | {"read": run.read.hex()})


def metadata_of(run: Reached, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what a checkpoint says of a run beside its learner."""
    assert run.progress is not None
    metadata = settings | {name: getattr(run, name) for name in COUNTS}
    metadata["progress"] = run.progress.state()
    metadata |= run.labels.metadata()
    metadata["first"] = run.first
    metadata["best"] = asdict(run.best)
    return metadata


def restore(run: Reached, learner: Learner | OneVsRest, metadata: dict[str, Any]) -> None:
    """Put the run where a checkpoint, as `load_checkpoint` read it, says."""
    progress = progress_of(learner)
    progress.restore(metadata["progress"])
    run.learner, run.progress = learner, progress
    run.labels = Labels(Labels.in_metadata(metadata).target, run.labels.weight)
    if first := metadata.get("first"):
        run.first = Figures(whole(first[0], "first"), *(real(each, "first") for each in first[1:]))
    run.best = Best(**metadata["best"])
    run.read_before = metadata.get("read")  # an earlier version has none
    for each in fields(run.best):
        check = whole if each.type is int else real
        check(getattr(run.best, each.name), each.name)
    for name in COUNTS:
        if name in metadata:  # an earlier version may lack it
            setattr(run, name, _CHECKS.get(name, whole)(metadata[name], name))
    if not progress.examples < run.next_row <= 2 * max(progress.examples, 1):
        raise DataError(f"next_row is {run.next_row}, after {progress.examples} examples")


def _texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise DataError(f"{name}: expected a list of texts")
    return value


_CHECKS = {"bad_lines": _texts, "weight_before": real, "curve": checked_curve}


def check_same(path: Place, here: dict[str, Any], there: dict[str, Any]) -> None:
    """Refuse to go on from a checkpoint that was written with other settings."""
    for name in here | there:
        if here.get(name) != there.get(name):
            which, now, before = difference(name, here.get(name), there.get(name))
            raise DataError(
                f"{path}: was written with {which.replace('_', ' ')} {before}, and now it is "
                f"{now}: resume with the same, or remove the file to begin anew"
            )


def left(run: Reached, parsed: Iterator[Parsed]) -> Iterator[Parsed]:
    """Skip the examples and bad lines that an earlier run has learned from: they must be these."""
    run.read = ReadDigest()
    examples, bad = run.done_in_pass, run.bad_in_pass
    for item in parsed:
        n, n_bad = min(examples, item.batch.n_examples), min(bad, len(item.bad))
        examples, bad = examples - n, bad - n_bad
        if not (n or n_bad):
            yield item
            continue
        run.read.add(item.batch.rows(0, n))
        if n and not examples and run.read_before not in {None, run.read.hex()}:
            raise DataError(
                f"{item.source}: the data is not what the checkpoint has learned from, or is in "
                "another order: resume with the same data, or begin anew"
            )
        rest = item.rows(n, item.batch.n_examples)._replace(bad=item.bad[n_bad:])
        if rest.batch.n_examples or rest.bad:
            yield rest
    if examples:
        raise DataError(
            f"the data has {examples:,} examples fewer than the checkpoint has learned from: "
            "resume with the same data"
        )
