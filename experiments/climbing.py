"""A search on ladders of settings that goes on until nothing it chose stands at an end of them.

A place is a tuple of steps, one on each ladder. Around whatever is picked, the places one step up
and down each ladder are measured too, and so on: what is picked at last has been compared with both
its neighbours in every direction. So no grid has to be guessed, and no best can lie beyond it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

Place = tuple[int, ...]


class Ladder(NamedTuple):
    """Values of a setting: those listed, or from a middle up and down by a factor."""

    middle: float = 1.0
    factor: float = 2.0
    listed: tuple[float, ...] = ()  # its ends are ends of the setting itself, or of our patience

    def value(self, step: int) -> float:
        """Return the value of a step, without digits that say nothing."""
        return self.listed[step] if self.listed else float(f"{self.middle * self.factor**step:.3g}")

    def has(self, step: int) -> bool:
        """Whether there is such a step."""
        return not self.listed or 0 <= step < len(self.listed)


class Climbed(NamedTuple):
    """What was measured, and which places were picked at last."""

    known: dict[Place, Any]
    picked: list[Place]
    open: list[Place]  # neighbours of those that were not measured, because that was enough


def climb(
    ladders: tuple[Ladder, ...],
    starts: Iterable[Place],
    measure: Callable[[Place], Any],
    picks: Callable[[dict[Place, Any], Callable[[Place], bool]], Iterable[Place]],
    most: int,
) -> Climbed:
    """Measure the starts, then the neighbours of what is picked, until they are all known.

    ``picks`` gets all that is known, and a function that tells whether a place has all its
    neighbours: of places about as good it had better pick one that has.
    """
    known: dict[Place, Any] = {}
    todo = list(dict.fromkeys(starts))
    picked: list[Place] = []

    def inside(place: Place) -> bool:
        return all(other in known for other in neighbours(ladders, place))

    while todo and len(known) < most:
        for place in todo:
            known[place] = measure(place)
        picked = list(dict.fromkeys(picks(known, inside)))
        todo = missing(ladders, picked, known)
    return Climbed(known, picked, todo)


def missing(
    ladders: tuple[Ladder, ...], picked: Iterable[Place], known: Mapping[Place, Any]
) -> list[Place]:
    """List the neighbours that are not known."""
    beside = (other for place in picked for other in neighbours(ladders, place))
    return list(dict.fromkeys(other for other in beside if other not in known))


def neighbours(ladders: tuple[Ladder, ...], place: Place) -> Iterator[Place]:
    """Yield the places one step up or down one ladder."""
    for axis, ladder in enumerate(ladders):
        for step in (place[axis] - 1, place[axis] + 1):
            if ladder.has(step):
                yield (*place[:axis], step, *place[axis + 1 :])
