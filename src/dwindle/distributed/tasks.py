"""The tasks of a run on many machines: each reads files of the run's folder and writes one.

A task is a function of the folder and of numbers. What it writes depends on nothing else, under a
name of its own that is then renamed. So it may run twice, or half, or wake up late; if its file is
there, there is nothing to do. What it returns are a few numbers. `places` says what the folder
holds.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import lru_cache, wraps
from typing import Any, ParamSpec

import numpy as np

from dwindle._base.errors import DataError, DivergedError, SettingError, errors_at
from dwindle._base.files import Place
from dwindle._base.system import peak_memory
from dwindle.data.cached_examples import CachedExamples
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import unlabelled
from dwindle.data.shuffle import shuffled
from dwindle.data.sources import Slice
from dwindle.data.stream import read
from dwindle.distributed.judging import (
    in_one_segment,
    judged,
    judged_sums,
    n_judged,
    own_so_far,
    without_scores,
)
from dwindle.distributed.mixing import mix
from dwindle.distributed.names import enter_names, save_names
from dwindle.distributed.parts import Part, figures, load_part, save_part
from dwindle.distributed.places import (
    FAN,
    JUDGED,
    after,
    model_file,
    names_file,
    own_file,
    part_file,
    root_file,
    stages,
)
from dwindle.distributed.plan import Plan, line_before, load_plan, version_of
from dwindle.distributed.sharing import shared
from dwindle.distributed.telling import Told, followed, tell
from dwindle.engine.cardinality import DistinctCounter
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest, against_rest
from dwindle.features.batch import Batch
from dwindle.model.checkpoint import load_checkpoint
from dwindle.model.learned import model_of, states_of
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

Learners = Learner | OneVsRest
Given = ParamSpec("Given")
Outcome = dict[str, Any]


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
    learner, _ = _checkpoint(after(run, p - 1))
    if out.exists():
        return figures(load_part(out, progress_of(learner)))
    members = [shared(each, len(plan.shards)) for each in members_of(learner)]
    starts = [followed(each) for each in members]
    shard = _Shard(plan, k, members)
    try:
        for _ in passes(lambda _more: _examples(plan, p, k), shard.learn, lambda: None, 1):
            pass
    except (DataError, DivergedError) as error:
        raise type(error)(_with_line(str(error), plan, k)) from None
    told = [tell(each, start) for each, start in zip(members, starts, strict=True)]
    save_names(names_file(run, p, k), members, starts, told)
    part = Part(
        told if len(plan.shards) == 1 else [without_scores(each) for each in told],
        shard.progress,
        [each.table.seen.register for each in members],
        sum(each.peak_live for each in members),
        shard.progress.examples,
        shard.bad_lines,
    )
    if p < plan.compared_after:
        own = _own_so_far(run, p, k, learner, part.told)
        save_part(own_file(run, p, k), part._replace(told=own))
    save_part(out, part)
    return figures(part)


# Adding up


@told_errors
def merge(run: str, stage: str, level: int, k: int, n: int) -> Outcome:
    """Add up parts of the level below, of which there are n, into part k of this level."""
    out = part_file(run, stage, level, k)
    learner, _ = _checkpoint(after(run, 0))
    if out.exists():
        return figures(load_part(out, progress_of(learner)))
    of = range(k * FAN, min(k * FAN + FAN, n))
    total = load_part(part_file(run, stage, level - 1, of[0]), progress_of(learner))
    for j in of[1:]:
        total = total.plus(load_part(part_file(run, stage, level - 1, j), progress_of(learner)))
    save_part(out, total)
    return figures(total)


def _root(run: str, plan: Plan, stage: str, progress: Progress) -> Part:
    return load_part(root_file(run, plan, stage), progress)


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
    plan, out = load_plan(run), after(run, p)
    if out.exists():
        return _told_of(_reached(out))
    found = _reached(after(run, p - 1))
    assert found.learner is not None
    assert found.progress is not None
    part = _root(run, plan, str(p), progress_of(found.learner))
    if JUDGED in stages(plan, p):
        judged = _root(run, plan, JUDGED, progress_of(found.learner))
        for told, scores in zip(part.told, judged.told, strict=True):
            told.sums.update(in_one_segment(scores.sums))
    before = members_of(found.learner)
    enter_names(run, p, len(plan.shards), before)
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
    said = {"row": row, "notes": notes, "fewest": part.fewest, "held": held}
    return _told_of(found) | said


def _told_of(found: Reached) -> Outcome:
    """Return a checkpoint in a few numbers."""
    assert found.learner is not None
    return {"kept": len(found.learner), "best": found.best}


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
    p = plan.compared_after
    learner, _ = _checkpoint(after(run, p - 1))
    if out.exists():
        return figures(load_part(out, progress_of(learner)))
    everything = _root(run, plan, str(p), progress_of(learner))
    part = load_part(part_file(run, str(p), 0, k), progress_of(learner))
    own = _own_so_far(run, p, k, learner, part.told)
    progress = progress_of(learner)
    batches = list(_judged_examples(plan, k, learner, n_judged(part.progress.examples)))
    for batch in batches:
        progress.count(batch)
    scores = []
    for c, each in enumerate(members_of(learner)):
        some = batches if len(own) == 1 else [_against_rest(batch, c) for batch in batches]
        scores.append(judged(each, everything.told[c], own[c], len(plan.shards), some))
    nothing = np.empty(0, np.uint64), np.empty((0, 1))
    found = part._replace(
        told=[Told(*nothing, judged_sums(score)) for score in scores],
        progress=progress,
        register=[np.zeros_like(each) for each in part.register],
        peak=0,
        bad_lines=[],
    )
    save_part(out, found)
    return figures(found)


def _judged_examples(plan: Plan, k: int, learner: Learners, n: int) -> Iterator[Batch]:
    """Yield the first n examples of a shard."""
    labels = plan.known_labels()
    for parsed in _examples(plan, 1, k):
        some = parsed.rows(0, min(n, parsed.batch.n_examples))
        yield labels.learned(some, learner.loss)
        n -= some.batch.n_examples
        if n <= 0:
            return


def _against_rest(batch: Batch, c: int) -> Batch:
    assert batch.label is not None
    return batch._replace(label=against_rest(batch.label, c))


def _own_so_far(run: str, p: int, k: int, learner: Learners, told: list[Told]) -> list[Told]:
    """Return what shard k told in all passes up to p, which began with the learner."""
    if p == 1:
        return told
    before = load_part(own_file(run, p - 1, k), progress_of(learner)).told
    members = members_of(learner)
    return [own_so_far(*each) for each in zip(before, told, members, strict=True)]


# The end


@told_errors
def write_model(run: str) -> Outcome:
    """Write the model of the last pass, or of the best one on a holdout; return the summary."""
    plan = load_plan(run)
    p = plan.passes
    while not after(run, p).exists():
        p -= 1
    found = _reached(after(run, p))
    if found.best.number and found.best.number != p:
        best, last = found.best, found.last
        found = _reached(after(run, best.number))
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
