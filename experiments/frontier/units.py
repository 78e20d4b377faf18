"""The pieces of work that processes share: a way to learn on a problem, with all its settings."""

import time
from typing import Any, NamedTuple

from experiments.frontier.problems import Problem, rows
from experiments.frontier.searching import Target, searched


class Unit(NamedTuple):
    """All settings of a way on a problem."""

    problem: Problem
    way: str
    target: Target | None = None
    before: Any = None  # what was found without a target

    @property
    def name(self) -> str:
        """Its name among what is finished."""
        return f"{self.problem.name} {self.way}{'' if self.target else ', alone'}"


def measured(unit: Unit) -> dict[str, Any]:
    """Search, and tell what was searched in and how long it took."""
    problem, begin = unit.problem, time.monotonic()
    before = unit.before or {"points": (), "seconds": 0.0}
    found = searched(problem, unit.way, unit.target, before["points"])
    known = rows(problem, problem.seeds[0])
    return found | {
        "train": known.train.n_examples,
        "test": known.test.n_examples,
        "positive": int((known.label > 0).sum()),
        "distinct": known.distinct,
        "length": round(known.length, 2),
        "seconds": round(before["seconds"] + time.monotonic() - begin, 1),
    }
