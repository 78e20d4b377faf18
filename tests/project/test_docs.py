"""The documents say what is so."""

import ast
import doctest
import inspect
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dwindle
from dwindle.model.model import Model

ROOT = Path(__file__).parents[2]
TESTS = {
    name
    for file in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
}

MODULES = {
    name: "dwindle." + ".".join(file.relative_to(ROOT / "src" / "dwindle").with_suffix("").parts)
    for file in (ROOT / "src" / "dwindle").rglob("*.py")
    for name in (file.stem, file.stem.title())
}


def test_the_tutorial_shows_the_example_s_own_source():
    assert (ROOT / "examples" / "own_loss.py").read_text() in (
        ROOT / "docs" / "own-loss.md"
    ).read_text()


def printed_by(example):
    command = [sys.executable, ROOT / "examples" / example]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_tutorial_s_example_runs_and_its_classification_gives_probabilities():
    regression, classification = printed_by("own_loss.py").splitlines()
    assert "hour" in regression
    negative, positive = map(float, re.findall(r"\b[01]\.\d+", classification))
    assert positive > 0.8
    assert negative == pytest.approx(1 - positive)


@pytest.mark.slow
def test_the_page_about_batching_shows_what_its_example_prints():
    shown = (ROOT / "docs" / "why-batching-matters.md").read_text()
    assert f"```\n{printed_by('batching.py')}```" in shown


@pytest.mark.slow
def test_the_commands_for_click_logs_run_and_learn_what_python_learns(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "click-logs.md").read_text()
    monkeypatch.chdir(tmp_path)
    [make_log, learn, *_] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    examples = parser.get_doctest(make_log + learn, {}, "click-logs.md", None, None)
    assert runner.run(examples, clear_globs=False).failed == 0
    [commands] = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in commands.splitlines():
        subprocess.run(
            [sys.executable, "-m", *shlex.split(line)], capture_output=True, text=True, check=True
        )
    assert Model.load("ads.parquet").weights() == Model.of(examples.globs["learner"]).weights()
    assert len(Path("chances.txt").read_text().splitlines()) == 5000


def test_every_test_that_the_documents_name_is_there():
    for page in ROOT.glob("docs/*.md"):
        named = set(re.findall(r"`(test_\w+)`", page.read_text()))
        assert named <= TESTS, page


def test_every_function_that_the_map_of_the_paper_names_is_there():
    page = (ROOT / "docs" / "paper.md").read_text()
    for owner, name in re.findall(r"`(\w+)\.(\w+)`", page):
        known = getattr(dwindle, owner, None) or import_module(MODULES[owner])
        source = inspect.getsource(known)
        assert re.search(rf"\b{name}\b", source), (owner, name)


@pytest.mark.parametrize(
    "page",
    ["README.md", "CONTRIBUTING.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md"))],
)
def test_every_link_to_a_file_leads_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_type_checkers_and_the_api_page_find_every_public_name():
    lines = ast.walk(ast.parse(Path(dwindle.__file__).read_text()))
    imports = (line.names for line in lines if isinstance(line, ast.ImportFrom))
    assert set(dwindle.__all__) <= {each.name for names in imports for each in names}


def test_every_public_name_can_be_imported_and_has_a_docstring():
    for name in dwindle.__all__:
        assert getattr(dwindle, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dwindle.nothing
