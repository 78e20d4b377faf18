"""What the labels of a run mean: numbers, two classes, or several classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.losses import Logistic, Squared, for_classes, is_classification
from dwindle.data.formats.block import Parsed, spelled_label
from dwindle.features.batch import Batch
from dwindle.jit.compile import kernel

PAIRS = ((-1.0, 1.0), (0.0, 1.0), (1.0, 2.0))  # labels of two classes, the negative one first
MOST_CLASSES = 1000  # that are taken from the data without being named
SHOWN = 10  # classes listed in a message

Label = float | str


def listed(classes: Sequence[Label]) -> str:
    """List classes in a message, the first few if there are many."""
    some = ", ".join(map(spelled_label, classes[:SHOWN]))
    return some if len(classes) <= SHOWN else f"{some} and {len(classes) - SHOWN} more"


OF_MODEL = "the model knows no other: leave out what has another label"
TEXT_IS_LEARNED = "text is learned as classes with --loss logistic"


class Labels:
    """What each label of a run is to the learner: a mapping, decided by the first labels seen.

    Of two classes the second, in sorted order, is +1 and the other -1. Several classes are
    numbered, from 0 on, in sorted order. Where labels are numbers to predict, it is empty.
    ``weight`` is a factor on the importance of the examples of a class.
    """

    def __init__(
        self,
        target: Mapping[Label, float] | None = None,
        weight: Mapping[Any, float] | None = None,
    ) -> None:
        self.target = dict(target or {})
        self.of_model = False  # whose labels cannot be chosen any more
        self.weight = {spelled_label(label): value for label, value in (weight or {}).items()}
        for label, value in self.weight.items():
            if not 0 <= value < np.inf:
                raise SettingError(f"class_weight of {label} must be 0 or more, got {value}")

    @classmethod
    def of(cls, classes: Iterable[Label]) -> Self:
        """Make the labels of these classes.

        >>> Labels.of(["spam", "ham"]).target, Labels.of([3, 1, 2]).target
        ({'ham': -1.0, 'spam': 1.0}, {1: 0.0, 2: 1.0, 3: 2.0})
        """
        found: list[Any] = [*map(_whole, classes)]
        if any(isinstance(label, str) for label in found):
            found = [*map(spelled_label, found)]
        found = sorted(set(found))
        if len(found) < 2:
            raise SettingError(
                f"at least two classes are needed to tell them apart, got {listed(found) or 'none'}"
            )
        place = (-1.0, 1.0) if len(found) == 2 else map(float, range(len(found)))
        return cls(dict(zip(found, place, strict=True)))

    @classmethod
    def in_metadata(cls, metadata: Mapping[str, Any]) -> Self:
        """Read back what `metadata` wrote into a model's file."""
        signs = metadata.get("labels", {})
        found = (
            cls.of(metadata["classes"])
            if "classes" in metadata
            else cls({float(label): sign for label, sign in signs.items()})
        )
        found.of_model = True
        return found

    def metadata(self) -> dict[str, Any]:
        """Return what a model's file says of the labels."""
        is_text = any(isinstance(label, str) for label in self.target)
        named = {"classes": self.classes} if is_text or self.are_several else {}
        return {"labels": self.signs()} | named

    @property
    def classes(self) -> list[Label]:
        """The classes, in the order in which they are numbered."""
        return sorted(self.target, key=lambda label: self.target[label])

    @property
    def are_several(self) -> bool:
        """Whether there are more than two classes."""
        return len(self.target) > 2

    def signs(self) -> dict[str, float]:
        """Return which of two classes is -1 and which +1, by their text."""
        if self.are_several:
            return {}
        return {spelled_label(label): sign for label, sign in self.target.items()}

    def decide(self, parsed: Parsed, loss: Any, note: Callable[[str], None]) -> Any:
        """Decide by the first labels what labels mean; return the loss, chosen if None is given.

        Text is classes. Numbers are classes if the loss is one of classes, or if they are a pair
        that is commonly used for two. A loss that has a form for classes takes whole numbers as
        classes, and others as numbers.
        """
        loss = self._form_of(loss, parsed)
        if loss is not None and not is_classification(loss):
            if self.target or self.weight:
                raise SettingError(f"{loss} learns numbers: it has no classes to name or to weigh")
            return loss
        if not self.target and parsed.label_names is not None:
            self.target = self._classes_in(parsed, _texts_in(parsed)).target
        if self.target:
            self._check_weights(self.classes)
            return Logistic() if loss is None else loss
        found = self.found(parsed.batch)
        if pairs := [pair for pair in PAIRS if found <= set(pair)]:
            self._check_weights(*pairs)
            return Logistic() if loss is None else loss
        distinct = np.unique(_counting(parsed.batch)).tolist()
        whole = all(label == int(label) for label in distinct)
        if loss is None:
            if whole and len(distinct) <= MOST_CLASSES:
                if self.weight:
                    raise SettingError(
                        "class_weight needs classes, and the labels are taken as numbers: say "
                        "--loss logistic to learn classes"
                    )
                note(
                    f"labels are whole numbers, {len(distinct)} different ones at the beginning: "
                    "learned as numbers; say --loss logistic to learn them as classes"
                )
            return Squared()
        if whole and len(distinct) > 1:
            self.target = self._classes_in(parsed, distinct).target
            self._check_weights(self.classes)
        return loss

    def _form_of(self, loss: Any, parsed: Parsed) -> Any:
        """Return the loss's form for classes, if labels are: named ones, text, whole numbers."""
        if not self.target and not self.weight and parsed.label_names is None:
            label = _counting(parsed.batch)
            if (label != np.rint(label)).any():
                return loss
        return for_classes(loss)

    def _check_weights(self, *possible: Sequence[Label]) -> None:
        """Refuse the weight of a class that is in none of the possible sets of classes."""
        strange = [self.weight.keys() - map(spelled_label, classes) for classes in possible]
        if all(strange):
            known = " or ".join(map(listed, possible))
            raise SettingError(
                f"class_weight names {min(strange[0])!r}, which is none of the classes: {known}"
            )

    def _classes_in(self, parsed: Parsed, found: Sequence[Label]) -> "Labels":
        """Make classes of the labels found at the beginning of the data."""
        if len(found) < 2:
            raise DataError(
                f"{parsed.source}: all labels at the beginning are {listed(found)!r}, and it takes "
                "another to tell apart: shuffle the data, or name all classes with --classes"
            )
        if len(found) > MOST_CLASSES:
            raise DataError(
                f"{parsed.source}: {len(found):,} different labels at the beginning, such as "
                f"{listed(found[:3])}: if they are classes, name them with --classes"
            )
        return Labels.of(found)

    def told(self) -> str:
        """Say which classes there are, where labels do not say it themselves."""
        if self.are_several:
            return f"{len(self.target)} classes: {listed(self.classes)}"
        if not any(isinstance(label, str) for label in self.target):
            return ""
        negative, positive = map(spelled_label, self.classes)
        return f"two classes: {positive!r} is the positive one (+1), {negative!r} the other (-1)"

    def learned(self, parsed: Parsed, loss: Any) -> Batch:
        """Return a batch to learn from: its labels `mapped`, its importances by class."""
        batch = parsed.batch._replace(label=self.mapped(parsed, loss))
        if not self.weight or batch.label is None:
            return batch
        factor = np.ones(batch.n_examples, np.float32)
        for label, target in self.target.items():
            weight = self.weight.get(spelled_label(label), 1.0)
            if weight != 1.0:
                factor[batch.label == np.float32(target)] = weight
        return batch._replace(importance=batch.importances() * factor)

    def mapped(self, parsed: Parsed, loss: Any) -> NDArray[np.float32] | None:
        """Return the labels as the learner needs them: -1 and 1, numbers of classes, or as read."""
        label, names = parsed.batch.label, parsed.label_names
        if label is None:
            return None
        if not is_classification(loss):
            if names is not None:
                self._refuse_text(parsed)
            return label
        if names is not None:
            known = {spelled_label(each): target for each, target in self.target.items()}
            return self._looked_up(parsed, label, [known.get(name) for name in names])
        if self.are_several or any(isinstance(each, str) for each in self.target):
            return self._mapped_numbers(parsed, label)
        mapped, all_known = self._signs(label, parsed.batch.importances())
        if not all_known:
            self._admit(self.found(parsed.batch) - self.target.keys(), parsed)
            mapped, _ = self._signs(label, parsed.batch.importances())
        return mapped

    def _mapped_numbers(self, parsed: Parsed, label: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map numbers that are classes, or that stand where other files have text."""
        distinct, code = np.unique(label, return_inverse=True)
        known = {spelled_label(each): target for each, target in self.target.items()}
        return self._looked_up(
            parsed, code, [known.get(spelled_label(value)) for value in distinct.tolist()]
        )

    def _looked_up(
        self, parsed: Parsed, code: NDArray[Any], targets: Sequence[float | None]
    ) -> NDArray[np.float32]:
        """Return the target of each example's code; refuse the first one that has none."""
        table = np.array([np.nan if each is None else each for each in targets] or [0], np.float32)
        mapped = table[code.astype(np.int64)]
        unknown = np.isnan(mapped)
        if unknown.any():
            unknown &= parsed.batch.importances() > 0
            if unknown.any():
                i = int(np.argmax(unknown))
                advice = (
                    OF_MODEL
                    if self.of_model
                    else "classes are those at the beginning of the data, unless --classes names "
                    "them all"
                )
                raise DataError(
                    f"{parsed.place(i)}: expected a label among {listed(self.classes)}, got "
                    f"{parsed.label(i)!r}: {advice}"
                )
            mapped = np.nan_to_num(mapped)
        return mapped

    def _refuse_text(self, parsed: Parsed) -> None:
        """Refuse labels that are text where the loss needs numbers."""
        counts = np.flatnonzero(parsed.batch.importances() > 0)
        if len(counts):
            i = int(counts[0])
            told = "the model predicts numbers" if self.of_model else TEXT_IS_LEARNED
            raise DataError(
                f"{parsed.place(i)}: expected a number as label, got {parsed.label(i)!r} ({told})"
            )

    def _signs(
        self, label: NDArray[np.float32], importance: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], bool]:
        """Map the known labels; tell whether all labels with an importance are known."""
        value = np.array(list(self.target), np.float32)
        sign = np.array(list(self.target.values()), np.float32)
        mapped = np.empty_like(label)
        return mapped, _map(label, importance, value, sign, mapped)

    def found(self, batch: Batch) -> set[float]:
        """Collect the distinct labels of examples with an importance; stop at three."""
        label = _counting(batch)
        found: set[float] = set()
        while len(label) and len(found) < 3:  # mostly two passes over the labels, and no sort
            found.add(float(label[0]))
            label = label[label != label[0]]
        return found

    def _admit(self, new: set[float], parsed: Parsed) -> None:
        """Add new labels to the mapping; with the old ones they must make one of the `PAIRS`."""
        for negative, positive in PAIRS:
            sign: dict[Label, float] = {negative: -1.0, positive: 1.0}
            # A 1 that came alone was taken for the positive class, as in most pairs.
            if new | self.target.keys() <= sign.keys() and self.target.items() <= sign.items():
                self.target |= {value: sign[value] for value in new}
                if len(self.target) == 2:
                    self._check_weights(self.classes)
                return
        label = parsed.batch.label
        assert label is not None
        first = {value: int(np.argmax(label == np.float32(value))) for value in new}
        value = max(new, key=lambda v: (v not in (-1.0, 0.0, 1.0), -first[v]))
        known = " and ".join(map(spelled_label, sorted(self.target)))
        known = known or "-1 and 1, 0 and 1, or 1 and 2"
        advice = "say --loss squared to learn numbers, or name all classes with --classes"
        if self.of_model:
            advice = OF_MODEL
        elif value == 2.0 and self.target == {1.0: 1.0}:
            advice = "1 alone was taken for the positive class: put an example of 2 near the top"
        raise DataError(
            f"{parsed.place(first[value])}: expected a label of two classes "
            f"({known}), got {value:g} ({advice})"
        )


def balanced(labels: Labels, everything: Iterable[Parsed]) -> Labels:
    """Count the labels of all the data, and weigh classes so that all weigh the same in total.

    The weight of class k is n / (number of classes * n_k), where n_k is its examples' importance.
    """
    total: dict[Label, float] = {}
    for parsed in everything:
        importance = parsed.batch.importances()
        for value in np.unique(_counting(parsed.batch)):
            own = float(importance[parsed.batch.label == value].sum(dtype=np.float64))
            name = float(value) if parsed.label_names is None else parsed.label_names[int(value)]
            total[name] = total.get(name, 0.0) + own
    if len(total) > 2 or any(isinstance(label, str) for label in total):
        labels = Labels(labels.target or Labels.of(total).target)
    n = sum(total.values()) / max(len(total), 1)
    return Labels(labels.target, {label: n / own for label, own in total.items()})


def _whole(label: Label) -> Label:
    """Write a whole number as one, as people name classes."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _counting(batch: Batch) -> NDArray[np.float32]:
    """Return the labels of examples with an importance."""
    if batch.label is None:
        return np.empty(0, np.float32)
    return batch.label if batch.importance is None else batch.label[batch.importance > 0]


def unlabelled(batch: Batch) -> int:
    """Count the examples without a label, which are read as label 0 of importance 0."""
    if batch.label is None or batch.importance is None:
        return 0
    return int(np.count_nonzero((batch.importance == 0) & (batch.label == 0)))


def _texts_in(parsed: Parsed) -> list[Label]:
    """Return the distinct labels of examples with an importance, which are text."""
    assert parsed.label_names is not None
    codes = np.unique(_counting(parsed.batch)).astype(np.int64).tolist()
    return list(dict.fromkeys(parsed.label_names[code] for code in codes))


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
