"""Pages that commands write."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dwindle._base.errors import SettingError
from dwindle.runs.observer import Observer, Observers

SUFFIXES = {".html", ".htm"}


class Page:
    """The page of a training run, if one was asked for."""

    def __init__(self, asked: str | None, model: str, paths: Sequence[str]) -> None:
        self.model = model
        self.path = None if asked is None else checked(asked, "--report", model, paths)
        self._recorder: Any = None

    def beside(self, observer: Observer) -> Observer:
        """Return what the run is to tell: the observer, and whoever remembers it for the page."""
        if self.path is None:
            return observer
        from dwindle.analysis.record import Recorder

        self._recorder = Recorder()
        return Observers(observer, self._recorder)

    def write(self, summary: Any) -> None:
        """Write the page of a run that is over."""
        if self.path is not None:
            from dwindle.analysis.report import run_report

            run_report(self.model, summary, self._recorder).save(self.path)


def checked(path: str, option: str, model: str, data: Sequence[str]) -> Any:
    """Refuse, before any work, a page that could not be written after it; return its place."""
    from dwindle._base.files import check_apart, check_writable, place_of
    from dwindle.data.sources import sources

    target = place_of(path)
    if Path(target.name).suffix.lower() not in SUFFIXES:
        raise SettingError(f"{option}: expected a name that ends in .html, got {path}")
    check_writable(target)
    check_apart(target, [model, *(sources(data) if data else [])])
    return target
