"""Examples for several passes: parsed in the first one, then read from a cache."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from dwindle._base.errors import DataError
from dwindle._base.threads import prefetch
from dwindle.data.formats.block import Parsed

if TYPE_CHECKING:
    from dwindle.data.cache import Cache


def _new() -> "Cache":
    from dwindle.data.cache import Cache  # noqa: PLC0415  (one pass needs neither it nor Arrow)

    return Cache()


class CachedExamples:
    """Examples for several passes, of which the first fills the cache.

    ``source`` parses them. If there is no room for a cache, it is called for each pass, and
    ``note`` is told; if they can be read only ``once``, that is an error.
    """

    def __init__(
        self, source: Callable[[], Iterator[Parsed]], note: Callable[[str], None], *, once: bool
    ) -> None:
        self._source, self._note, self._once = source, note, once
        self._cache: Cache | None = None
        self._finished = False

    def parsed(self) -> Iterator[Parsed]:
        """Yield all examples, filling the cache the first time."""
        if self._finished:
            yield from self.again()
            return
        for item in self._source():
            self.add(item)
            yield item
        self.finish()

    def again(self) -> Iterator[Parsed]:
        """Yield all examples: from the cache, if there is one."""
        return self._source() if self._cache is None else prefetch(self._cache.read())

    def add(self, item: Parsed) -> None:
        """Add a batch that another source parsed."""
        if not self._finished:
            self._cache = self._cache or _new()
            self._cache.add(item)
            self._check(self._cache)

    def finish(self) -> None:
        """Declare the cache complete; calling it again does nothing."""
        if self._finished:
            return
        self._finished = True
        self._cache = self._cache or _new()
        self._cache.finish()
        why = self._check(self._cache)
        if why is not None:
            self.close()
            self._note(
                f"{why}: the data is parsed again in each pass (set TMPDIR to use another folder)"
            )

    def _check(self, cache: "Cache") -> str | None:
        """Return why there is no cache, or None; raise it if the data cannot be read again."""
        if cache.fault is None:
            return None
        why = f"no room for a cache of the data in the temporary folder ({cache.fault})"
        if self._once:
            raise DataError(f"{why}, and a pipe can be read only once: set TMPDIR, or use a file")
        return why

    def close(self) -> None:
        """Delete the cache."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None
