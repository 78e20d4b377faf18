"""Labels of two classes, mapped to -1 and 1."""

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
    """A mapping of labels to -1 and 1, decided by the first labels seen."""

    def __init__(self, sign: dict[float, float] | None = None) -> None:
        self.sign = dict(sign or {})

    def loss_for(self, batch: Batch) -> Any:
        """Choose a loss: logistic if the labels are those of two classes, else squared."""
        found = self.found(batch)
        return Logistic() if any(found <= set(pair) for pair in PAIRS) else Squared()

    def mapped(self, parsed: Parsed, loss: Any) -> NDArray[np.float32] | None:
        """Return the labels as the loss needs them."""
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
        """Map the known labels; tell whether all labels with an importance are known."""
        value = np.array(list(self.sign), np.float32)
        sign = np.array(list(self.sign.values()), np.float32)
        mapped = np.empty_like(label)
        return mapped, _map(label, importance, value, sign, mapped)

    def metadata(self) -> dict[str, float]:
        """Return the mapping, as a model's metadata keeps it."""
        return {f"{value:g}": sign for value, sign in self.sign.items()}

    def found(self, batch: Batch) -> set[float]:
        """Collect the distinct labels of examples with an importance; stop at three."""
        if batch.label is None:
            return set()
        label = batch.label if batch.importance is None else batch.label[batch.importance > 0]
        found: set[float] = set()
        while len(label) and len(found) < 3:  # mostly two passes over the labels, and no sort
            found.add(float(label[0]))
            label = label[label != label[0]]
        return found

    def _admit(self, new: set[float], parsed: Parsed) -> None:
        """Add new labels to the mapping; with the old ones they must make one of the `PAIRS`."""
        for negative, positive in PAIRS:
            sign = {negative: -1.0, positive: 1.0}
            # A 1 that came alone was taken for the positive class, as in most pairs.
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


@kernel(nogil=False)  # so short that releasing the interpreter's lock would cost more
def _map(label: Any, importance: Any, value: Any, sign: Any, mapped: Any) -> bool:
    """Map labels of these values to their signs; tell whether all with an importance have one."""
    n_unknown = 0
    for i in range(len(label)):
        mapped[i] = label[i]
        unknown = importance[i] > 0.0
        for k in range(len(value)):  # without branches, which could not be predicted
            is_it = label[i] == value[k]
            mapped[i] = sign[k] if is_it else mapped[i]
            unknown &= not is_it
        n_unknown += unknown
    return n_unknown == 0
