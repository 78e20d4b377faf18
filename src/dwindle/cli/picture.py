"""Plots that commands write."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dwindle._base.errors import SettingError

INSTALL = 'pip install "dwindle[plot]"'


class Picture:
    """A plot, and the file to write it to: the one that was asked for, or else the usual one."""

    def __init__(self, asked: str | None, model: str, usual: str | None = None) -> None:
        self.asked = asked is not None
        self.model = Path(model)
        name = asked or usual
        self.path = None if name is None else Path(name)

    def check(self, paths: Sequence[str]) -> None:
        """Refuse, before any work, a file that could not be written after it."""
        if self.path is None:
            return
        if self.path.absolute() == self.model.absolute():
            raise SettingError(f"--picture: {self.path} is the model: name another file")
        from dwindle._base.files import check_apart
        from dwindle.data.sources import sources

        check_apart(self.path, sources(paths))
        if self.asked:
            if not self.path.absolute().parent.is_dir():
                raise SettingError(f"--picture: there is no folder {self.path.parent} to write to")
            if not _matplotlib():
                raise SettingError(f"--picture needs matplotlib: {INSTALL}")
            from matplotlib.backend_bases import FigureCanvasBase

            if self.path.suffix[1:] not in FigureCanvasBase.filetypes:
                known = ", ".join(FigureCanvasBase.filetypes)
                raise SettingError(
                    f"--picture: expected a name that ends in one of {known}, got {self.path}"
                )

    def draw(self, note: Callable[[str], None], plot: str, *about: Any) -> None:
        """Write what a function of `analysis.plots` draws, or say why not."""
        if self.path is None:
            return
        if not _matplotlib():
            note(f"no picture without matplotlib: {INSTALL}")
            return
        import matplotlib as mpl

        mpl.use("Agg")  # no window, whatever there is
        import matplotlib.pyplot as plt
        from matplotlib.figure import Figure

        from dwindle._base.files import replacing
        from dwindle.analysis import plots

        figure = getattr(plots, plot)(*about)[0].figure
        assert isinstance(figure, Figure)
        with replacing(self.path) as file:
            figure.savefig(file, format=self.path.suffix[1:], dpi=150)
        plt.close(figure)


def _matplotlib() -> bool:
    return find_spec("matplotlib") is not None
