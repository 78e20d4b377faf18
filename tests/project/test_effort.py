"""The cases that the batteries run over, when they do not run over all."""

from itertools import combinations, product

import pytest

from helpers import effort
from helpers.effort import pairwise


def pairs(cases):
    return {pair for case in cases for pair in combinations(enumerate(case), 2)}


def odd(*case):
    return sum(case) % 2 == 1


@pytest.mark.parametrize("sizes", [(2, 2), (8, 9, 3), (3, 4, 2, 5), (1, 6, 1)])
@pytest.mark.parametrize("allowed", [lambda *_: True, odd])
def test_every_two_values_meet_in_some_case_and_no_case_is_not_allowed(sizes, allowed, monkeypatch):
    values = [range(size) for size in sizes]
    whole = {case for case in product(*values) if allowed(*case)}
    monkeypatch.setattr(effort, "FULL", False)
    some = [case.values for case in pairwise(*values, allowed=allowed)]
    assert set(some) <= whole
    assert len(set(some)) == len(some)
    assert pairs(some) == pairs(whole)
    monkeypatch.setattr(effort, "FULL", True)
    assert {case.values for case in pairwise(*values, allowed=allowed)} == whole


def test_far_fewer_cases_than_the_whole_product_are_enough(monkeypatch):
    monkeypatch.setattr(effort, "FULL", False)
    cases = pairwise(range(8), range(9), range(3))
    assert len(cases) < 80  # of 216: there are 72 pairs of the first two
    assert cases[0].id == "0-0-0"


def test_every_two_kinds_meet_and_every_value_is_in_some_case(monkeypatch):
    monkeypatch.setattr(effort, "FULL", False)
    some = [case.values for case in pairwise(range(8), range(9), kind=lambda value: value % 3)]
    assert pairs((a % 3, b % 3) for a, b in some) == pairs(product(range(3), range(3)))
    assert [set(values) for values in zip(*some, strict=True)] == [set(range(8)), set(range(9))]
    assert len(some) < 20  # of 72
