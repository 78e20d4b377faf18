"""What pages show is what commands print and results say, and the site has every page."""

import json
import re
import runpy
from pathlib import Path

import pytest

import dwindle
from benchmarks.page import with_memory

ROOT = Path(__file__).parents[2]
NAV = set(re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))


def script(name):
    """The names that a script in docs/ defines."""
    return runpy.run_path(str(ROOT / "docs" / name))


@pytest.mark.slow
def test_the_page_about_tuning_shows_what_its_commands_print():
    page = (ROOT / "docs" / "tuning.md").read_text()
    assert script("write_tuning.py")["with_output"](page) == page


def test_the_page_about_batching_shows_the_memory_of_the_last_run():
    page = (ROOT / "docs" / "why-batching-matters.md").read_text()
    results = json.loads((ROOT / "docs" / "performance.json").read_text())
    assert with_memory(page, results) == page


def test_the_site_s_navigation_has_every_page():
    pages = {page.name for page in ROOT.glob("docs/*.md")}
    assert pages | set(script("site_hooks.py")["PROJECT_PAGES"].values()) == NAV


def test_the_api_reference_has_every_public_name_once():
    reference = script("site_hooks.py")["api_reference"]()
    listed = re.findall(r"^::: dwindle\.(\w+)$", reference, re.MULTILINE)
    assert sorted(listed) == sorted(dwindle.__all__)


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {dwindle.__version__}\n" in citation
    assert f"\n## {dwindle.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    "word",
    [
        *("gravity", "truncation", "lazy", "settle", "cooldown", "seen", "live", "kept", "budget"),
        *("eviction", "importance", "namespace", "interaction", "K", "threshold", "pass", "key"),
    ],
)
def test_the_glossary_has_the_words_of_the_pages(word):
    glossary = (ROOT / "docs" / "glossary.md").read_text()
    assert re.search(rf"^- \*\*[^*]*\b{word}\b", glossary, re.MULTILINE | re.IGNORECASE)


def test_the_hooks_before_a_commit_are_the_tools_of_make_lint():
    makefile = (ROOT / "Makefile").read_text()
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    tools = set(re.findall(r"\$\(BIN\)/([\w-]+)", lint))
    assert set(re.findall(r"entry: \.venv/bin/([\w-]+)", hooks)) == tools
