"""A search that goes on until nothing chosen stands at an end of what was tried."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.climbing import Ladder, climb, neighbours


def test_a_ladder_has_rounded_values_or_those_listed():
    ladder = Ladder(0.3, 4.0)
    assert [ladder.value(step) for step in (-1, 0, 2)] == [0.075, 0.3, 4.8]
    listed = Ladder(listed=(0.5, 0.8))
    assert [listed.has(step) for step in (-1, 0, 1, 2)] == [False, True, True, False]


@given(st.integers(-30, 30), st.integers(-30, 30), st.integers(0, 2))
def test_the_best_is_found_wherever_it_is_and_has_all_its_neighbours(x, y, z):
    ladders = (Ladder(), Ladder(), Ladder(listed=(1.0, 2.0, 3.0)))

    def distance(place):
        return sum(abs(a - b) for a, b in zip(place, (x, y, z), strict=True))

    def nearest(known, _inside):
        return [min(known, key=known.get)]

    found = climb(ladders, [(0, 0, 1)], distance, nearest, 1000)
    assert found.picked == [(x, y, z)]
    assert not found.open
    assert all(place in found.known for place in neighbours(ladders, (x, y, z)))


def test_what_is_left_open_is_told_when_patience_ends():
    found = climb((Ladder(),), [(0,)], lambda place: place[0], lambda known, _: [max(known)], 3)
    assert found.picked == [(2,)] or found.open
    assert found.open == [(max(found.known)[0] + 1,)]


def test_of_places_that_are_alike_one_with_neighbours_ends_the_climb():
    def picks(known, inside):
        return [max(known, key=lambda place: (known[place], inside(place)))]

    found = climb((Ladder(),), [(0,)], lambda _: 1.0, picks, 100)
    assert sorted(found.known) == [(-1,), (0,), (1,)]
    assert found.picked == [(0,)]


@pytest.mark.parametrize("step", [0, 2])
def test_an_end_of_a_list_is_no_end_of_the_search(step):
    ladder = Ladder(listed=(1.0, 2.0, 3.0))
    assert len(list(neighbours((ladder,), (step,)))) == 1
