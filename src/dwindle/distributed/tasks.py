"""The tasks of a run on many machines: each reads files of the run's folder and writes one.

A task is a function of the folder and of numbers. What it writes depends on nothing else, under a
name of its own that is then renamed. So it may run twice, or half, or wake up late; if its file is
there, there is nothing to do. What it returns are a few numbers. The folder holds

    plan.json                 what each shard reads, and all settings
    pass-0.parquet, ...       checkpoints: before the first pass, and after each
    part-2-0-00007.parquet    what shard 7 told in pass 2; part-2-1-00000 adds up the first `FAN`
    names-2-00007.parquet     the names of features that it was the first to tell of
    model.parquet             in the end
"""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import numpy as np

from dwindle._base.errors import DataError, DivergedError, SettingError, errors_at
from dwindle._base.files import Place, place_of
from dwindle._base.system import peak_memory
from dwindle.data.cache import CachedExamples
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import unlabelled
from dwindle.data.shuffle import shuffled
from dwindle.data.sources import Slice
from dwindle.data.stream import read
from dwindle.distributed.mixing import mix, shared
from dwindle.distributed.parts import Part, figures, load_part, save_part, without
from dwindle.distributed.plan import Plan, line_before, load_plan, version_of
from dwindle.distributed.telling import SCORES, Start, Told, started, tell
from dwindle.engine.cardinality import DistinctCounter
from dwindle.engine.lane_scores import SEGMENTS, SHORTEST, LaneScores
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest, against_rest
from dwindle.features.names import Text
from dwindle.model import storage
from dwindle.model.checkpoint import load_checkpoint
from dwindle.model.classes import model_of, states_of
from dwindle.model.columns import name_columns, names_in
from dwindle.model.path import Path as AllLanes
from dwindle.runs import checkpoint
from dwindle.runs.checkpoint import Reached
from dwindle.runs.class_progress import progress_of
from dwindle.runs.loop import passes
from dwindle.runs.progress import Figures, Progress
from dwindle.runs.progress_table import extended
from dwindle.runs.run_data import Holdout
from dwindle.runs.summary import Summary, metadata, summarized
from dwindle.runs.train import SHOWN

FAN = 4  # parts that one merge adds up, from left to right
NAMES = "names"
JUDGED = "judged"  # the stage in which lanes are compared
JUDGED_SHARE, JUDGED_LEAST = 4, 1000  # a quarter of each shard, or so many examples
AT_ONCE = 16  # files of names that are read at once
Learners = Learner | OneVsRest
Given = ParamSpec("Given")
Outcome = dict[str, Any]


# Where things are


def part_file(run: str, stage: str, level: int, k: int) -> Place:
    """Return where a part is: of a shard at level 0, of several above."""
    return place_of(f"{run}/part-{stage}-{level}-{k:05}.parquet")


def names_file(run: str, p: int, k: int) -> Place:
    """Return where the names are that shard k tells in pass p."""
    return place_of(f"{run}/names-{p}-{k:05}.parquet")


def after(run: str, plan: Plan, p: int) -> Place:
    """Return the checkpoint after pass p, once lanes were compared if they are."""
    return place_of(f"{run}/pass-{p}{'-judged' if p == 1 and judges(plan) else ''}.parquet")


def mixed_file(run: str, p: int) -> Place:
    """Return the checkpoint that the shards of pass p were mixed into."""
    return place_of(f"{run}/pass-{p}.parquet")


def model_file(run: str) -> Place:
    """Return where the model is in the end."""
    return place_of(f"{run}/model.parquet")


def judges(plan: Plan) -> bool:
    """Whether lanes are compared after the first pass, by models of all other shards."""
    return "choice" in plan.settings and len(plan.shards) > 1 and plan.run["holdout"] is None


def root_level(n: int) -> int:
    """Return the level at which n parts have become one.

    >>> [root_level(n) for n in (1, 2, 4, 5, 16, 17)]
    [0, 1, 1, 2, 2, 3]
    """
    level = 0
    while n > 1:
        n, level = -(-n // FAN), level + 1
    return level


# What goes wrong


def told_errors(task: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
    """Return bad data and settings as an outcome: to try again would not help.

    All else is raised, and a task that raised is tried again.
    """

    @wraps(task)
    def run(*args: Given.args, **kwargs: Given.kwargs) -> Outcome:
        try:
            return task(*args, **kwargs) | {"memory": peak_memory()}
        except (DataError, DivergedError, SettingError) as error:
            return {"error": type(error).__name__, "message": str(error)}

    return run


def _with_line(message: str, plan: Plan, k: int) -> str:
    """Count lines from the beginning of the file, where a message counts from that of a piece."""
    for path in plan.paths(k):
        found = re.match(re.escape(path) + r":(\d+)(?=:)", message)
        if isinstance(path, Slice) and found:
            line = int(found[1]) + line_before(path, path.begin)
            return f"{path}:{line}{message[found.end() :]}"
    return message


# A shard


def members_of(learner: Learners) -> list[Learner]:
    """Return the learner of each class, or the one there is."""
    return [learner] if isinstance(learner, Learner) else learner.members


def _together(members: list[Learner]) -> Learners:
    return members[0] if len(members) == 1 else OneVsRest(members)


def _checkpoint(path: Place) -> tuple[Learners, dict[str, Any]]:
    return _loaded(path, version_of(path))


@lru_cache(maxsize=1)  # a worker has several shards of a pass
def _loaded(path: Place, _version: str) -> tuple[Learners, dict[str, Any]]:
    return load_checkpoint(path)


def _examples(plan: Plan, p: int, k: int) -> Iterator[Parsed]:
    """Yield the examples of a shard."""
    parsed = read(plan.paths(k), plan.options)
    window = plan.run["shuffle"]
    return parsed if window is None else shuffled(parsed, window, (plan.run["seed"], p, k))


class _Shard:
    """A shard's learner while it learns."""

    def __init__(self, plan: Plan, k: int, members: list[Learner]) -> None:
        self.plan, self.k, self.labels = plan, k, plan.known_labels()
        self.learner = _together(members)
        self.progress = progress_of(self.learner)
        self.bad_lines: list[str] = []

    def learn(self, parsed: Parsed) -> None:
        """Learn from a batch."""
        n_bad = parsed.n_bad(skip_bad=self.plan.run["skip_bad"])
        shown = parsed.bad[: SHOWN - len(self.bad_lines)]
        self.bad_lines += (_with_line(str(each), self.plan, self.k) for each in shown)
        batch = self.labels.learned(parsed, self.learner.loss)
        with errors_at(parsed.place):
            prediction = self.learner.learn(batch)
        label, importance = self.learner.checked_labels(batch)
        self.progress.add(batch, prediction, label, importance)
        self.progress.skipped += n_bad
        self.progress.unlabelled += unlabelled(batch)


@told_errors
def train_shard(run: str, p: int, k: int) -> Outcome:
    """Learn from shard k in pass p, and write what it tells."""
    plan, out = load_plan(run), part_file(run, str(p), 0, k)
    learner, _ = _checkpoint(after(run, plan, p - 1))
    if out.exists():
        return figures(load_part(out, progress_of(learner)))
    members = [shared(each, len(plan.shards)) for each in members_of(learner)]
    starts = [started(each) for each in members]
    shard = _Shard(plan, k, members)
    try:
        for _ in passes(lambda _more: _examples(plan, p, k), shard.learn, lambda: None, 1):
            pass
    except (DataError, DivergedError) as error:
        raise type(error)(_with_line(str(error), plan, k)) from None
    told = [tell(each, start) for each, start in zip(members, starts, strict=True)]
    _save_names(names_file(run, p, k), members, starts, told)
    part = Part(
        told if len(plan.shards) == 1 else [_without_scores(each) for each in told],
        shard.progress,
        [each.table.seen.register for each in members],
        sum(each.peak_live for each in members),
        shard.progress.examples,
        shard.bad_lines,
    )
    save_part(out, part)
    return figures(part)


def _without_scores(told: Told) -> Told:
    """Leave out how well lanes predicted: a shard is too short to compare them."""
    return told._replace(
        sums={name: v for name, v in told.sums.items() if name not in {"judged", *SCORES}}
    )


def _save_names(path: Place, members: list[Learner], starts: list[Start], told: list[Told]) -> None:
    """Write the names of features that are told for the first time."""
    keys, names = [], []
    for member, start, each in zip(members, starts, told, strict=True):
        new = np.setdiff1d(each.mark, start.cells["key"], assume_unique=True) - np.uint64(1)
        keys.append(new)
        names.append(member.table.names.of(new))
    columns = name_columns(Text.concatenated(names)) | {"id": np.concatenate(keys)}
    counts = {"keys": [len(each) for each in keys]}
    storage.write(path, NAMES, columns, {"settings": {}, "metadata": counts})


# Adding up


@told_errors
def merge(run: str, stage: str, level: int, k: int, n: int) -> Outcome:
    """Add up parts of the level below, of which there are n, into part k of this level."""
    out = part_file(run, stage, level, k)
    learner, _ = _checkpoint(mixed_file(run, 0))
    if out.exists():
        return figures(load_part(out, progress_of(learner)))
    of = range(k * FAN, min(k * FAN + FAN, n))
    total = load_part(part_file(run, stage, level - 1, of[0]), progress_of(learner))
    for j in of[1:]:
        total = total.plus(load_part(part_file(run, stage, level - 1, j), progress_of(learner)))
    save_part(out, total)
    return figures(total)


def _root(run: str, plan: Plan, stage: str, progress: Progress) -> Part:
    return load_part(part_file(run, stage, root_level(len(plan.shards)), 0), progress)


def _reached(path: Place) -> Reached:
    """Return how far the run has come, as a checkpoint says."""
    learner, said = load_checkpoint(path)
    found = Reached()
    checkpoint.restore(found, learner, said)
    if last := said.get("last"):
        found.last = Figures(*last)
    return found


def _save(found: Reached, path: Place) -> None:
    checkpoint.write(found, path, {"last": found.last})


@told_errors
def finalize(run: str, p: int) -> Outcome:
    """Mix what all shards told in pass p, and write the checkpoint after it."""
    plan, out = load_plan(run), mixed_file(run, p)
    if out.exists():
        return _told_of(_reached(out))
    found = _reached(after(run, plan, p - 1))
    assert found.learner is not None
    assert found.progress is not None
    part = _root(run, plan, str(p), progress_of(found.learner))
    before = members_of(found.learner)
    _enter_names(run, p, len(plan.shards), before)
    members = [
        mix(each, told, len(plan.shards)) for each, told in zip(before, part.told, strict=True)
    ]
    for each, register in zip(members, part.register, strict=True):
        each.table.seen = DistinctCounter(np.maximum(each.table.seen.register, register))
        each.table.peak = max(each.table.peak, part.peak // len(members))
    learner = _together(members)
    found.progress.absorb(part.progress)
    row = found.progress.row(len(learner), learner.n_seen, p, plan.passes)
    found.curve = extended(found.curve, row)
    notes = [] if p > 1 else list(found.progress.doubts())
    found.last = found.progress.next_pass()
    found.first = found.first or found.last
    found.learner, found.pass_number = learner, p
    found.bad_lines = (found.bad_lines + part.bad_lines)[:SHOWN]
    found.next_row = max(2 * found.progress.examples, 1)
    learner.next_pass()
    held = None
    if (holdout := _holdout(plan)) is not None:
        with learner.after_cooldown(plan.run["cooldown"]) as cooled, ExitStack() as stack:
            stack.enter_context(holdout.choosing(cooled, found.labels))
            held = found.best.after(p, *holdout.measure(cooled, found.labels))
    _save(found, out)
    told = {"row": row, "notes": notes, "fewest": part.fewest, "held": held}
    return _told_of(found) | told


def _told_of(found: Reached) -> Outcome:
    """Return a checkpoint in a few numbers."""
    assert found.learner is not None
    return {"kept": len(found.learner), "best": found.best}


def _enter_names(run: str, p: int, n: int, members: list[Learner]) -> None:
    """Tell learners the names that shards told, each once."""

    def load(k: int) -> tuple[Any, dict[str, Any]]:
        return storage.read(names_file(run, p, k), NAMES)

    known = [np.empty(0, np.uint64) for _ in members]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for table, about in pool.map(load, range(n)):
            key, names = storage.numbers(table["id"]), names_in(table)
            bounds = np.cumsum([0, *about["metadata"]["keys"]])
            for m, member in enumerate(members):
                own = np.arange(bounds[m], bounds[m + 1])
                new = own[~np.isin(key[own], known[m], assume_unique=True)]
                known[m] = np.concatenate([known[m], key[new]])
                member.table.names.enter(key, names, new)


def _holdout(plan: Plan) -> Holdout | None:
    """Return the examples to measure on, if there are any."""
    path = plan.run["holdout"]
    if path is None:
        return None
    examples = CachedExamples(lambda: read([path], plan.options), lambda _note: None, once=False)
    return Holdout(examples, path)


# Which lane is the model


@told_errors
def judge_shard(run: str, k: int) -> Outcome:
    """Compare lanes on some examples of shard k, by the model of all other shards."""
    plan, out = load_plan(run), part_file(run, JUDGED, 0, k)
    learner, _ = _checkpoint(after(run, plan, 0))
    if out.exists():
        return figures(load_part(out, progress_of(learner)))
    everything = _root(run, plan, "1", progress_of(learner))
    own = load_part(part_file(run, "1", 0, k), progress_of(learner))
    members: list[Any] = [  # of several gravities
        mix(each, without(total, mine), len(plan.shards))
        for each, total, mine in zip(members_of(learner), everything.told, own.told, strict=True)
    ]
    scores = [LaneScores(each.loss, each.n_lanes, whole=True) for each in members]
    n = max(own.progress.examples // JUDGED_SHARE, JUDGED_LEAST)
    labels, progress = plan.known_labels(), progress_of(learner)
    for parsed in _examples(plan, 1, k):
        some = parsed.rows(0, min(n, parsed.batch.n_examples))
        batch = labels.learned(some, learner.loss)
        for c, (each, score) in enumerate(zip(members, scores, strict=True)):
            assert isinstance(each, LaneLearner)
            assert batch.label is not None
            label = batch.label if len(members) == 1 else against_rest(batch.label, c)
            predicted = each.predict_lanes(batch).astype(np.float32)
            score.add(predicted, label, batch.importances())
        n -= batch.n_examples
        progress.count(batch)
        if n <= 0:
            break
    part = Part(
        [_scored(score) for score in scores],
        progress,
        [np.zeros_like(each.table.seen.register) for each in members],
        0,
        own.progress.examples,
        [],
    )
    save_part(out, part)
    return figures(part)


def _scored(scores: LaneScores) -> Told:
    """Return scores as a shard tells them."""
    sums = {name: getattr(scores, name).sum(axis=0) for name in SCORES}
    sums["judged"] = np.array([float(scores.examples)])
    return Told(np.empty(0, np.uint64), np.empty((0, 1)), sums)


@told_errors
def judge(run: str) -> Outcome:
    """Write the checkpoint after the first pass, with what was found of its lanes."""
    plan = load_plan(run)
    out = after(run, plan, 1)
    if out.exists():
        return _told_of(_reached(out))
    found = _reached(mixed_file(run, 1))
    assert found.learner is not None
    part = _root(run, plan, JUDGED, progress_of(found.learner))
    for member, told in zip(members_of(found.learner), part.told, strict=True):
        assert isinstance(member, LaneLearner)
        scores = member.scores
        examples = round(told.sums["judged"].item())
        for name in SCORES:
            getattr(scores, name)[-1] = told.sums[name]
        scores.position[:] = max(-(-examples // SEGMENTS), SHORTEST), examples, examples > 0
    found.curve["alive"][-1] = len(found.learner)
    _save(found, out)
    return _told_of(found)


# The end


@told_errors
def write_model(run: str) -> Outcome:
    """Write the model of the last pass, or of the best one on a holdout; return the summary."""
    plan = load_plan(run)
    p = plan.passes
    while not after(run, plan, p).exists():
        p -= 1
    found = _reached(after(run, plan, p))
    if found.best.number and found.best.number != p:
        best, last = found.best, found.last
        found = _reached(after(run, plan, best.number))
        found.best, found.last = best, last
    learner, said = found.learner, plan.run
    assert learner is not None
    with ExitStack() as stack:
        states = states_of(learner) if said["save_state"] else None
        if (holdout := _holdout(plan)) is not None:
            cooled: Any = learner.after_cooldown(said["cooldown"])
            learner = stack.enter_context(cooled)
            stack.enter_context(holdout.choosing(learner, found.labels))
        else:
            learner.cooldown(said["cooldown"])
        assert learner is not None
        found.learner = learner
        told = metadata(found, plan.options) | {"shards": len(plan.shards)}
        if said["path"]:
            model: Any = AllLanes.of(learner, told, states)
        else:
            model = model_of(learner, told, states=states).heaviest(said["keep"])
        size = model.save(model_file(run))
        measured = {"seconds": 0.0, "examples_per_second": 0.0, "peak_memory_bytes": 0}
        summary: Summary = summarized(found, model, model_bytes=size, **measured)
    return {"summary": summary}
