"""Errors about the data, and where in the data they are."""

from collections.abc import Callable


class _AboutExampleError(Exception):
    """Say what is wrong, and with which example of a batch, if it is about one."""

    def __init__(self, what: str, example: int | None = None) -> None:
        super().__init__(what if example is None else f"example {example}: {what}")
        self.what = what
        self.example = example


class DataError(_AboutExampleError, ValueError):
    """The data cannot be learned from as it stands; the message says where and what to do."""


class DivergedError(_AboutExampleError, ArithmeticError):
    """Learning diverged: a prediction is no longer a finite number."""


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
