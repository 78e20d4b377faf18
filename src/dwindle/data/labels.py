"""What the labels of the data mean to a loss."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.algorithm.losses import Logistic, Squared, is_classification
from dwindle.data.formats.block import Parsed
from dwindle.features.batch import Batch
from dwindle.jit.compile import kernel

PAIRS = ((-1.0, 1.0), (0.0, 1.0), (1.0, 2.0))  # labels of two classes, the negative one first


class Labels:
    """How the labels of two classes become -1 and 1: settled by the first that are seen."""

    def __init__(self, sign: dict[float, float] | None = None) -> None:
        self.sign = dict(sign or {})

    def loss_for(self, batch: Batch) -> Any:
        """Logistic if the labels are those of two classes, else squared."""
        found = self.found(batch)
        return Logistic() if any(found <= set(pair) for pair in PAIRS) else Squared()

    def mapped(self, parsed: Parsed, loss: Any) -> NDArray[np.float32] | None:
        """The labels as the loss wants them."""
        label = parsed.batch.label
        if label is None or not is_classification(loss):
            return label
        mapped, all_known = self._signs(label, parsed.batch.importances())
        if not all_known:
            self._admit(self.found(parsed.batch) - self.sign.keys(), parsed)
            mapped, _ = self._signs(label, parsed.batch.importances())
        return mapped

    def _signs(
        self, label: NDArray[np.float32], importance: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], bool]:
        """The labels with -1 and 1 for those known, and whether those that count all are."""
        value = np.array(list(self.sign), np.float32)
        sign = np.array(list(self.sign.values()), np.float32)
        mapped = np.empty_like(label)
        return mapped, _map(label, importance, value, sign, mapped)

    def metadata(self) -> dict[str, float]:
        """The mapping, as a model keeps it."""
        return {f"{value:g}": sign for value, sign in self.sign.items()}

    def found(self, batch: Batch) -> set[float]:
        """The labels of the examples to be learned from; past three, no more are looked for."""
        if batch.label is None:
            return set()
        label = batch.label if batch.importance is None else batch.label[batch.importance > 0]
        found: set[float] = set()
        while len(label) and len(found) < 3:  # two passes over the labels, as a rule, and no sort
            found.add(float(label[0]))
            label = label[label != label[0]]
        return found

    def _admit(self, new: set[float], parsed: Parsed) -> None:
        """Labels not met before: with those that were, they must make one of the known pairs."""
        for negative, positive in PAIRS:
            sign = {negative: -1.0, positive: 1.0}
            # A 1 that came alone was taken for the positive class, as in the commonest pairs.
            if new | self.sign.keys() <= sign.keys() and self.sign.items() <= sign.items():
                self.sign |= {value: sign[value] for value in new}
                return
        label = parsed.batch.label
        assert label is not None
        first = {value: int(np.argmax(label == np.float32(value))) for value in new}
        value = max(new, key=lambda v: (v not in (-1.0, 0.0, 1.0), -first[v]))
        known = " and ".join(f"{v:g}" for v in sorted(self.sign)) or "-1 and 1, 0 and 1, or 1 and 2"
        advice = "say --loss squared to learn numbers"
        if value == 2.0 and self.sign == {1.0: 1.0}:
            advice = "1 alone was taken for the positive class: put an example of 2 near the top"
        raise DataError(
            f"{parsed.source}:{parsed.line[first[value]]}: expected a label of two classes "
            f"({known}), got {value:g} ({advice})"
        )


@kernel(nogil=False)  # to let go of the interpreter's lock and wait for it would take longer
def _map(label: Any, importance: Any, value: Any, sign: Any, mapped: Any) -> bool:
    """Each label of a value has its sign in ``mapped``; says whether all that count are of one."""
    n_unknown = 0
    for i in range(len(label)):
        mapped[i] = label[i]
        unknown = importance[i] > 0.0
        for k in range(len(value)):  # without a branch for each label, which cannot be predicted
            is_it = label[i] == value[k]
            mapped[i] = sign[k] if is_it else mapped[i]
            unknown &= not is_it
        n_unknown += unknown
    return n_unknown == 0
