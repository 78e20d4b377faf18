"""Training on one machine or on many."""

import os
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dwindle._base.errors import DataError, SettingError
from dwindle._base.files import (
    Place,
    UnwritableError,
    check_apart,
    check_writable,
    place_of,
    replacing,
    size_of,
    written,
)
from dwindle._base.remote import is_remote, local
from dwindle.algorithm.shrinkage import is_late
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, kinds_for
from dwindle.data.sources import sources
from dwindle.data.stream import read
from dwindle.distributed import places
from dwindle.distributed.driver import Driver
from dwindle.distributed.engines import check_on, engine_of
from dwindle.distributed.judging import compared_after
from dwindle.distributed.mixing import check_mixes
from dwindle.distributed.plan import (
    Plan,
    check_files,
    check_same,
    load_plan,
    plan_file,
    reading_of,
    save_plan,
    shards_of,
    told_sizes,
)
from dwindle.distributed.tasks import members_of
from dwindle.jit.compile import seconds_compiling
from dwindle.model.classes import ClassModels
from dwindle.model.loading import load_model
from dwindle.model.model import Model
from dwindle.runs import checkpoint
from dwindle.runs import train as one_machine
from dwindle.runs.build import in_lanes, make_learners
from dwindle.runs.checkpoint import Reached
from dwindle.runs.class_progress import progress_of
from dwindle.runs.continuing import check_needed, continued
from dwindle.runs.observer import Observer
from dwindle.runs.run_data import labels_of
from dwindle.runs.settings import BALANCED, TrainSettings
from dwindle.runs.summary import Summary, rate

LOOKED_AT = 16  # files whose beginning decides what columns are
# Settings of a run that tasks need, beside passes; all are fit for JSON.
OF_RUN = ("cooldown", "holdout", "patience", "keep", "skip_bad", "shuffle", "seed", "save_state")


def train(
    paths: Sequence[str],
    model_path: str | os.PathLike[str],
    settings: TrainSettings | None = None,
    *,
    observer: Observer | None = None,
    resume: bool = False,
    start_from: str | os.PathLike[str] | None = None,
    given: Collection[str] | None = None,
    on: Any = None,
    shards: int | None = None,
    run: str | os.PathLike[str] | None = None,
) -> Summary:
    """Learn from the data and write the model file; returns a summary of the run.

    Every figure is measured before learning; from the second pass on, though, of examples that
    were learned from before, so only the first pass says how good the model is.
    With a holdout, the run ends when its loss has not improved for ``patience`` passes in a row,
    and the model is that of the best pass.

    When the observer says so, a checkpoint is written beside the model and `Stopped` raised. With
    ``resume`` such a run goes on, and its model is the same to the bit as if it had never stopped.
    Its settings must be the same; those that are not among the names ``given`` are taken from the
    checkpoint.

    ``start_from`` is a model to go on from, which may be the file to write: settings that are not
    given are the model's. If it was written with ``save_state``, it goes on exactly.

    ``on`` trains on many machines: "local:8" is eight processes here, "dask" a Dask cluster here
    and "dask://host:8786" that of a scheduler, "ray" and "ray://host:10001" the same of Ray; it may
    also be a Dask client, or any `concurrent.futures.Executor`. The data is dealt to ``shards``,
    which are part of the model's definition. ``run`` is a folder, or a URL, that all machines see:
    the same call goes on with a run that ended early. Without one it is beside the model, and gone
    in the end.
    """
    settings, observer = settings or TrainSettings(), observer or Observer()
    if on is None:
        for name, value in (("shards", shards), ("run", run)):
            if value is not None:
                raise SettingError(f"--{name} does nothing without --on: say --on local, say")
        return one_machine.train(
            paths,
            model_path,
            settings,
            observer=observer,
            resume=resume,
            start_from=start_from,
            given=given,
        )
    if resume:
        raise SettingError("--resume is for one machine: with --on the same command goes on")
    return _Run(paths, model_path, settings, observer, start_from, given, on, shards, run).go()


class _Run:
    """A run on many machines, from its settings to its model."""

    def __init__(
        self,
        paths: Sequence[str],
        model_path: str | os.PathLike[str],
        settings: TrainSettings,
        observer: Observer,
        start_from: str | os.PathLike[str] | None,
        given: Collection[str] | None,
        on: Any,
        shards: int | None,
        run: str | os.PathLike[str] | None,
    ) -> None:
        check_on(on)
        self.start: Model | ClassModels | None = None
        if start_from is not None:
            self.start = load_model(start_from)
            settings = continued(settings, start_from, self.start, given)
        settings.check()
        check_needed(settings, given or ())
        _check(settings, shards)
        self.settings, self.observer = settings, observer
        self.note: Callable[[str], None] = cache(observer.note)
        self.on, self.n_shards = on, shards
        self.start_from = None if start_from is None else os.fspath(start_from)
        self.files = sources(paths)
        check_files(self.files)
        self.target = place_of(model_path)
        check_writable(self.target)
        check_apart(self.target, self.files)
        self.keeps = run is not None
        self.run = _folder(os.fspath(run) if run is not None else f"{os.fspath(model_path)}.run")

    def go(self) -> Summary:
        """Plan, or take up what was planned; make all passes; write the model."""
        begin, compiled = time.monotonic(), seconds_compiling()
        with engine_of(self.on) as engine:
            plan = self._plan(engine.slots)
            driver = Driver(self.run, plan, engine, self.observer)
            summary = driver.go()
        place, fault = written(self.target, self._copy)
        if fault is not None:
            raise UnwritableError(f"{fault}: the model is in {place} instead")
        seconds, compiling = time.monotonic() - begin, seconds_compiling() - compiled
        if not self.keeps:
            shutil.rmtree(self.run, ignore_errors=True)
        return replace(
            summary,
            seconds=seconds,
            seconds_compiling=compiling,
            examples_per_second=rate(driver.examples, seconds - compiling),
            peak_memory_bytes=driver.memory,
            model_bytes=size_of(place),
            shards=len(plan.shards),
        )

    def _copy(self, place: Place) -> None:
        """Copy the model from the folder of the run."""
        with (
            local(places.model_file(self.run)) as here,
            Path(here).open("rb") as source,
            replacing(place) as file,
        ):
            shutil.copyfileobj(source, file, 2**20)

    def _plan(self, slots: int) -> Plan:
        """Write the plan and the checkpoint that the first pass begins with, unless they are."""
        there = load_plan(self.run) if plan_file(self.run).exists() else None
        n = self.n_shards
        if n is None and there is not None:
            n = there.asked
        dealt = shards_of(self.files, self.settings.reading, n, slots)
        asked = n if n is not None else len(dealt)
        reading, labels, loss = self._decided()
        learner = make_learners(self.settings, loss, len(labels.target))
        if self.settings.path and not in_lanes(learner):
            raise SettingError(
                "--path keeps several gravities, and there is one: leave out --gravity"
            )
        for each in members_of(learner):
            check_mixes(each)
        if self.start is not None:
            learner = self.start.learner(learner.settings())
        said = {name: getattr(self.settings, name) for name in (*OF_RUN, "path")}
        said["start_from"] = self.start_from
        compared = compared_after(members_of(learner)[0], self.settings.passes, len(dealt))
        plan = Plan(
            dealt,
            asked,
            self.settings.passes,
            reading_of(reading),
            said,
            labels.metadata(),
            labels.weight,
            repr(loss),
            learner.settings(),
            compared if self.settings.holdout is None else 0,
        )
        if there is not None:
            check_same(self.run, plan)
            self.note(f"{self.run}: going on with the run that was begun here")
            return plan
        if not is_remote(self.run):
            Path(self.run).mkdir(parents=True, exist_ok=True)
        found = Reached(learner=learner, progress=progress_of(learner), labels=labels)
        if self.start is not None:
            found.examples_before = self.start.metadata.get("examples", 0)
            found.weight_before = self.start.metadata.get("importance", found.examples_before)
        if told := labels.told():
            self.observer.classes(told)
        checkpoint.write(found, places.after(self.run, 0), {})
        save_plan(self.run, plan)
        self.note(f"{told_sizes(plan)}, up to {slots} at a time")
        return plan

    def _decided(self) -> tuple[ReadOptions, Labels, Any]:
        """Decide what columns and labels are, and the loss, by the beginning of some files."""
        how, settings = self.settings.reading, self.settings
        labels = labels_of(
            self.files, how, settings.classes, settings.class_weight, self.start, self.start_from
        )
        kinds = kinds_for(how, self.note)
        loss = settings.ingredients().loss
        decided = False
        for path in self.files[:LOOKED_AT]:
            for parsed in read([path], replace(how, ahead=False), kinds):
                parsed.n_bad(skip_bad=settings.skip_bad)
                if labels.found(parsed.batch):
                    if not decided:
                        loss, decided = labels.decide(parsed, loss, self.note), True
                    labels.mapped(parsed, loss)
                    if len(labels.target) != 1:
                        break
        if not decided:
            raise DataError(f"{' '.join(self.files.given)}: no examples to learn from")
        return replace(how, schema=kinds.schema()), labels, loss


def _check(settings: TrainSettings, shards: int | None) -> None:
    """Refuse, by name, what many machines cannot do."""
    if shards is not None and shards < 1:
        raise SettingError(f"--shards must be 1 or more, got {shards}")
    if settings.holdout is not None and not isinstance(settings.holdout, str):
        raise SettingError("with --on, --holdout needs a file: examples are dealt to shards")
    if settings.class_weight == BALANCED:
        raise SettingError(
            "--class-weight balanced would read all data here first: with --on, say the weights"
        )
    if is_late(settings.ingredients().shrinkage):
        raise SettingError("--order after has time stamps of one stream: leave it out with --on")
    if settings.probes:
        raise SettingError("--probes are drawn from all data in order: leave them out with --on")
    if settings.checkpoint_every is not None:
        raise SettingError(
            "--checkpoint-every is for one machine: with --on all that shards have done is kept in "
            "--run"
        )


def _folder(run: str) -> str:
    """Return the folder of a run as all processes of a machine can name it."""
    run = run.rstrip("/")
    return run if is_remote(run) else os.path.abspath(run)  # noqa: PTH100  (links stay)
