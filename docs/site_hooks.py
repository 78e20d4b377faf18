"""What `make docs` does beside rendering pages: files from outside docs/, and the API reference.

mkdocs calls the functions ``on_...`` by name.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PROJECT_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
OUTSIDE = re.compile(r"(?<=\]\()\.\./([^)#]+)")  # the target of a link that leaves docs/
FETCHED = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="https?://[^"]*"')
API_MARK = "<!-- public names -->"
API_SECTIONS = {  # heading of the API reference: the modules whose public names it lists
    "Learner": ("engine",),
    "Commands as functions": ("runs", "distributed", "model.merge", "analysis.report"),
    "Data": ("data", "features"),
    "Models": ("model",),
    "Estimators": ("estimators",),
    "Losses": ("algorithm.losses",),
    "Shrinkages": ("algorithm.shrinkage", "algorithm.sigmas"),
    "Updates and learning rates": ("algorithm",),
    "Metrics and analysis": (
        "runs.metrics",
        "analysis.certificate",
        "analysis.steps",
        "analysis.plots",
        "datasets",
    ),
    "Errors": ("_base",),
}


def on_files(files: Any, config: Any) -> Any:
    """Add the project's own pages, and every file outside docs/ that a page links to."""
    from mkdocs.structure.files import File  # noqa: PLC0415  (only the site's build has it)

    for name, page in PROJECT_PAGES.items():
        text = (ROOT / name).read_text().replace("](docs/", "](")
        for source, target in PROJECT_PAGES.items():
            text = text.replace(f"]({source}", f"]({target}")
        files.append(File.generated(config, page, content=text))
    linked = {path for page in ROOT.glob("docs/*.md") for path in OUTSIDE.findall(page.read_text())}
    for path in sorted(linked - PROJECT_PAGES.keys()):
        files.append(File.generated(config, path, content=(ROOT / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links at the files that `on_files` added, and list the public names."""
    if page.file.src_uri == "api.md":
        markdown = markdown.replace(API_MARK, api_reference())
    return OUTSIDE.sub(lambda link: PROJECT_PAGES.get(link[1], link[1]), markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that makes its reader's browser fetch anything from elsewhere."""
    from mkdocs.exceptions import PluginError  # noqa: PLC0415  (only the site's build has it)

    if fetched := FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri}: the page fetches {fetched[0]}")
    return output


def api_reference() -> str:
    """Write a heading for each section and a mkdocstrings directive for each public name."""
    import dwindle  # noqa: PLC0415  (the names are asked for when the page is built)

    sections: dict[str, list[str]] = {title: [] for title in API_SECTIONS}
    for name in sorted(dwindle.__all__, key=str.lower):
        module = getattr(dwindle, name).__module__.removeprefix("dwindle.")
        sections[_section_of(module)].append(f"::: dwindle.{name}")
    return "\n\n".join(
        "\n\n".join([f"## {title}", *names]) for title, names in sections.items() if names
    )


def _section_of(module: str) -> str:
    """Find the section that names the longest part of the module's path."""
    fitting = {
        prefix: title
        for title, prefixes in API_SECTIONS.items()
        for prefix in prefixes
        if f"{module}.".startswith(f"{prefix}.")
    }
    return fitting[max(fitting, key=len)]
