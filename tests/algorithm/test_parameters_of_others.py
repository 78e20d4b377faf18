"""Parameters of other libraries are answered with their name here."""

import copy
import inspect
import pickle

import pytest

from dwindle import TrainSettings, TruncatedGradientClassifier, TruncatedGradientRegressor
from dwindle.algorithm.habits import HABITS


@pytest.mark.parametrize(
    "kind", [TruncatedGradientClassifier, TruncatedGradientRegressor, TrainSettings]
)
@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("alpha", "gravity"),
        ("C", "gravity"),
        ("l1", "gravity"),
        ("max_iter", "passes"),
        ("fit_intercept", "intercept"),
    ],
)
def test_a_parameter_of_another_library_is_answered_with_its_name_here(kind, name, here):
    with pytest.raises(TypeError, match=f"{kind.__name__} has no parameter '{name}': .*{here}"):
        kind(**{name: 1})


def test_any_other_name_is_refused_as_python_does():
    with pytest.raises(TypeError, match="unexpected keyword argument 'frobnicate'"):
        TrainSettings(frobnicate=1)


def test_no_habit_is_a_parameter():
    assert not HABITS.keys() & inspect.signature(TrainSettings).parameters.keys()


def test_the_class_still_shows_its_parameters_and_is_copied():
    assert "gravity" in inspect.signature(TruncatedGradientClassifier).parameters
    made = TruncatedGradientClassifier(gravity=0.5)
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again.gravity == 0.5
