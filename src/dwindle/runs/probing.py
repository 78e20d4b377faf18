"""What random features, learned beside the real ones, say of a model."""

from typing import Any, NamedTuple

import numpy as np

from dwindle._base.errors import SettingError
from dwindle.data.probes import Probes, is_probe
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.model.model import Model
from dwindle.runs.settings import TrainSettings


class Probed(NamedTuple):
    """How many probes were kept of those that were added, and how many real features."""

    kept: int
    added: int
    real: int  # features kept that are no probes,
    seen: int  # of about so many

    @property
    def by_chance(self) -> float:
        """The number of real features kept that tell nothing, if as many are kept as of probes.

        kept / added of those seen, and no more than there are.
        """
        share = self.kept / self.added if self.added else 0.0
        return min(share * self.seen, float(self.real))


def check_probed(learner: Any, settings: TrainSettings) -> None:
    """Refuse what would keep probes, or count them for several models."""
    if isinstance(learner, OneVsRest):
        raise SettingError("--probes is for one model, and here is one for each class")
    for name in ("path", "save_state"):
        if getattr(settings, name):
            option = name.replace("_", "-")
            raise SettingError(f"--{option} would keep the probes: leave out one of the two")


def without_probes(model: Any, probes: Probes, n_seen: int) -> tuple[Model, Probed]:
    """Return the model of the real features, of so many seen, and how many probes there were."""
    at = np.flatnonzero(~is_probe(model.key))
    probed = Probed(int(probes.are(model.key).sum()), len(probes), len(at), max(n_seen, len(at)))
    return model.rows(at, metadata=model.metadata | {"seen": probed.seen}), probed
