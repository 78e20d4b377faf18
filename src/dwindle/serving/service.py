"""What the endpoints of a server ask: a model that only predicts, or a folder that learns too."""

import json
import logging
import os
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from dwindle._base.errors import DataError, SettingError
from dwindle._base.system import peak_memory
from dwindle.algorithm.settings import default_of
from dwindle.data.formats import jsonl
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, as_before, kept_reading
from dwindle.data.schema import Schema
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.batch import Batch
from dwindle.model.checkpoint import load_checkpoint
from dwindle.model.classes import ClassModels
from dwindle.model.learned import model_of
from dwindle.model.loading import load_model
from dwindle.model.model import Model
from dwindle.runs.continuing import continued
from dwindle.runs.predict import as_trained
from dwindle.runs.settings import ONLINE, TrainSettings
from dwindle.serving.bodies import Bodies
from dwindle.serving.figures import Figures
from dwindle.serving.live import Feed
from dwindle.serving.log import DURABILITIES, FSYNC
from dwindle.serving.online import Limits, Online
from dwindle.serving.records import named, packed, unpacked
from dwindle.serving.scoring import Answers, Gate, Scores, fixed_learner, scores_of, scores_of_dicts
from dwindle.serving.store import Store
from dwindle.serving.writer import Writer

log = logging.getLogger("dwindle")
FORMAT = 1  # of the file of settings
SNAPSHOT_BYTES = 2**26  # of the log, after which a snapshot is written
Path = str | os.PathLike[str]


class NothingLearnedError(Exception):
    """There is no model yet to predict with."""


class Service:
    """A model that predicts, and how requests to it are read."""

    writer: Writer | None = None

    def __init__(self, name: str, limits: Limits) -> None:
        self.name, self.limits = name, limits
        self.figures, self.feed = Figures(), Feed(name)
        self.since = time.time()
        self.bodies: Bodies
        self._learner: Learner | OneVsRest | None = None
        self._labels = Labels()
        self._gate = Gate()
        self._answers: Answers | None = None

    @property
    def learner(self) -> Learner | OneVsRest:
        """What predicts."""
        if self._learner is None:
            raise NothingLearnedError("nothing is learned yet: POST examples with labels to /learn")
        return self._learner

    @property
    def labels(self) -> Labels:
        """What labels mean."""
        return self._labels

    @property
    def answers(self) -> Answers:
        """What turns scores into answers."""
        labels = self.labels
        known = self._answers
        if known is None or known.labels is not labels or known.n_labels != len(labels.target):
            self._answers = known = Answers(self.learner.loss, labels)
        return known

    def scores(self, batch: Batch) -> Scores:
        """Predict examples from one state of the weights, between two turns of learning."""
        learner = self.learner
        return self._gate.read(scores_of, learner, batch)

    def scores_of_dicts(self, examples: list[dict[str, Any]]) -> Scores:
        """Predict dicts, likewise."""
        learner = self.learner
        return self._gate.read(scores_of_dicts, learner, examples)

    def row_of(self, example: dict[str, Any]) -> dict[str, Any] | None:
        """Answer one dict; None if there are several classes."""
        learner = self.learner
        if not isinstance(learner, Learner):
            return None
        return self.answers.row(self._gate.read(learner.predict_one, example))

    def model(self, keep: int | None = None) -> Model | ClassModels:
        """Return the model as it is now, or its heaviest features; asked by the one that learns."""
        raise NotImplementedError

    def warm_up(self) -> None:
        """Compile what requests need, before the first one waits for it."""
        for each in (b"1 | a:2\n", b"1 | a:2 b\n"):
            batch = self.bodies.read("text/x-vw", each, labelled=False).parsed.batch
            scores_of(self.learner, batch)
        scores_of_dicts(self.learner, [{"a": 2.0}])

    def about(self) -> dict[str, Any]:
        """Say, for /healthz, what is served."""
        learner = self._learner
        return {
            "status": "ok",
            "serves": self.name,
            "learns": False,
            "loss": None if learner is None else type(learner.loss).__name__,
            "uptime_seconds": round(time.time() - self.since, 3),
            "peak_memory_bytes": peak_memory(),
        }

    def close(self) -> None:
        """Let go of everything."""
        self.feed.close()


class ModelService(Service):
    """A model file, which only predicts."""

    def __init__(
        self, path: Path, reading: ReadOptions | None, limits: Limits, keep: int | None = None
    ) -> None:
        super().__init__(os.path.basename(path), limits)  # noqa: PTH119  (no paths are told)
        self._model = load_model(path, keep)
        self._learner = fixed_learner(self._model)
        self._labels = Labels.in_metadata(self._model.metadata)
        self.bodies = Bodies(as_trained(self._model, reading), None, log.warning)
        self.feed.show_model(self._model)

    def model(self, keep: int | None = None) -> Model | ClassModels:
        """Return the model, or its heaviest features."""
        return self._model.heaviest(keep)


class LearningService(Service):
    """A folder of a learner, which predicts and learns."""

    def __init__(
        self,
        folder: Path,
        model: Path | None,
        settings: TrainSettings,
        given: Collection[str] | None,
        limits: Limits,
        *,
        durability: str = FSYNC,
        snapshot_bytes: int = SNAPSHOT_BYTES,
        note: Callable[[str], None] = log.warning,
    ) -> None:
        if durability not in DURABILITIES:
            raise SettingError(
                f"durability must be one of {', '.join(DURABILITIES)}, got {durability!r}"
            )
        super().__init__(os.path.basename(os.path.abspath(folder)), limits)  # noqa: PTH100, PTH119  (of ``..`` a path has no name)
        self._note = note
        store = Store(folder, durability, note)
        try:
            self._open(store, model, settings, given, snapshot_bytes)
        except BaseException:
            store.close()
            raise

    def _open(
        self,
        store: Store,
        model: Path | None,
        settings: TrainSettings,
        given: Collection[str] | None,
        snapshot_bytes: int,
    ) -> None:
        before, start = store.settings, None
        if before is not None:
            settings = _as_begun(store, before, settings, given)
            if model is not None and store.has_snapshot:
                self._note(f"{store.folder}: goes on from what it learned; {model} is not read")
            model = before["start_from"] if model is None else model
        if model is not None and not store.has_snapshot:
            start = load_model(model)
            settings = continued(settings, model, start, given)
        self.online = Online(settings, self.limits, self._note)
        self._gate = self.online.gate
        schema = None
        kept = store.snapshot(load_checkpoint)
        if kept is not None:
            self.online.restore_from(*kept)
            schema = _schema_in(kept[1])
        elif start is not None:
            self.online.start_from(start)
        if before is None:
            store.begin(_kept(settings, model))
        self.bodies = Bodies(settings.reading, schema, self._note)
        self.writer = Writer(
            self.online,
            store,
            self.figures,
            snapshot_bytes=snapshot_bytes,
            reading=self._reading,
            tick=self._tick,
            note=self._note,
        )
        if self.writer.said_schema is not None:
            self.bodies = Bodies(settings.reading, self.writer.said_schema, self._note)
        if start is not None:
            self.writer.snapshot()
        self._tick()
        self.writer.start()

    @property
    def learner(self) -> Learner | OneVsRest:
        """What predicts."""
        self._learner = self.online.learner
        return super().learner

    @property
    def labels(self) -> Labels:
        """What labels mean."""
        return self.online.labels

    def warm_up(self) -> None:
        """Compile what requests need, by a learner of the same settings that is thrown away."""
        learned = self.online.learner is not None
        settings = self.online.settings
        probe = Online(settings, self.limits, lambda _text: None)
        labels = self.online.labels.classes if learned else settings.classes
        rows = [(1, {"label": y, "features": {"a": 2.0}}) for y in (labels or (0, 1))]
        try:
            admitted = probe.admitted(jsonl.parse_objects(rows, "warm-up"))
            batch, _ = unpacked(packed(named(admitted.batch), probe.about()))
            probe.learn(batch)
        except DataError:  # the loss takes other labels: it is compiled when they come
            return
        assert probe.learner is not None
        scores_of(probe.learner, batch)
        scores_of_dicts(probe.learner, [{"a": 2.0}])
        self.bodies.read("text/x-vw", b"1 | a:2\n", labelled=False)

    def _reading(self) -> dict[str, Any]:
        """Return what was decided of columns, fit for JSON."""
        schema = self.bodies.schema() if hasattr(self, "bodies") else None
        return {} if schema is None else {"schema": schema.to_json()}

    def _tick(self) -> None:
        waiting = 0 if self.writer is None else self.writer.waiting
        self.feed.take(self.online, self.figures.latency, waiting)

    def model(self, keep: int | None = None) -> Model | ClassModels:
        """Return the model as it is now, or its heaviest features."""
        online = self.online
        if online.progress is None:
            raise NothingLearnedError("nothing is learned yet")
        said = online.labels.metadata() | {
            "reading": kept_reading(replace(online.settings.reading, schema=self.bodies.schema())),
            "examples": online.examples_before + online.examples,
            "seen": self.learner.n_seen,
            "peak_live": self.learner.peak_live,
            "loss": online.progress.mean_loss,
        }
        return model_of(self.learner, said, keep)

    def about(self) -> dict[str, Any]:
        """Say, for /healthz, what is served and how learning goes on."""
        assert self.writer is not None
        self._learner = self.online.learner
        failed = self.writer.failed
        return super().about() | {
            "status": "ok" if failed is None else "failed",
            "learns": True,
            "examples": self.online.examples,
            "waiting": self.writer.waiting,
            **({} if failed is None else {"failed": failed}),
        }

    def close(self) -> None:
        """Learn what waits, and write a snapshot."""
        super().close()
        if self.writer is not None:
            self.writer.close()


def model_file(model: Model | ClassModels) -> bytes:
    """Return the file of a model."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415  (rarely asked for)

    with TemporaryDirectory(prefix="dwindle-") as folder:
        path = f"{folder}/model.parquet"
        model.save(path)
        return FilePath(path).read_bytes()


def _kept(settings: TrainSettings, model: Path | None) -> dict[str, Any]:
    """Return what the file of settings says."""
    said = {name: getattr(settings, name) for name in ONLINE}
    try:
        text = json.dumps(said)
    except TypeError:
        raise SettingError(
            "settings of a server are kept in a file: name the loss, the shrinkage and the update, "
            'as in loss="logistic"'
        ) from None
    return {
        "format": FORMAT,
        "settings": json.loads(text),
        "reading": kept_reading(settings.reading),
        "start_from": None if model is None else str(FilePath(model).absolute()),
    }


def _as_begun(
    store: Store, before: dict[str, Any], settings: TrainSettings, given: Collection[str] | None
) -> TrainSettings:
    """Return the settings that a folder was begun with; refuse others that are given."""
    if before.get("format") != FORMAT:
        raise DataError(f"{store.folder}: was written by another version of dwindle: upgrade")
    here, there = json.loads(json.dumps(_sayable(settings))), before["settings"]
    if given is None:
        given = {n for n in ONLINE if getattr(settings, n) != default_of(TrainSettings, n)}
    for name in sorted(set(given) & set(ONLINE)):
        if here[name] != there.get(name):
            raise SettingError(
                f"{store.folder}: was begun with {name.replace('_', ' ')} {there.get(name)}, and "
                f"now it is {here[name]}: leave it out, or begin a new folder"
            )
    usual, own = kept_reading(ReadOptions()), kept_reading(settings.reading)
    if own not in (usual, before["reading"] | {"schema": None}, before["reading"]):
        raise SettingError(
            f"{store.folder}: its requests are read as they were from the beginning: leave out the "
            "options of data, or begin a new folder"
        )
    values: dict[str, Any] = {
        name: tuple(there[name]) if isinstance(there[name], list) else there[name]
        for name in ONLINE
        if name in there
    }
    values["reading"] = as_before(before["reading"], settings.reading)
    return replace(settings, **values)


def _sayable(settings: TrainSettings) -> dict[str, Any]:
    return {name: repr_or(getattr(settings, name)) for name in ONLINE}


def repr_or(value: Any) -> Any:
    """Return what JSON can hold as it is, and anything else as it is written."""
    return (
        value if isinstance(value, int | float | str | list | tuple | dict | None) else repr(value)
    )


def _schema_in(said: dict[str, Any]) -> Schema | None:
    return Schema.from_json(said["schema"]) if said.get("schema") else None
