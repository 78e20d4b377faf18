"""What notebooks show: learners, models and estimators, and a progress bar of ``fit``."""

import numpy as np
import pytest

from dwindle.analysis import notebook
from helpers.html import read

CELLS = (
    "import numpy as np, dwindle\n"
    "from dwindle.analysis import notebook\n"
    "notebook.PATIENCE = notebook.PAUSE = 0.0\n"
    "X = np.random.default_rng(0).normal(size=(20_000, 3)); y = (X[:, 0] > 0).astype(int)\n"
    "est = dwindle.TruncatedGradientClassifier(passes=2, gravity=0.0).fit(X, y)",
    "est",
    "est._whole_model()",
)


@pytest.mark.slow
def test_a_real_notebook_shows_a_bar_while_fitting_then_the_estimator_and_its_model():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    bars = []

    class Watching(nbclient.NotebookClient):
        def process_message(self, message, *rest):
            if message["msg_type"] in {"display_data", "update_display_data"}:
                bars.append(message["content"]["data"]["text/html"])
            return super().process_message(message, *rest)

    book = nbformat.v4.new_notebook(cells=cells)
    Watching(book, kernel_name="python3", timeout=300).execute()
    assert "pass 1 of 2" in bars[0]
    assert 'value="1.0000"' in bars[-2]
    assert bars[-1] == ""  # it is gone at the end
    for cell in book.cells[1:]:
        [output] = cell.outputs
        page = read(output["data"]["text/html"])
        assert len(page.table("3 weights")) == 3


def test_outside_of_notebooks_there_is_no_bar():
    with notebook.notebook_bar(1) as bar:
        assert bar is None


def test_a_bar_waits_a_moment_and_tells_share_speed_and_time_left(monkeypatch):
    shown, now = [], [0.0]
    monkeypatch.setattr(notebook.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(notebook.Bar, "_show", lambda _, html: shown.append(html))
    bar = notebook.Bar(passes=2)
    for now[0], share in ((0.1, 0.1), (10.0, 0.5), (10.1, 0.6), (20.0, None)):
        bar.at(1, share, int(1000 * now[0]))
    first, unknown = shown  # not before a moment has passed, and not too often
    assert 'value="0.2500"' in first
    assert "pass 1 of 2, 10,000 examples, 1,000 a second, 0:30 left" in first
    assert "value" not in read(unknown).attributes[1]
    assert "left" not in unknown


def test_estimators_show_scikit_learn_s_diagram_and_what_they_learned():
    pytest.importorskip("sklearn")
    from sklearn import config_context  # noqa: PLC0415  (scikit-learn may be missing)

    from dwindle import TruncatedGradientRegressor  # noqa: PLC0415  (it needs scikit-learn)

    estimator = TruncatedGradientRegressor(gravity=0.0)
    assert "weights" not in read(estimator._repr_html_()).text
    rows = np.random.default_rng(0).normal(size=(50, 3))
    estimator.fit(rows, rows[:, 0])
    for html in (estimator._repr_html_(), estimator._repr_mimebundle_()["text/html"]):
        page = read(html)
        assert "TruncatedGradientRegressor" in page.text
        assert len(page.table("3 weights")) == 3
    with config_context(display="text"):
        assert [*estimator._repr_mimebundle_()] == ["text/plain"]


def test_river_s_estimators_show_their_learner():
    river = pytest.importorskip("dwindle.estimators.river", exc_type=ImportError)
    model = river.TruncatedGradientRegressor(gravity=0.0)
    for i in range(20):
        model.learn_one({"a": i % 3, "b": i % 5}, i % 7)
    assert len(read(model._repr_html_()).table("2 weights")) == 2
