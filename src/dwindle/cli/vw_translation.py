"""A command line of Vowpal Wabbit as commands of dwindle, word by word."""

import json
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click

from dwindle.cli.vw_flags import Given, read_flags
from dwindle.data.formats import registry

LOOKED_AT = 2**20  # bytes at the beginning of each file, for the names of its namespaces
LOSSES = {name: name for name in ("squared", "logistic", "hinge", "quantile", "poisson")}
LOSSES["classic"] = "squared"
HELD_OUT = "10"  # VW's every tenth example, where there are several passes
STDIN = {"-", "/dev/stdin"}


class Translation(NamedTuple):
    """The commands to run, one after the other, and what is done with each flag."""

    commands: list[list[str]]
    notes: list[str]


def translated(words: Sequence[str], scratch: Path) -> Translation:
    """Translate; a model that is not to be kept is written in the folder ``scratch``."""
    return _Command(read_flags(words), scratch).translated()


class _Command:
    """The flags of one command line."""

    def __init__(self, given: Sequence[Given], scratch: Path) -> None:
        self._notes = [f"{each.typed}: {each.flag.becomes.replace('`', '')}" for each in given]
        self._values: dict[str, list[str]] = {}
        for each in given:
            self._values.setdefault(each.flag.name, []).append(each.value)
        self._scratch = scratch
        self._data = ["-" if path in STDIN else path for path in self._values.get("data", ["-"])]
        self._namespaces: list[str] | None = None

    def _has(self, name: str) -> bool:
        return name in self._values

    def _one(self, name: str) -> str | None:
        return self._values.get(name, [None])[-1]

    def translated(self) -> Translation:
        """Write the commands."""
        learns = not self._has("testonly")
        earlier = self._one("initial_regressor")
        if not learns and earlier is None:
            raise click.UsageError("-t tests a model: name it with -i")
        model = _model_name(self._one("final_regressor"))
        if learns:
            model = model or str(self._scratch / "model.parquet")
            commands = [self._training(model)]
        else:
            model = _model_name(earlier) or ""
            commands = []
        outputs = [("predictions", self._kind()), ("raw_predictions", [])]
        asked = [(self._one(name), kind) for name, kind in outputs if self._has(name)]
        if asked and "-" in self._data and (learns or len(asked) > 1):
            raise click.UsageError("standard input is read once: predict from a file")
        reading = self._reading(labelled=False)
        for path, kind in asked:
            output = "-" if path in {"-", "/dev/stdout", "stdout"} else str(path)
            lines = [*kind, "--tags", "--output-format", "text"]  # whatever the file is called
            words = ["predict", model, *self._data, *reading, *lines, "--output", output]
            commands.append(words)
        shows = all(words[-1] != "-" for words in commands)  # no predictions among the figures
        if not learns and shows and "-" not in self._data and not self._has("quiet"):
            commands.append(["evaluate", model, *self._data, *reading])
        for name, target in (("readable_model", "vw-readable"), ("invert_hash", "vw-names")):
            if (path := self._one(name)) is not None:
                quiet = ["--quiet"] if self._has("quiet") else []
                commands.append(["export", model, path, "--to", target, *quiet])
        return Translation(commands, self._notes)

    def _kind(self) -> list[str]:
        if self._has("binary"):
            return ["--label"]
        link = self._one("link")
        if link not in {None, "identity", "logistic"}:
            raise click.UsageError(f"--link {link} is not done here: take identity or logistic.")
        return ["--proba"] if link == "logistic" or self._has("probabilities") else []

    def _training(self, model: str) -> list[str]:
        words = ["train", *self._data, "--model", model, *self._reading(labelled=True)]
        words += self._loss()
        words += ["--gravity", str(l1)] if (l1 := self._one("l1")) else ["--dense"]
        words += self._update()
        words += self._passes()
        for name, option in (("l2", "--l2"), ("decay_learning_rate", "--pass-decay")):
            if (value := self._one(name)) is not None:
                words += [option, value]
        for name, option in (
            *(("noconstant", "--no-intercept"), ("save_resume", "--save-state")),
            ("quiet", "--quiet"),
        ):
            words += [option] if self._has(name) else []
        if (earlier := _model_name(self._one("initial_regressor"))) is not None:
            words += ["--start-from", earlier]
        return words

    def _loss(self) -> list[str]:
        if (k := self._one("oaa")) is not None:
            if not k.isdecimal() or int(k) < 2:
                raise click.UsageError(f"--oaa: expected the number of classes, got {k!r}")
            if int(k) == 2:
                return ["--loss", "logistic"]
            return ["--loss", "logistic", "--classes", ",".join(map(str, range(1, int(k) + 1)))]
        name = self._one("loss_function")
        if name is None and self._has("initial_regressor"):
            return []  # the model's own
        name = name or "squared"
        if name not in LOSSES:
            raise click.UsageError(
                f"--loss_function {name} is not done here: take {', '.join(LOSSES)}."
            )
        words = ["--loss", LOSSES[name]]
        tau = self._one("quantile_tau")
        return words if tau is None else [*words, "--tau", tau]

    def _update(self) -> list[str]:
        rate = self._one("learning_rate")
        power = self._one("power_t")
        words: list[str] = []
        if self._has("ftrl"):
            words, rate = ["--update", "ftrl"], self._one("ftrl_alpha") or rate
            beta = self._one("ftrl_beta")
            words += [] if beta is None else ["--beta", beta]
        elif self._has("sgd"):
            words = ["--update", "plain", "--power-t", power or "0.5"]
            if (start := self._one("initial_t")) is not None:
                words += ["--initial-t", str(max(float(start), 1.0))]
        if not self._has("sgd") and power is not None and float(power) != 0.5:
            self._notes.append(
                f"--power_t {power}: left out, since the adaptive update divides by a root; "
                "with --sgd it is --power-t"
            )
        return words if rate is None else [*words, "--learning-rate", rate]

    def _passes(self) -> list[str]:
        passes = self._one("passes") or "1"
        words = ["--passes", passes] if passes != "1" else []
        every = self._one("holdout_period")
        if passes != "1" and not self._has("holdout_off"):
            words += ["--holdout", every or HELD_OUT]
        patience = self._one("early_terminate")
        return words if patience is None else [*words, "--patience", patience]

    # Data

    def _reading(self, *, labelled: bool) -> list[str]:
        """Say how the data is read; to predict, a model remembers most of it."""
        words = ["--format", "jsonl" if self._has("json") else "vw"]
        if not labelled:
            return words
        if self._has("json"):
            words += self._json_columns()
        for name in ("quadratic", "cubic", "interactions"):
            for letters in self._values.get(name, ()):
                for crossed in self._crossed(name, letters):
                    words += ["--interactions", "*".join(crossed)]
        for letter in "".join(self._values.get("ignore", ())):
            words += [w for each in self._named(letter, "--ignore") for w in ("--drop", each)]
        return words

    def _crossed(self, name: str, letters: str) -> list[tuple[str, ...]]:
        """Find the namespaces that letters stand for, and note them."""
        n = {"quadratic": {2}, "cubic": {3}, "interactions": {2, 3}}[name]
        if len(letters) not in n:
            raise click.UsageError(
                f"--{name}: expected {' or '.join(map(str, sorted(n)))} letters, got {letters!r}"
            )
        found: dict[tuple[str, ...], None] = {}
        for names in product(*(self._named(letter, f"--{name}") for letter in letters)):
            if not any(sorted(names) == sorted(each) for each in found):
                found[names] = None
        told = ", ".join("*".join(names) for names in found)
        self._notes.append(f"{letters}: the namespaces {told}")
        return list(found)

    def _named(self, letter: str, flag: str) -> list[str]:
        """List the namespaces that begin with a letter; a colon stands for all."""
        if self._namespaces is None:
            self._namespaces = self._found_namespaces()
        found = [name for name in self._namespaces if letter in (":", name[:1])]
        if not found:
            if "-" in self._data:
                return [letter]
            raise click.UsageError(f"{flag}: no namespace of the data begins with {letter!r}")
        return found

    def _found_namespaces(self) -> list[str]:
        """Look for namespaces at the beginning of each file."""
        found: dict[str, None] = {}
        for path in self._data:
            if path == "-":
                continue
            if self._has("json"):
                found |= {k: None for k, v in _first_object(path).items() if isinstance(v, dict)}
            else:
                bars = re.findall(rb"\|([^\s:|]+)", _beginning(path))
                found |= dict.fromkeys(bar.decode("utf-8", "surrogateescape") for bar in bars)
        return list(found)

    def _json_columns(self) -> list[str]:
        """Say what VW's own members are; refuse labels that are no number."""
        first: dict[str, Any] = {} if "-" in self._data else _first_object(self._data[0])
        label = first.get("_label", 0)
        strange = [
            name for name in ("_multi", "_labelIndex", "_label_Action", "c") if name in first
        ]
        if isinstance(label, dict) or strange:
            what = "_label is an object" if isinstance(label, dict) else f"it has {strange[0]}"
            raise click.UsageError(
                f"--json: {what}: only examples with a number as _label are read"
            )
        words = ["--label-column", "_label"]
        words += ["--weight-column", "_weight"] if "_weight" in first else []
        words += ["--text", "_text"] if "_text" in first else []
        known = {"_label", "_weight", "_text"}
        others = [name for name in first if name.startswith("_") and name not in known]
        return words + [word for name in others for word in ("--drop", name)]


def _beginning(path: str) -> bytes:
    from dwindle.data.sources import opened, sources

    found = b""
    for file in sources(path):
        with opened(file) as source:
            found += source.file.read(LOOKED_AT) + b"\n"
    return found


def _first_object(path: str) -> dict[str, Any]:
    line = next((line for line in _beginning(path).splitlines() if line.strip()), b"{}")
    try:
        found = json.loads(line)
    except ValueError:
        return {}  # `dwindle train` says where and what
    return found if isinstance(found, dict) else {}


def _model_name(name: str | None) -> str | None:
    """Return the name of a model file; one that is called like data gets another extension."""
    if name is None:
        return None
    format_ = registry.by_extension(Path(name).suffix)
    return name if format_ in {None, "parquet"} else f"{name}.parquet"
