"""The errors of dwindle: bad data, settings that cannot be used, weights that diverged."""

from collections.abc import Callable


class _AboutExampleError(Exception):
    """An error that may name one example of a batch, by its position."""

    def __init__(self, what: str, example: int | None = None) -> None:
        super().__init__(what if example is None else f"example {example}: {what}")
        self.what = what
        self.example = example


class DataError(_AboutExampleError, ValueError):
    """Data or a file cannot be used as it is; the message says where and what to do."""


class DivergedError(_AboutExampleError, ArithmeticError):
    """The weights diverged: a prediction is no longer a finite number."""


class SettingError(ValueError):
    """A setting is out of range, or does not go with another; the message names it.

    A command ends with this message and exit code 2. Any other ValueError is a bug and shows its
    traceback.
    """


class errors_at:  # noqa: N801  (it reads as a statement)
    """Put the place of an example before an error about it: ``place(i)``, i from ``first`` on.

    A class, not a generator, because it is entered for every batch.
    """

    def __init__(self, place: Callable[[int], str], first: int = 0) -> None:
        self._place, self._first = place, first

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, DataError | DivergedError) and error.example is not None:
            where = self._place(self._first + error.example)
            raise type(error)(f"{where}: {error.what}") from None
