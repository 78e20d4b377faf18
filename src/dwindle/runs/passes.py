"""The data of a run, pass after pass, and what of it is held out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from dwindle.data.cache import CachedExamples
from dwindle.data.formats.block import Parsed
from dwindle.data.options import ReadOptions
from dwindle.data.sources import format_by_name, needs_parsing, once_only
from dwindle.data.stream import read
from dwindle.runs.holdout import Holdout, parted


class Passes:
    """Examples to learn from, as often as wanted, and a holdout, if there is to be one.

    ``holdout`` is a number n, for every n-th example, or a file. ``note`` is told, once, if there
    is no room to keep what was parsed.
    """

    def __init__(
        self,
        paths: Sequence[str],
        reading: ReadOptions,
        holdout: int | str | None,
        note: Callable[[str], None],
    ) -> None:
        self._paths, self._reading, self._every = paths, reading, holdout
        note, once = cache(note), once_only(paths)
        self._data = CachedExamples(self._learned, note, once=once)
        self.holdout: Holdout | None = None
        if isinstance(holdout, int):
            self.holdout = Holdout(
                CachedExamples(self._held, note, once=once), f"1 example in {holdout}"
            )
        elif holdout is not None:
            how = replace(reading, format=format_by_name(holdout) or reading.format)
            file = CachedExamples(lambda: read([holdout], how), note, once=once_only([holdout]))
            self.holdout = Holdout(file, holdout)

    def learned(self, *, more: bool) -> Iterator[Parsed]:
        """The examples to learn from; if more passes are to come, what is parsed is kept."""
        kept = more and needs_parsing(self._paths, self._reading)
        return self._data.parsed() if kept else self._data.again()

    def close(self) -> None:
        """Nothing is kept any more."""
        self._data.close()
        if self.holdout is not None:
            self.holdout.examples.close()

    def _learned(self) -> Iterator[Parsed]:
        everything = read(self._paths, self._reading)
        if self.holdout is None or not isinstance(self._every, int):
            yield from everything
            return
        for learned, held in parted(everything, self._every):
            self.holdout.examples.add(held)
            yield learned
        self.holdout.examples.finish()

    def _held(self) -> Iterator[Parsed]:
        assert isinstance(self._every, int)
        for _, held in parted(read(self._paths, self._reading), self._every):
            yield held
